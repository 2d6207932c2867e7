"""A run folder from somebody else names nothing outside of itself, and what can't be used is said in one sentence."""

import json
import os
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import mkdtemp
from typing import Any
from zlib import compress

import pytest

from iad_policy.errors import RunFolderError, StorageError
from iad_policy.ledger.answer_log import FORMAT, AnswerLog
from iad_policy.ledger.run import Run
from iad_policy.report.agentboard import write_agentboard
from iad_policy.report.exports import export_runs
from iad_policy.report.results import read_results
from iad_policy.report.viewer.report import write_report
from iad_policy.types.hashing import decode
from tests.effort import some
from tests.iad_policy.ledger.finished_run import boarded, command, exported, shown, warned

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs, and links only for some users")
SECRET = "a secret of the user"
FILES = (".lock", "config.json", "answers.jsonl", "episodes.jsonl", "summary.json", "report.html")
FOLDERS = ("blobs", "thumbnails", "tensorboard", "wandb")
READERS: dict[str, Callable[[Path], Any]] = {
    "traces": Run,
    "results": read_results,
    "report": write_report,
    "command": command,
}


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of a finished run."""
    return copytree(whole, tmp_path / "run")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the user with private files."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "text.json").write_text(json.dumps(SECRET))
    (private / "object.json").write_text(json.dumps({"key": SECRET}))
    (private / "lines.jsonl").write_text(json.dumps({"key": SECRET}) + "\n" + SECRET)
    (private / f"{'a' * 32}.json").write_text(json.dumps(SECRET))
    (private / f"{'a' * 32}.png").write_text(SECRET)
    return private


def said(folder: Path, out: Path) -> str:
    """All that readers say of a folder."""
    with warned() as warnings:
        told = [shown(folder), exported(folder, out), boarded(folder, out)]
        told.append(write_report(folder).stat().st_size)
    return json.dumps([told, warnings])


def change(folder: Path, **changes: Any) -> None:
    """Give the first line of the log other values."""
    path = folder / "answers.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | changes), *others, ""]))


NAMES: dict[str, Callable[[Path], Any]] = {
    "above": lambda outside: f"../../{outside.name}/text",
    "absolute": lambda outside: str(outside / "text"),
    "object": lambda outside: str(outside / "object"),
    "number": lambda outside: 7,
    "list": lambda outside: [str(outside / "text")],
    "empty": lambda outside: "",
    "NUL": lambda outside: "a\0b",
}


@pytest.mark.parametrize(
    ("place", "name"), [*(("observation", name) for name in NAMES), ("info", "above"), ("exchanges", "above")]
)
def test_a_blob_has_no_name_of_a_file_elsewhere(
    name: str, place: str, folder: Path, outside: Path, tmp_path: Path
) -> None:
    blob = {"__blob__": NAMES[name](outside)}
    values = {"observation": blob, "info": {"instruction": blob}, "exchanges": [{"prompt": [blob]}]}
    change(folder, **{place: values[place]})
    assert SECRET not in said(folder, tmp_path)
    with warned():
        assert command(folder).stopped is None
    assert SECRET not in said(folder, tmp_path)


def test_a_picture_has_no_name_of_a_file_elsewhere(folder: Path, outside: Path, tmp_path: Path) -> None:
    secret = b64encode(SECRET.encode()).decode()
    for path in (f"../private/{'a' * 32}.png", str(outside / f"{'a' * 32}.png"), "config.json", 7):
        change(folder, thumbnail=path)
        assert secret not in said(folder, tmp_path)


@pytest.mark.parametrize("is_folder", [False, True])
def test_links_among_blobs_and_pictures_are_not_followed(
    is_folder: bool, folder: Path, outside: Path, tmp_path: Path
) -> None:
    blob = next((folder / "blobs").iterdir())
    if is_folder:
        change(folder, observation={"__blob__": "a" * 32}, thumbnail=f"thumbnails/{'a' * 32}.png")
        rmtree(folder / "blobs")
        for name in ("blobs", "thumbnails"):
            (folder / name).symlink_to(outside)
        for reader in ("traces", "report", "command"):
            with pytest.raises((OSError, RunFolderError), match=r"got a link|expected a part of the run folder"):
                READERS[reader](folder)
        with pytest.raises(OSError, match="got a link"):
            AnswerLog(folder)
        return
    change(folder, thumbnail=f"thumbnails/{'a' * 32}.png")
    (folder / "thumbnails").mkdir()
    (folder / "thumbnails" / f"{'a' * 32}.png").symlink_to(outside / f"{'a' * 32}.png")
    blob.unlink()
    blob.symlink_to(outside / "text.json")
    told = said(folder, tmp_path)
    assert SECRET not in told
    assert b64encode(SECRET.encode()).decode() not in told
    with warned():
        assert command(folder).damaged == ()
    assert blob.is_file()
    assert not blob.is_symlink()
    assert (outside / "text.json").read_text() == json.dumps(SECRET)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(reader: str, folder: Path) -> str:
    """Return why a reader refuses a folder; "" where it reads it."""
    try:
        READERS[reader](folder)
    except (OSError, RunFolderError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
@pytest.mark.parametrize("reader", READERS)
def test_nothing_is_read_or_written_through_a_link(
    reader: str, name: str, folder: Path, outside: Path, tmp_path: Path
) -> None:
    before = content(outside)
    path = folder / name
    if path.is_dir():
        rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(outside if name in FOLDERS else outside / "lines.jsonl")
    with warned() as warnings:
        refusal = refused(reader, folder)
    assert refusal or reader != "command"
    assert SECRET not in "".join([refusal, *warnings])
    assert content(outside) == before


def test_a_file_that_is_being_written_has_no_name_that_others_know(folder: Path, outside: Path) -> None:
    before = content(outside)
    process, thread = os.getpid(), threading.get_ident()
    for name in ("config.json", "summary.json", "report.html"):
        (folder / f"{name}.part").symlink_to(outside / "text.json")
        (folder / f"{name}.{process}.{thread}.part").symlink_to(outside / "text.json")
    write_report(folder)
    with pytest.raises(RunFolderError, match=r"\.part"):
        command(folder)
    assert content(outside) == before


@pytest.mark.parametrize("name", [*FILES, "blob", "picture"])
@pytest.mark.parametrize("reader", READERS)
def test_a_fifo_is_not_waited_for(reader: str, name: str, folder: Path) -> None:
    path = folder / name
    if name == "blob":
        path = next((folder / "blobs").iterdir())
    if name == "picture":
        path = folder / "thumbnails" / f"{'a' * 32}.png"
        path.parent.mkdir()
        change(folder, thumbnail=f"thumbnails/{'a' * 32}.png")
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with warned():
        assert "\n" not in refused(reader, folder)


def test_files_and_arrays_of_any_size_are_not_taken_into_memory(folder: Path, tmp_path: Path) -> None:
    keys = set(shown(folder))
    blob = next((folder / "blobs").iterdir())
    os.truncate(blob, 2**40)  # takes no space on the disk
    with warned():
        assert len(keys - set(shown(folder))) < len(keys)
    assert len(keys - set(shown(folder))) > 0
    zeros = b64encode(compress(bytes(2**22))).decode()
    for shape in ([2**22], [2**40], [2**21, 2**21], [1], [-1], [2**22 + 1], [None], 7):
        array = {"__array__": zeros, "dtype": "<u1", "shape": shape}
        if shape == [2**22]:
            assert decode(array).nbytes == 2**22
        else:
            with pytest.raises(ValueError, match=r"expected an (array|encoded value)|cannot reshape"):
                decode(array)
    os.truncate(folder / "config.json", 2**40)
    for read in READERS.values():
        with pytest.raises(RunFolderError, match="expected at most"):
            read(folder)


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b'"a"', b"\xff\xfe", b"{}\0", b"[" * 100_000, b"7"])
@pytest.mark.parametrize("reader", READERS)
def test_a_configuration_that_can_not_be_read_is_one_sentence(reader: str, text: bytes, folder: Path) -> None:
    (folder / "config.json").write_bytes(text)
    with pytest.raises(RunFolderError, match=r"expected the configuration of a run in .*config.json, got") as caught:
        READERS[reader](folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reader", READERS)
def test_a_run_in_a_later_format_names_the_version_that_wrote_it(reader: str, folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "format": FORMAT + 1, "iad_version": "9.8"}))
    with pytest.raises(
        RunFolderError, match=r"iad 9\.8 wrote; read it with that version|iad_version \(there \"9\.8"
    ) as said:
        READERS[reader](folder)
    assert f"format {FORMAT + 1}" in str(said.value) or f"format (there {FORMAT + 1}" in str(said.value)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    "config", [{}, {"env": 7}, {"env": "E", "identity": []}, {"env": "E", "agent": {}, "strategies": 7, "n": "x"}]
)
def test_a_configuration_of_something_else_is_one_sentence(config: Any, folder: Path, tmp_path: Path) -> None:
    (folder / "config.json").write_text(json.dumps(config))
    readers: list[Any] = [read_results, write_report]
    if not config:
        readers.append(lambda own: export_runs([Run(own)], "jsonl", tmp_path / "rows.jsonl"))
    for read in readers:
        with pytest.raises(ValueError, match=r"expected the configuration of a run in .*config.json, got") as caught:
            read(folder)
        assert "\n" not in str(caught.value)


def test_agentboard_s_files_stay_in_their_folder(folder: Path, tmp_path: Path) -> None:
    path = folder / "episodes.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for changes in ({"strategy": "../../up"}, {"strategy": str(tmp_path / "up")}, {"env": "IAD/.."}):
        path.write_text("".join(f"{json.dumps(line | changes)}\n" for line in lines))
        with pytest.raises(ValueError, match="expected names of strategies and environments"):
            write_agentboard([Run(folder)], tmp_path / "board" / "deep")
    assert not (tmp_path / "up").exists()


VALUES = (None, 7, "text", [], {}, {"__map__": 7}, {"__float__": "x"}, [[[]]], {"__array__": ""}, True)


def test_values_of_any_type_cost_their_episode_only(folder: Path, tmp_path: Path) -> None:
    before = set(shown(folder))
    path = folder / "answers.jsonl"
    original = path.read_text()
    for name in ("observation", "info", "done", "state", "kind", "item", "score", "action", "thumbnail", "reward"):
        for value in some(VALUES, 3, len(name) % 3):
            change(folder, **{name: value})
            with warned():
                assert len(shown(folder)) >= len(before) - 1
                assert len(exported(folder, tmp_path)) >= len(before) - 1
                write_report(folder)
            path.write_text(original)


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Nobody may be kept out of a folder as root."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def test_a_folder_that_can_not_be_written_is_one_sentence(whole: Path) -> None:
    above = Path(mkdtemp())
    try:
        above.chmod(0o755)
        folder = copytree(whole, above / "run")
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        with as_ordinary_user():
            for out in (folder, above / "run" / "new"):
                with pytest.raises(RunFolderError, match=r"can be read and written.*Permission denied") as caught:
                    command(out)
                assert "\n" not in str(caught.value)
            with pytest.raises(StorageError, match=r"Permission denied.*Make the folder writable") as unwritten:
                write_report(folder)
            assert "\n" not in str(unwritten.value)
            assert len(shown(folder)) == 6
        folder.chmod(0)
        with as_ordinary_user(), pytest.raises((OSError, RunFolderError), match="Permission denied"):
            command(folder)
    finally:
        for path in (above, *above.iterdir()):
            path.chmod(0o755)
        rmtree(above)


def test_names_that_are_in_the_way_are_one_sentence(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "run", tmp_path / ("long" * 100)):
        with pytest.raises(RunFolderError) as caught:
            command(out)
        assert "\n" not in str(caught.value)
    for name in (".lock", "answers.jsonl", "episodes.jsonl"):
        path = folder / name
        path.unlink()
        path.mkdir()
        with pytest.raises(RunFolderError, match=name) as caught:
            command(folder)
        assert "\n" not in str(caught.value)
        path.rmdir()
        path.touch()

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
from iad_policy.types.regular_file import read_regular
from tests.effort import some
from tests.iad_policy.ledger.finished_run import boarded, command, exported, shown, warned

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs, and links only for some users")
SECRET = "a secret of the user"
HASH = "a" * 32
FILES = (".lock", "config.json", "answers.jsonl", "episodes.jsonl", "summary.json", "report.html")
FOLDERS = ("blobs", "thumbnails", "tensorboard", "wandb")
READERS: dict[str, Callable[[Path], Any]] = {"traces": Run, "results": read_results}
READERS |= {"report": write_report, "command": command}
reader = pytest.mark.parametrize("reader", READERS)


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of a finished run."""
    return copytree(whole, tmp_path / "run")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the user with private files."""
    private = tmp_path / "private"
    private.mkdir()
    files = {"object.json": json.dumps({"key": SECRET}), "lines.jsonl": json.dumps({"key": SECRET}) + "\n" + SECRET}
    files |= dict.fromkeys(("text.json", f"{HASH}.json", f"{HASH}.png"), json.dumps(SECRET))
    for name, text in files.items():
        (private / name).write_text(text)
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


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def in_a_sentence(error: type[Exception], said: str, read: Callable[..., Any], *given: Any) -> None:
    """Check that something is refused in one sentence."""
    with pytest.raises(error, match=said) as caught:
        read(*given)
    assert "\n" not in str(caught.value)


def refused(reader: str, folder: Path) -> str:
    """Return why a reader refuses a folder; "" where it reads it."""
    try:
        READERS[reader](folder)
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def test_a_blob_or_a_picture_has_no_name_of_a_file_elsewhere(folder: Path, outside: Path, tmp_path: Path) -> None:
    text, picture = str(outside / "text"), outside / f"{HASH}.png"
    blob = {"__blob__": f"../../{outside.name}/text"}
    names = (blob["__blob__"], text, str(outside / "object"), 7, [text], "", "a\0b")
    places = [{"observation": {"__blob__": name}} for name in names]
    places += [{"info": {"instruction": blob}}, {"exchanges": [{"prompt": [blob]}]}]
    places += [{"thumbnail": path} for path in (f"../private/{HASH}.png", str(picture), "config.json", 7)]
    secrets = (SECRET, b64encode(picture.read_bytes()).decode())
    original = (folder / "answers.jsonl").read_text()
    for place in places:
        (folder / "answers.jsonl").write_text(original)
        change(folder, **place)
        with warned() as warnings:
            told = json.dumps([shown(folder), warnings]) + write_report(folder).read_text()
        assert not [secret for secret in secrets if secret in told], place
    change(folder, **{key: value for place in places[-3:] + places[:1] for key, value in place.items()})
    assert SECRET not in said(folder, tmp_path)
    with warned():
        assert command(folder).stopped is None
    assert SECRET not in said(folder, tmp_path)


def test_links_among_blobs_and_pictures_are_not_followed(folder: Path, outside: Path, tmp_path: Path) -> None:
    blob, picture = next((folder / "blobs").iterdir()), outside / f"{HASH}.png"
    change(folder, thumbnail=f"thumbnails/{HASH}.png")
    (folder / "thumbnails").mkdir()
    (folder / "thumbnails" / picture.name).symlink_to(picture)
    blob.unlink()
    blob.symlink_to(outside / "text.json")
    told = said(folder, tmp_path)
    assert not [one for one in (SECRET, b64encode(picture.read_bytes()).decode()) if one in told]
    with warned():
        assert command(folder).damaged == ()
    assert (blob.is_file(), blob.is_symlink()) == (True, False)
    assert (outside / "text.json").read_text() == json.dumps(SECRET)

    change(folder, observation={"__blob__": HASH})
    for name in ("blobs", "thumbnails"):
        rmtree(folder / name)
        (folder / name).symlink_to(outside)
    for reader in ("traces", "report", "command"):
        assert "link" in refused(reader, folder) or "a part of the run folder" in refused(reader, folder)
    with pytest.raises(OSError, match="link"):
        AnswerLog(folder)


@reader
def test_no_link_is_followed_and_no_fifo_waited_for(reader: str, whole: Path, outside: Path, tmp_path: Path) -> None:
    before = content(outside)
    for name in (*FILES, *FOLDERS):
        path = copytree(whole, tmp_path / f"to {name}") / name
        rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        path.symlink_to(outside if name in FOLDERS else outside / "lines.jsonl")
        with warned() as warnings:
            refusal = refused(reader, path.parent)
        assert refusal or reader != "command", name
        assert SECRET not in "".join([refusal, *warnings]), name
        assert content(outside) == before, name
    for name in (*FILES, "blobs", f"thumbnails/{HASH}.png"):
        folder = copytree(whole, tmp_path / f"waits {name.replace('/', ' ')}")
        path = folder / name if name != "blobs" else next((folder / name).iterdir())
        if name.startswith("thumbnails"):
            path.parent.mkdir()
            change(folder, thumbnail=name)
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        with pytest.raises(OSError, match="regular file"):
            read_regular(path)
        with warned():
            assert "\n" not in refused(reader, folder), name


def test_a_file_that_is_being_written_has_no_name_that_others_know(folder: Path, outside: Path) -> None:
    before = content(outside)
    for name in ("config.json", "summary.json", "report.html"):
        for part in (f"{name}.part", f"{name}.{os.getpid()}.{threading.get_ident()}.part"):
            (folder / part).symlink_to(outside / "text.json")
    write_report(folder)
    with pytest.raises(RunFolderError, match=r"\.part"):
        command(folder)
    assert content(outside) == before


def test_files_and_arrays_of_any_size_are_not_taken_into_memory(folder: Path) -> None:
    keys = set(shown(folder))
    os.truncate(next((folder / "blobs").iterdir()), 2**40)  # takes no space on the disk
    with warned():
        assert 0 < len(keys - set(shown(folder))) < len(keys)
    zeros = b64encode(compress(bytes(2**22))).decode()
    assert decode({"__array__": zeros, "dtype": "<u1", "shape": [2**22]}).nbytes == 2**22
    for shape in ([2**40], [2**21, 2**21], [1], [-1], [2**22 + 1], [None], 7):
        with pytest.raises(ValueError, match=r"array|encoded value"):
            decode({"__array__": zeros, "dtype": "<u1", "shape": shape})
    os.truncate(folder / "config.json", 2**40)
    for read in READERS.values():
        with pytest.raises(RunFolderError, match="at most"):
            read(folder)


@reader
def test_a_configuration_that_can_not_be_read_is_one_sentence(reader: str, folder: Path) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    for text in (b"", b"{", b"[1]", b'"a"', b"\xff\xfe", b"{}\0", b"[" * 100_000, b"7"):
        path.write_bytes(text)
        in_a_sentence(RunFolderError, r"config.json, got", READERS[reader], folder)
    path.write_text(json.dumps({**config, "format": FORMAT + 1, "iad_version": "9.8"}))
    for said in ("format", str(FORMAT + 1), r"9\.8"):
        in_a_sentence(RunFolderError, said, READERS[reader], folder)


@pytest.mark.parametrize(
    "config", [{}, {"env": 7}, {"env": "E", "identity": []}, {"env": "E", "agent": {}, "strategies": 7, "n": "x"}]
)
def test_a_configuration_of_something_else_is_one_sentence(config: Any, folder: Path, tmp_path: Path) -> None:
    (folder / "config.json").write_text(json.dumps(config))
    readers: list[Any] = [read_results, write_report]
    if not config:
        readers.append(lambda own: export_runs([Run(own)], "jsonl", tmp_path / "rows.jsonl"))
    for read in readers:
        in_a_sentence(ValueError, r"config.json, got", read, folder)


def test_agentboard_s_files_stay_in_their_folder(folder: Path, tmp_path: Path) -> None:
    path = folder / "episodes.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for changes in ({"strategy": "../../up"}, {"strategy": str(tmp_path / "up")}, {"env": "IAD/.."}):
        path.write_text("".join(f"{json.dumps(line | changes)}\n" for line in lines))
        with pytest.raises(ValueError, match="names of strategies and environments"):
            write_agentboard([Run(folder)], tmp_path / "board" / "deep")
    assert not (tmp_path / "up").exists()


VALUES = (None, 7, "text", [], {}, {"__map__": 7}, {"__float__": "x"}, [[[]]], {"__array__": ""}, True)


def test_values_of_any_type_cost_their_episode_only(folder: Path, tmp_path: Path) -> None:
    n_shown = len(shown(folder))
    original = (folder / "answers.jsonl").read_text()
    for name in ("observation", "info", "done", "state", "kind", "item", "score", "action", "thumbnail", "reward"):
        for value in some(VALUES, 5, len(name) % 5):
            change(folder, **{name: value})
            with warned():
                assert len(shown(folder)) >= n_shown - 1
                assert len(exported(folder, tmp_path)) >= n_shown - 1
                write_report(folder)
            (folder / "answers.jsonl").write_text(original)


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Nobody may be kept out of a folder as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
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
                in_a_sentence(RunFolderError, "Permission denied", command, out)
            in_a_sentence(StorageError, "Permission denied.*writable", write_report, folder)
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
        in_a_sentence(RunFolderError, "expected", command, out)
    for name in (".lock", "answers.jsonl", "episodes.jsonl"):
        path = folder / name
        path.unlink()
        path.mkdir()
        in_a_sentence(RunFolderError, name, command, folder)
        path.rmdir()
        path.touch()

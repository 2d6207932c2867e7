"""Data folders that appear whole or not at all: downloaded, or taken from what somebody fetched by hand."""

import json
import shutil
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from iad_envs.official.errors import FetchError
from iad_envs.official.record import RECORD, SourceRecord, read_record, verify_folder
from iad_envs.official.sources import DataSource
from tests.iad_envs.official.file_server import FileServer
from tests.iad_envs.official.small_sources import ZIP, A, B, fetcher, file, source, two, zipped
from tests.iad_envs.official.test_archives import PLACED, archive_of


def files(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != RECORD]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def fetched(given: DataSource, root: Path, take: Path | None = None, **options: Any) -> SourceRecord:
    """The record of what is fetched, or taken from a place."""
    made = fetcher(given, root, **options)
    record = made.fetch() if take is None else made.take(take)
    assert record is not None
    return record


def refused(*arguments: Any, **options: Any) -> str:
    """What is said of what can't be fetched."""
    with pytest.raises(FetchError) as caught:
        fetched(*arguments, **options)
    return f"{caught.value} {caught.value.reasons}"


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def statuses(folder: Path, **known: Any) -> dict[str, str]:
    return {one.path: one.status for one in verify_folder(folder, known)}


def each(record: SourceRecord, what: str) -> list[str]:
    """A fact of each download."""
    return [getattr(one, what) for one in record.downloads.values()]


def test_data_are_fetched_whole_with_a_record(server: FileServer, tmp_path: Path) -> None:
    told: dict[str, tuple[int, int]] = {}
    record = fetched(two(server), tmp_path, report=lambda name, done, total: told.update({name: (done, total)}))
    assert files(tmp_path / "small") == {"a.json": A, "b.json": B}
    assert names(tmp_path) == ["small", "small.lock"]
    assert server.sent == len(A) + len(B)
    assert told == {"a.json": (len(A), len(A)), "b.json": (len(B), len(B))}
    assert record == read_record(tmp_path / "small")
    assert each(record, "origin") == [f"{server.address}/a", f"{server.address}/b"]
    assert each(record, "held_to") == ["table", "table"]
    assert statuses(tmp_path / "small") == {"a.json": "ok", "b.json": "ok"}
    written = json.loads((tmp_path / "small" / RECORD).read_text(encoding="utf-8"))
    assert (written["licence"], written["citation"]) == ("MIT", "Somebody et al.")
    before = server.sent  # what is here is not fetched again
    assert fetcher(two(server), tmp_path).fetch() is fetcher(two(server), tmp_path).take(tmp_path) is None
    assert server.sent == before


def test_a_fetch_goes_on_where_a_broken_one_ended(server: FileServer, tmp_path: Path) -> None:
    given = two(server)
    server.files["/b"].cuts = [100_000, 0, 0, 0]
    said = refused(given, tmp_path)
    assert ("b.json" in said, f"{server.address}/b" in said, f"{server.address}/a" in said) == (True, True, False)
    assert names(tmp_path) == ["small.lock", "small.part"]
    fetched(given, tmp_path)
    assert files(tmp_path / "small") == {"a.json": A, "b.json": B}
    assert server.sent == len(A) + len(B)  # no byte twice, and no file
    assert names(tmp_path) == ["small", "small.lock"]


def test_the_next_mirror_is_asked_and_a_wrong_hash_leaves_nothing(server: FileServer, tmp_path: Path) -> None:
    server.serve("/page", b"<html>quota</html>", kind="text/html")
    wrong = server.serve("/wrong", A[::-1])
    for place, url in enumerate((f"{server.address}/missing", wrong, f"{server.address}/page", "http://127.0.0.1:9/")):
        root = tmp_path / str(place)
        record = fetched(source(file("a.json", A, url, server.serve("/a", A))), root)
        assert (each(record, "origin"), files(root / "small")) == ([f"{server.address}/a"], {"a.json": A})
    before, given = server.sent, source(file("a.json", A, wrong))
    for _ in range(2):
        assert "expected the SHA-256 " in refused(given, tmp_path)
        assert not (tmp_path / "small").exists()
        assert not [path for path in (tmp_path / "small.part").rglob("*") if path.is_file()]
    assert server.sent == before + 2 * len(A)  # the wrong file was not continued


def test_an_archive_ends_in_the_environments_layout_or_leaves_nothing(server: FileServer, tmp_path: Path) -> None:
    record = fetched(zipped(server), tmp_path)
    assert files(tmp_path / "small") == {**PLACED, "more.json": b"[1]"}
    assert each(record, "held_to") == ["first fetch", "first fetch"]
    assert names(tmp_path) == ["small", "small.lock"]
    for content, said in (
        (archive_of({"dev.json": b"[]", "../../evil": b"bad"}), "got '../../evil'"),
        (archive_of({"test.json": b"[]"}), "expected dev.json, dev_databases/*/*.sqlite in what was fetched"),
        (b"Not today.", "expected a ZIP archive"),
    ):
        given, root = zipped(server), tmp_path / said[-5:]
        server.serve("/zip", content)
        assert said in refused(given, root)
        assert not (root / "small").exists()
        assert not list(tmp_path.rglob("evil"))


def test_a_disk_without_room_is_seen_before_the_first_byte(server: FileServer, tmp_path: Path) -> None:
    # The second has sizes that only the server knows.
    for given, n_free, n_asked in ((two(server), len(A) + len(B) - 1, 0), (zipped(server), len(ZIP) - 1, 1)):
        server.asked.clear()
        assert "GB of free disk" in refused(given, tmp_path, free=lambda path, n=n_free: n)
        assert len(server.asked) == n_asked
        assert not list(tmp_path.rglob("*.part.json"))
        fetched(given, tmp_path, free=lambda path: len(A) + len(B))
        shutil.rmtree(tmp_path / "small")


def test_what_is_fetched_again_is_held_to_the_first_fetch(server: FileServer, tmp_path: Path) -> None:
    given = zipped(server)
    first = fetched(given, tmp_path)
    (tmp_path / "small" / "dev.json").write_bytes(b"[2]")
    assert statuses(tmp_path / "small")["dev.json"] == "changed"
    again = fetched(given, tmp_path, again=True)
    assert again.files == first.files
    assert each(again, "held_to") == ["earlier fetch", "earlier fetch"]
    assert files(tmp_path / "small")["dev.json"] == b"[]"
    server.serve("/more", b"[2]")
    assert "expected the SHA-256" in refused(given, tmp_path, again=True)
    assert files(tmp_path / "small")["more.json"] == b"[1]"  # what was here is still here
    assert fetched(given, tmp_path, again=True, any_version=True).other_versions == ["more-00000.json"]


def test_files_fetched_by_hand_are_taken(server: FileServer, tmp_path: Path) -> None:
    mine, root = tmp_path / "mine", tmp_path / "root"
    mine.mkdir()
    by_hand = {"dev.zip": ZIP, "more.json": b"[1]"}  # the second under the name that it will have
    for name, content in {**by_hand, "a.json": A, "b.json": B}.items():
        ((mine if name in by_hand else tmp_path) / name).write_bytes(content)
    record = fetched(zipped(server, name="zipped"), root, mine)
    assert files(root / "zipped") == {**PLACED, "more.json": b"[1]"}
    assert record.downloads["dev.zip"].origin == str(mine / "dev.zip")
    assert files(mine) == by_hand
    assert server.asked == []
    given = two(server)
    assert "a.json is kept for the next command" in refused(given, root, tmp_path / "a.json")
    (tmp_path / "a.json").unlink()
    kept = tmp_path / "kept"
    shutil.copytree(root, kept)
    record = fetched(given, kept)  # without what was taken by hand
    assert [asked.path for asked in server.asked] == ["/b"]
    assert record.downloads["a.json"].origin == str(tmp_path / "a.json")
    last = fetched(given, root, tmp_path / "b.json")
    assert each(last, "origin") == [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    assert files(root / "small") == {"a.json": A, "b.json": B}
    assert names(root) == ["small", "small.lock", "zipped", "zipped.lock"]


def test_another_version_is_taken_on_request_and_a_folder_as_it_is_read(server: FileServer, tmp_path: Path) -> None:
    given, root = two(server), tmp_path / "root"
    (tmp_path / "a.json").write_bytes(A[::-1])
    (tmp_path / "b.json").write_bytes(B)
    assert "--any-version" in refused(given, root, tmp_path)
    assert not (root / "small").exists()
    assert fetched(given, root, tmp_path, any_version=True).other_versions == ["a.json"]
    assert statuses(root / "small") == {"a.json": "ok", "b.json": "ok"}
    copied = two(server, layout=(("a.json",),), name="other")
    assert "expected the SHA-256" in refused(copied, root, tmp_path)  # a copied folder is held to what is known, too
    mine, root = tmp_path / "mine", tmp_path / "copies"
    for name, content in {**PLACED, "notes.txt": b"mine"}.items():
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).write_bytes(content)
    given = zipped(server)._replace(also=("dev_databases/*/database_description/*.csv",))
    assert fetched(given, root, mine).copied_from == str(mine)
    assert files(root / "small") == PLACED
    said = refused(given._replace(name="other"), root, root)
    assert ("expected dev.zip, more-00000.json in" in said, "nor a folder as bird" in said) == (True, True)


def test_a_folder_is_held_to_its_record_or_without_one_to_the_table(server: FileServer, tmp_path: Path) -> None:
    for name, content in {"a.json": A, "b.json": b"other", "c.json": b"mine"}.items():
        (tmp_path / name).write_bytes(content)
    given, folder = two(server), tmp_path / "root" / "small"
    assert read_record(tmp_path) is None
    assert statuses(tmp_path, small=given) == {"a.json": "ok", "b.json": "changed", "c.json": "unknown"}
    threads = [Thread(target=fetcher(given, folder.parent).fetch) for _ in range(4)]  # together they fetch once
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.sent == len(A) + len(B)
    (folder / "b.json").unlink()
    assert statuses(folder) == {"a.json": "ok", "b.json": "missing"}
    (tmp_path / RECORD).write_text("[]", encoding="utf-8")
    with pytest.raises(ValueError, match="expected the record of a fetch in"):
        read_record(tmp_path)

"""Archives that nobody has seen: what is taken from them, and what is refused."""

import io
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from iad_envs.official.archives import Unpacker, free_bytes, require_space
from iad_envs.official.errors import ArchiveError, FetchError

TAKE = ("dev_databases/", "dev.json", "*.html")
DEV = {
    "dev_20240627/dev.json": b"[]", "dev_20240627/dev.sql": b"SELECT 1",
    "dev_20240627/dev_databases/towns/towns.sqlite": b"rows",
    "dev_20240627/dev_databases/towns/database_description/a.csv": b"name",
    "__MACOSX/dev_20240627/._dev.json": b"litter", "dev_20240627/dev_databases/.DS_Store": b"litter",
}  # fmt: skip
PLACED = {
    "dev.json": b"[]",
    "dev_databases/towns/towns.sqlite": b"rows",
    "dev_databases/towns/database_description/a.csv": b"name",
}


def archive_of(members: Mapping[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return content.getvalue()


def unpacked(
    tmp_path: Path, archive: bytes, *, nested: tuple[str, ...] = (), limit: int = 10**6, free: int = 10**12
) -> dict[str, bytes]:
    """The files that an archive leaves."""
    (tmp_path / "some.zip").write_bytes(archive)
    folder = tmp_path / "folder"
    folder.mkdir()
    Unpacker(folder, TAKE, nested=nested, limit=limit, free=lambda path: free).unpack(tmp_path / "some.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "some.zip"]
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_what_is_wanted_is_found_wherever_it_is_in_archives_of_archives_too(tmp_path: Path) -> None:
    pages = {"v1/pages/1.html": b"a", "2.html": b"b", "3.txt": b"c"}
    assert unpacked(tmp_path, archive_of({**DEV, **pages})) == {**PLACED, "1.html": b"a", "2.html": b"b"}
    inner = archive_of({name.removeprefix("dev_20240627/"): body for name, body in DEV.items() if "databases" in name})
    outer = archive_of({"dev_20240627/dev.json": b"[]", "dev_20240627/dev_databases.zip": inner})
    (tmp_path / "folder/nest").mkdir()
    assert unpacked(tmp_path / "folder/nest", outer, nested=("dev_databases.zip",)) == PLACED


def linking() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        link = zipfile.ZipInfo("dev.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    return content.getvalue()


HOSTILE = {
    "members of some.zip inside of it, got .*evil.*nothing was": tuple(
        archive_of({"1.html": b"good", name: b"bad"})
        for name in ("../evil.html", "a/../../evil.html", "/etc/evil.html", "a\\..\\evil.html", "C:/evil.html",
                     "C:evil.html", "../evil.txt")
    ),
    r"link 'dev\.json'": (linking(),),
    "one member of some.zip for dev.json, got two": (archive_of({"a/dev.json": b"1", "b/dev.json": b"2"}),),
    r"archive some\.zip to be whole": (
        b"", b"<html>", archive_of(DEV)[:-40], archive_of(DEV)[:60] + archive_of(DEV)[70:]
    ),
}  # fmt: skip


@pytest.mark.parametrize("said", HOSTILE)
def test_a_hostile_or_damaged_archive_is_refused_in_one_sentence(tmp_path: Path, said: str) -> None:
    for number, content in enumerate(HOSTILE[said]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(ArchiveError, match=said):
            unpacked(folder, content)
        assert "nothing was" not in said or not list((folder / "folder").iterdir())
        assert not list(tmp_path.glob("**/evil*"))


def test_the_maximum_counts_for_all_archives_of_a_nest_together(tmp_path: Path) -> None:
    inner = archive_of({"1.html": bytes(900)})
    assert len(inner) < 200
    assert unpacked(tmp_path, archive_of({"a.zip": inner}), nested=("a.zip",), limit=1_100) == {"1.html": bytes(900)}
    for name, members, limit, said in (
        ("other", {"a.zip": inner, "2.html": bytes(200)}, 1_100, "expected at most"),
        ("flat", {"1.html": bytes(1_001)}, 1_000, r"expected at most 0\.0 GB to unpack, got more in some\.zip"),
    ):
        (tmp_path / name).mkdir()
        with pytest.raises(ArchiveError, match=said):
            unpacked(tmp_path / name, archive_of(members), nested=("a.zip",), limit=limit)
    assert not list((tmp_path / "flat" / "folder").iterdir())


def test_an_archive_that_lies_about_its_sizes_is_refused(tmp_path: Path) -> None:
    honest = archive_of({"1.html": bytes(50_000)})
    lying = honest.replace((50_000).to_bytes(4, "little"), (5).to_bytes(4, "little"))
    assert lying != honest
    with pytest.raises(ArchiveError):
        unpacked(tmp_path, lying, limit=1_000)
    assert sum(path.stat().st_size for path in (tmp_path / "folder").iterdir()) <= 1_000


def test_a_disk_without_room_is_seen_before_anything_is_unpacked(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"expected 0.0 GB of free disk .* got 0.0 GB; free some space, or name"):
        unpacked(tmp_path, archive_of({"1.html": bytes(2_000)}), free=1_999)
    assert not list((tmp_path / "folder").iterdir())
    require_space(tmp_path, 0)
    assert free_bytes(tmp_path) > 0

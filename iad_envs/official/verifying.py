"""Holds the files of a folder to the hashes that are known."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from iad_envs.data import official_sha256
from iad_envs.official.record import RECORD, read_record, sha256_of
from iad_envs.official.sources import DataSource

Status = Literal["ok", "changed", "missing", "unknown"]


class Verified(NamedTuple):
    """A file, and whether it is what it should be.

    Attributes:
        path: Path in the folder.
        status: `ok`, `changed` (another hash), `missing`, or `unknown` (no hash is known).
        held_to: Whose hash it was held to, in words.
    """

    path: str
    status: Status
    held_to: str


def verify_folder(folder: Path, sources: Mapping[str, DataSource]) -> Iterator[Verified]:
    """Yield what is found about each file of a folder.

    The record of the folder decides. A folder without one is held to the hashes that the project knows, by name.

    Raises:
        ValueError: The record can't be read.
    """
    record = read_record(folder)
    if record is None:
        yield from _held_to_the_project(folder, sources)
        return
    for name, known in record.files.items():
        path = folder / name
        if not path.is_file():
            yield Verified(name, "missing", RECORD)
        elif path.stat().st_size != known.size or sha256_of(path) != known.sha256:
            yield Verified(name, "changed", RECORD)
        else:
            yield Verified(name, "ok", RECORD)


def _held_to_the_project(folder: Path, sources: Mapping[str, DataSource]) -> Iterator[Verified]:
    table: dict[str, tuple[str, str]] = {}
    for source in sources.values():
        for file in source.files:
            for name in file.known_names if file.sha256 else ():
                table.setdefault(name, (file.sha256, f"the table, {source.name}"))
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        expected, held_to = table.get(path.name, ("", ""))
        if not expected:
            expected, held_to = _official(path), "the official file"
        if not expected:
            yield Verified(name, "unknown", "no known hash")
        else:
            yield Verified(name, "ok" if sha256_of(path) == expected else "changed", held_to)


def _official(path: Path) -> str:
    known = official_sha256()
    return known.get(path.name) or known.get(f"{path.parent.name}/{path.name}") or ""

"""Keeps `SOURCE.json` beside official data (where they came from, and the hash of every file), and verifies by it."""

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, NamedTuple

from iad_envs.official.hashes import official_sha256, sha256_of
from iad_envs.official.sources import DataSource

RECORD = "SOURCE.json"
Held = Literal["table", "first fetch", "earlier fetch", "another version"]


class FileRecord(NamedTuple):
    """A file of a data folder: its size in bytes and its hash as hex digits."""

    size: int
    sha256: str


class DownloadRecord(NamedTuple):
    """A file as it was downloaded.

    Attributes:
        origin: The address or the path.
        size: Number of bytes.
        sha256: Hash as hex digits.
        held_to: What its hash was held to: the `table`'s, that of an `earlier fetch`, none (`first fetch`), or none
            because `another version` was asked for.
    """

    origin: str
    size: int
    sha256: str
    held_to: Held


class SourceRecord(NamedTuple):
    """What `SOURCE.json` holds.

    Attributes:
        name: Name of the data.
        licence: Their licence.
        citation: Whom to cite.
        fetched: Date and time in UTC, ISO 8601.
        copied_from: The folder that they were copied from, or "".
        downloads: The downloaded files, by name.
        files: The files of the folder, by path.
    """

    name: str
    licence: str
    citation: str
    fetched: str
    copied_from: str
    downloads: Mapping[str, DownloadRecord]
    files: Mapping[str, FileRecord]

    @property
    def other_versions(self) -> list[str]:
        """Names of downloaded files whose hash is known and is another one."""
        return [name for name, one in self.downloads.items() if one.held_to == "another version"]


def files_of(folder: Path) -> dict[str, FileRecord]:
    """Return the files below a folder, by path. The record itself is left out."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / RECORD)
    return {path.relative_to(folder).as_posix(): FileRecord(path.stat().st_size, sha256_of(path)) for path in paths}


def write_record(folder: Path, record: SourceRecord) -> None:
    """Write the record into a folder."""
    try:
        by = f"iad {version('iad')}"
    except PackageNotFoundError:  # run from a source tree that is not installed
        by = "iad of a source tree"
    content: dict[str, Any] = {
        **record._asdict(),
        "downloads": {name: one._asdict() for name, one in record.downloads.items()},
        "files": {name: one._asdict() for name, one in record.files.items()},
        "by": by,
    }
    (folder / RECORD).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_record(folder: Path) -> SourceRecord | None:
    """Return the record of a folder, or None if it has none.

    Raises:
        ValueError: It is no such record.
    """
    path = folder / RECORD
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        content.pop("by", None)
        content["downloads"] = {name: DownloadRecord(**one) for name, one in content["downloads"].items()}
        content["files"] = {name: FileRecord(**one) for name, one in content["files"].items()}
        return SourceRecord(**content)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"expected the record of a fetch in {path}, got {error!r:.200}; fetch the data again"
        ) from None


class Verified(NamedTuple):
    """A file, and whether it is what it should be.

    Attributes:
        path: Path in the folder.
        status: `ok`, `changed` (another hash), `missing`, or `unknown` (no hash is known).
        held_to: Whose hash it was held to, in words.
    """

    path: str
    status: Literal["ok", "changed", "missing", "unknown"]
    held_to: str


def verify_folder(folder: Path, sources: Mapping[str, DataSource]) -> Iterator[Verified]:
    """Yield what is found about each file of a folder.

    The record of the folder decides. A folder without one is held to the hashes that the project knows, by name.

    Raises:
        ValueError: The record can't be read.
    """
    record = read_record(folder)
    if record is not None:
        for name, known in record.files.items():
            path = folder / name
            is_same = path.is_file() and path.stat().st_size == known.size and sha256_of(path) == known.sha256
            yield Verified(name, "ok" if is_same else "changed" if path.is_file() else "missing", RECORD)
        return
    table: dict[str, tuple[str, str]] = {}
    for source in sources.values():
        for file in source.files:
            for name in file.known_names if file.sha256 else ():
                table.setdefault(name, (file.sha256, f"the table, {source.name}"))
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        expected, held_to = table.get(path.name, ("", ""))
        if not expected:
            official = official_sha256().get(path.name) or official_sha256().get(f"{path.parent.name}/{path.name}")
            expected, held_to = official or "", "the official file"
        if not expected:
            yield Verified(name, "unknown", "no known hash")
        else:
            yield Verified(name, "ok" if sha256_of(path) == expected else "changed", held_to)

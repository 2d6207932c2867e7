"""Brings official data into their folder: downloaded, or taken from files that somebody fetched by hand.

<root>/<name>/          the data, as their environment reads them, and SOURCE.json. It appears whole or not at all
<root>/<name>.part/     what a fetch has so far. The same command goes on with it
<root>/<name>.lock      held by the process that fetches
"""

import shutil
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from pathlib import Path

from iad_envs.official.archives import Free, Unpacker, free_bytes, require_space
from iad_envs.official.download import Wait, discard, download, hub_address
from iad_envs.official.errors import ArchiveError, DownloadError, FetchError
from iad_envs.official.hashes import sha256_of
from iad_envs.official.record import DownloadRecord, Held, SourceRecord, files_of, read_record, write_record
from iad_envs.official.sources import DataSource, SourceFile

Lock = Callable[[Path], AbstractContextManager[object]]
"""Holds a lock file while a block runs, and waits for it if another process has it."""
Report = Callable[[str, int, int], None]
"""Called with a file's name, the number of its bytes that are here, and of all its bytes or 0."""


Here = tuple[Path, str]
"""A file that is here, and its origin: an address or a path."""


@dataclass
class Fetcher:
    """Brings the data of one entry of the table into their folder.

    Attributes:
        source: The entry.
        root: Folder of all official data.
        lock: Holds a lock.
        again: Whether data that are here are fetched again, and held to the hashes of their record.
        any_version: Whether files are taken whose hash is not the table's. The record says so.
        report: Called as bytes arrive.
        wait: Function that waits between attempts of a download.
        free: Function that returns the number of free bytes on a folder's disk.
        folder: The folder of the data.
    """

    source: DataSource
    root: Path
    lock: Lock
    _: KW_ONLY
    again: bool = False
    any_version: bool = False
    report: Report = lambda name, done, total: None
    wait: Wait = time.sleep
    free: Free = free_bytes

    def __post_init__(self) -> None:
        self.folder = self.root / self.source.name
        self._part = self.root / f"{self.source.name}.part"

    def fetch(self) -> SourceRecord | None:
        """Download the data, and return their record; None if they were here.

        Raises:
            FetchError: A file could not be had from any of its addresses, or is not what the environment reads.
            OSError: A file can't be written.
        """
        with self._locked():
            if self._is_here():
                return None
            if not self.source.files:
                raise FetchError(f"{self.source.name} is not downloaded as files: {self.source.note}")
            self._require_space({})
            return self._finish({file.name: self._downloaded(file) for file in self.source.files})

    def take(self, given: Path) -> SourceRecord | None:
        """Take the data from a file or a folder, and return their record; None if they were here.

        The folder has the files as they are downloaded, or as the environment reads them. The network is not used.

        Raises:
            FetchError: Files are missing, or are not the right ones. Those that could be taken are kept for the next
                command.
            OSError: A file can't be read or written.
        """
        with self._locked():
            if self._is_here():
                return None
            here = {file.name: self._given(file, given) for file in self.source.files}
            had = {name: one for name, one in here.items() if one is not None}
            if self.source.files and len(had) == len(here):
                self._require_space(had)
                return self._finish(had)
            if given.is_dir() and not _absent(given, self.source):
                return self._copy(given)
            for name, (path, origin) in had.items():
                kept = self._files / name
                if path != kept:
                    shutil.copyfile(path, kept)
                    _origin_of(kept).write_text(origin, encoding="utf-8")
            missing = [name for name, one in here.items() if one is None]
            if not missing:
                raise FetchError(_unlike(given, self.source, str(given)))
            kept_for = f"; {', '.join(had)} {'is' if len(had) == 1 else 'are'} kept for the next command" if had else ""
            reads = f", nor a folder as {self.source.environment} reads it" if self.source.environment else ""
            raise FetchError(f"expected {', '.join(missing)} in {given}, found none{reads}{kept_for}")

    # How it works.

    def _locked(self) -> AbstractContextManager[object]:
        self.root.mkdir(parents=True, exist_ok=True)
        return self.lock(self.root / f"{self.source.name}.lock")

    def _is_here(self) -> bool:
        return self.folder.exists() and not self.again

    def _downloaded(self, file: SourceFile) -> Here:
        """Return a file that was downloaded, now or by an earlier command."""
        path, part = self._files / file.name, self._files / f"{file.name}.part"
        if path.exists():
            if not self._complaint(file, path):
                return path, _read_origin(path)
            path.unlink()
        reasons = {}
        for url in map(hub_address, file.urls):
            try:
                download(
                    url,
                    part,
                    size=0 if self.any_version else file.size,
                    admit=self._require,
                    report=lambda done, total: self.report(file.name, done, total),
                    wait=self.wait,
                )
                complaint = self._complaint(file, part)
            except DownloadError as error:
                complaint = str(error)
            if not complaint:
                _origin_of(path).write_text(url, encoding="utf-8")
                part.replace(path)
                return path, url
            reasons[url] = complaint
            if part.exists() and not part.with_name(f"{part.name}.json").exists():
                discard(part)  # it is whole and wrong
        raise FetchError(f"{file.name} could not be fetched", reasons)

    def _given(self, file: SourceFile, given: Path) -> Here | None:
        """Return a file that the user has, or that an earlier command kept; None if there is none.

        Raises:
            FetchError: It is another version than the table's.
        """
        places = [given] if given.is_file() and given.name in file.known_names else []
        places += [given / name for name in file.known_names]
        kept = self._files / file.name
        for path in (*places, kept):
            if path.is_file():
                complaint = self._complaint(file, path)
                if complaint:
                    hint = "; with --any-version it is taken all the same" if file.sha256 else ""
                    raise FetchError(f"{path}: {complaint}{hint}")
                return path, _read_origin(path) if path == kept else str(path)
        return None

    def _complaint(self, file: SourceFile, path: Path) -> str:
        """Return why a file is not the one that was looked for, or ""."""
        expected, _ = self._expected(file)
        if expected and not self.any_version:
            got = sha256_of(path)
            if got != expected:
                return f"expected the SHA-256 {expected}, got {got}"
        if file.is_archive and not zipfile.is_zipfile(path):
            return "expected a ZIP archive, got something else"
        return ""

    def _expected(self, file: SourceFile) -> tuple[str, Held]:
        """Return the hash that a file is held to, and whose it is."""
        if file.sha256:
            return file.sha256, "table"
        before = read_record(self.folder) if self.again else None
        if before is not None and file.name in before.downloads:
            return before.downloads[file.name].sha256, "earlier fetch"
        return "", "first fetch"

    def _require_space(self, had: Mapping[str, Here]) -> None:
        """Look at the disk before the first byte, as far as sizes are known."""
        needed = 0
        for file in self.source.files:
            there = had[file.name][0].stat().st_size if file.name in had else 0
            size = there or file.size
            here = sum(path.stat().st_size for path in self._files.glob(f"{file.name}*"))
            needed += 0 if there and file.is_archive else max(size - here, 0)
        self._require(needed)

    def _require(self, needed: int) -> None:
        require_space(self._files, needed, self.free)

    @property
    def _files(self) -> Path:
        """Folder of the files as they are downloaded."""
        folder = self._part / "files"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _empty(self) -> Path:
        """Return a new folder, in which the data folder is put together."""
        folder = self._part / "folder"
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        return folder

    def _finish(self, had: Mapping[str, Here]) -> SourceRecord:
        """Put the data folder together from the downloaded files."""
        downloads = {}
        for file in self.source.files:
            path, origin = had[file.name]
            got = sha256_of(path)
            expected, held_to = self._expected(file)
            held_to = "another version" if expected and got != expected else held_to
            downloads[file.name] = DownloadRecord(origin, path.stat().st_size, got, held_to)
        folder = self._empty()
        limit = self.source.max_unpacked
        for file in self.source.files:
            if file.is_archive:
                try:
                    unpacker = Unpacker(folder, file.take, nested=file.nested, limit=limit, free=self.free)
                    unpacker.unpack(had[file.name][0])
                except ArchiveError as error:
                    raise FetchError(str(error)) from error
        for file in self.source.files:  # last, because an archive that can't be unpacked leaves them for the next try
            path, _ = had[file.name]
            if not file.is_archive and path.parent == self._files:
                path.replace(folder / file.save_as)
            elif not file.is_archive:
                shutil.copyfile(path, folder / file.save_as)
        if _absent(folder, self.source):
            raise FetchError(_unlike(folder, self.source, "what was fetched"))
        return self._place(folder, downloads, "")

    def _copy(self, given: Path) -> SourceRecord:
        """Put the data folder together from one that has its layout."""
        known = {file.save_as: file for file in self.source.files if file.sha256}
        downloads: dict[str, DownloadRecord] = {}
        found = {path for pattern in self.source.patterns for path in given.glob(pattern) if path.is_file()}
        paths = sorted(found)
        self._require(sum(path.stat().st_size for path in paths))
        folder = self._empty()
        for path in paths:
            target = folder / path.relative_to(given)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            file = known.get(target.relative_to(folder).as_posix())
            if file is not None:
                complaint = self._complaint(file, target)
                if complaint:
                    raise FetchError(f"{path}: {complaint}; with --any-version it is taken all the same")
                got = sha256_of(target)
                held_to: Held = "table" if got == file.sha256 else "another version"
                downloads[file.name] = DownloadRecord(str(path), target.stat().st_size, got, held_to)
        return self._place(folder, downloads, str(given))

    def _place(self, folder: Path, downloads: Mapping[str, DownloadRecord], copied_from: str) -> SourceRecord:
        """Give a folder that is complete its name."""
        record = SourceRecord(
            name=self.source.name,
            licence=self.source.licence,
            citation=self.source.citation,
            fetched=datetime.now(UTC).isoformat(timespec="seconds"),
            copied_from=copied_from,
            downloads=downloads,
            files=files_of(folder),
        )
        write_record(folder, record)
        if self.folder.exists():
            self.folder.replace(self._part / "before")
        folder.replace(self.folder)
        shutil.rmtree(self._part)
        return record


def _origin_of(path: Path) -> Path:
    """Return the file that says where a file came from, which a command has kept."""
    return path.with_name(f"{path.name}.origin")


def _read_origin(path: Path) -> str:
    with suppress(FileNotFoundError):  # somebody has put the file there
        return _origin_of(path).read_text(encoding="utf-8")
    return str(path)


def _absent(folder: Path, source: DataSource) -> list[str]:
    """Return what the folder lacks to be as its environment reads it."""
    return [
        " or ".join(row)
        for row in source.layout
        if not any(path.is_file() for pattern in row for path in folder.glob(pattern))
    ]


def _unlike(folder: Path, source: DataSource, whose: str) -> str:
    absent = ", ".join(_absent(folder, source))
    return f"expected {absent} in {whose}, found none; the source has changed, or it is other data"

"""Builds, finds and opens catalogues and search indexes of large data sets on disk.

The home folder is `$IAD_INDEX`, else `iad/indexes` in the user's cache folder. It has one subfolder per data set,
named by the digest of the official files. This folder contains one folder for the catalogue and one per engine, named
by engine and versions. Each of them is written under a temporary name and renamed when it is complete, so an
interrupted build never leaves a partial index. It never changes afterwards, so any number of processes can read it.
"""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_cache_path

from webshop_server.catalog import ATTRIBUTES, PRODUCTS, index_text
from webshop_server.search import build_engine, index_name, index_parts, require_engine
from webshop_server.storage.atomic import write_atomically
from webshop_server.storage.disk_catalog import FORMAT, open_disk_catalog, write_disk_catalog
from webshop_server.storage.json_files import find_file

CATALOG = "catalog"

Report = Callable[[str, int, int], None]
"""Progress callback: current activity, amount done and total amount (in bytes or products)."""


class IndexNotFound(ValueError):
    """There is no index for the data. The error text lists the existing indexes and says how to build one."""


class StoredIndex(NamedTuple):
    """A catalogue or index that was built.

    Attributes:
        part: `catalog`, or the name of an engine.
        folder: The folder it is stored in.
        digest: Digest of the source data.
        source: Folder of the source data.
        n_products: Number of products.
        n_bytes: Size on disk in bytes.
        built: Date and time of the build, as "2026-11-20 12:00".
        build_s: Duration of the build in seconds.
        is_current: Whether this version of the package uses it.
    """

    part: str
    folder: Path
    digest: str
    source: str
    n_products: int
    n_bytes: int
    built: str
    build_s: float
    is_current: bool


def index_home() -> Path:
    """Return the folder of all indexes: `$IAD_INDEX`, else a folder in the user's cache folder."""
    named = os.environ.get("IAD_INDEX")
    return Path(named) if named else user_cache_path("iad", appauthor=False) / "indexes"


class Indexes:
    """The catalogues and indexes in a home folder.

    Args:
        home: The home folder, by default `index_home()`. It is created by the first build.
    """

    def __init__(self, home: Path | None = None) -> None:
        self.home = home or index_home()
        self._last: tuple[dict[str, Any], str] | None = None

    def find(self, data: Path, part: str) -> Path | None:
        """Return the folder of a catalogue or engine built for the current files of `data`, or None."""
        if not self.home.is_dir():
            return None
        folder = self.home / self.digest(data) / _folder_name(part)
        return folder if folder.is_dir() else None

    def require(self, data: Path, part: str) -> Path:
        """Return the same folder as `find`, or raise.

        Raises:
            IndexNotFound: It has not been built.
        """
        folder = self.find(data, part)
        if folder is not None:
            return folder
        what = "the catalogue" if part == CATALOG else f"an index {part!r}"
        others = [
            f"one for other data of this folder ({index.digest}, built {index.built})"
            if index.source == str(data.resolve())
            else f"one for {index.source} ({index.digest})"
            for index in self.all()
            if index.part == part
        ]
        found = ", ".join(others[:3]) or "none"
        search = "" if part == CATALOG else f" --search {part}"
        raise IndexNotFound(
            f"expected {what} of {data} ({self.digest(data)}) in {self.home}, found {found}; "
            f"build it: iad index build --data-dir {data}{search}"
        )

    def build(
        self,
        data: Path,
        search: str = "bm25",
        *,
        rebuild: bool = False,
        n_workers: int = 1,
        report: Report = lambda doing, done, total: None,
    ) -> list[Path]:
        """Build the missing parts for a data folder: its catalogue and the index of an engine (two for `hybrid`).

        Args:
            data: The folder with the official files.
            search: The engine's name.
            rebuild: Whether existing parts are built again.
            n_workers: Number of processes that count words. More than one requires an importable main module.
            report: Called with the progress.

        Raises:
            FileNotFoundError: The data are missing.
            CatalogError: The data are not in the official format.
            ImportError: The engine needs a package that is not installed.
        """
        require_engine(search)
        parts = (CATALOG, *index_parts(search))
        home = self.home / self.digest(data)
        home.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(home / "lock.sqlite", timeout=0.0, isolation_level=None)) as lock:
            try:  # nobody else may build here; the lock of a killed process disappears with it
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:
                report("waiting for another build", 0, 0)
                lock.execute("PRAGMA busy_timeout = 86400000")
                lock.execute("BEGIN EXCLUSIVE")
            self._remember(data, home)
            for leftover in (*home.glob("*.partial"), *home.glob("*.old")):
                shutil.rmtree(leftover)
            for part in parts:
                if rebuild or not (home / _folder_name(part)).is_dir():
                    self._build(data, home, part, n_workers=n_workers, report=report)
        return [home / _folder_name(part) for part in parts]

    def all(self) -> list[StoredIndex]:
        """Return all catalogues and indexes, in the order of their folders."""
        found = []
        for path in sorted(self.home.glob("*/*/about.json")):
            about, folder, is_current = _read(path, {}), path.parent, False
            with suppress(ValueError):  # an engine that this version doesn't know
                is_current = _folder_name(about["part"]) == folder.name
            n_bytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            found.append(
                StoredIndex(folder=folder, digest=folder.parent.name, n_bytes=n_bytes, is_current=is_current, **about)
            )
        return found

    def digest(self, data: Path) -> str:
        """Return the digest of a folder's products and attributes, 16 hex digits.

        A file is read again only if its size or modification time has changed.
        """
        stamp = _stamp(data)
        for path in self.home.glob("*/sources.json"):
            if stamp in _read(path, []):
                return path.parent.name
        if self._last is None or self._last[0] != stamp:
            hashes = []
            for path in _files(data):
                with path.open("rb") as file:
                    hashes.append(file_digest(file, "sha256").hexdigest())
            self._last = stamp, sha256(" ".join(hashes).encode()).hexdigest()[:16]
        digest = self._last[1]
        if (self.home / digest).is_dir():
            with suppress(OSError):  # a read-only home folder is still usable
                self._remember(data, self.home / digest)
        return digest

    def _build(self, data: Path, home: Path, part: str, *, n_workers: int, report: Report) -> None:
        final = home / _folder_name(part)
        partial, old = final.with_name(f"{final.name}.partial"), final.with_name(f"{final.name}.old")
        partial.mkdir()
        start = time.monotonic()
        if part == CATALOG:
            size = find_file(data, PRODUCTS).stat().st_size
            n_products = write_disk_catalog(data, partial, lambda n_bytes: report("reading products", n_bytes, size))
        else:
            catalog = open_disk_catalog(home / _folder_name(CATALOG))
            n_products = len(catalog)

            def documents() -> Iterator[tuple[str, str]]:
                for number, product in enumerate(catalog):
                    if number % 1000 == 0:
                        report(f"indexing for {part}", number, n_products)
                    yield product.asin, index_text(product)
                report(f"writing the index {part}", n_products, n_products)

            build_engine(part, documents(), partial, n_workers=n_workers)
        about = {
            "part": part,
            "source": str(data.resolve()),
            "n_products": n_products,
            "built": time.strftime("%Y-%m-%d %H:%M"),
            "build_s": round(time.monotonic() - start, 1),
        }
        _write(partial / "about.json", about)
        _to_disk(partial)
        if final.is_dir():
            final.rename(old)
        partial.rename(final)
        shutil.rmtree(old, ignore_errors=True)

    def _remember(self, data: Path, home: Path) -> None:
        path = home / "sources.json"
        stamps = [stamp for stamp in _read(path, []) if stamp["folder"] != str(data.resolve())]
        _write(path, [*stamps, _stamp(data)])


def _folder_name(part: str) -> str:
    return f"{CATALOG}-{FORMAT}" if part == CATALOG else index_name(part)


def _files(data: Path) -> tuple[Path, Path]:
    return find_file(data, PRODUCTS), find_file(data, ATTRIBUTES)


def _stamp(data: Path) -> dict[str, Any]:
    """Return paths, sizes and modification times of the files."""
    stats = {path.name: path.stat() for path in _files(data)}
    files = {name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats.items()}
    return {"folder": str(data.resolve()), "files": files}


def _to_disk(folder: Path) -> None:
    """Flush all files of the folder to disk before it is renamed, in case the machine crashes."""
    for path in (*folder.rglob("*"), folder):
        is_folder = path.is_dir()
        if is_folder and not hasattr(os, "O_DIRECTORY"):
            continue  # Windows opens no folders
        descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)  # Windows syncs no file that is only read
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read(path: Path, otherwise: Any) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else otherwise


def _write(path: Path, content: Any) -> None:
    with write_atomically(path) as part:
        part.write_text(json.dumps(content, indent=2), encoding="utf-8")

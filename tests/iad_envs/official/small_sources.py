"""Small entries of the table, whose files are on a local server."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from iad_envs.official.fetching import Fetcher
from iad_envs.official.sources import DataSource, SourceFile
from tests.iad_envs.official.file_server import FileServer
from tests.iad_envs.official.test_archives import DEV, archive_of

A, B = bytes(range(256)) * 1000, b"second " * 30_000
ZIP = archive_of(DEV)
LOCK = Lock()


def file(name: str, content: bytes, *urls: str, is_known: bool = True, **facts: Any) -> SourceFile:
    size, digest = (len(content), sha256(content).hexdigest()) if is_known else (0, "")
    given = {"save_as": name, "take": (), "nested": (), **facts}
    return SourceFile(name=name, urls=urls, size=size, sha256=digest, **given)


def source(*files: SourceFile, **facts: Any) -> DataSource:
    layout = tuple((one.save_as,) for one in files if not one.take)
    given = {"name": "small", "layout": layout, "environment": "webshop", "read_by": "IAD/WebShop-v0", **facts}
    return DataSource(
        title="A small set", licence="MIT", citation="Somebody et al.", size="0.5 MB", read=date(2026, 11, 23),
        files=files, **given,
    )  # fmt: skip


def two(server: FileServer, **facts: Any) -> DataSource:
    return source(file("a.json", A, server.serve("/a", A)), file("b.json", B, server.serve("/b", B)), **facts)


def zipped(server: FileServer, **facts: Any) -> DataSource:
    """An entry with questions and an archive of databases, whose hashes nobody knows."""
    archive = file("dev.zip", ZIP, server.serve("/zip", ZIP), is_known=False, take=("dev_databases/", "dev.json"))
    more = file("more-00000.json", b"[1]", server.serve("/more", b"[1]"), is_known=False, save_as="more.json")
    layout = (("dev.json",), ("dev_databases/*/*.sqlite",))
    given = {"layout": layout, "also": ("more.json",), "max_unpacked": 10**6, "environment": "bird", **facts}
    return source(archive, more, **given)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    path.touch()
    with LOCK:
        yield


def fetcher(given: DataSource, root: Path, **options: Any) -> Fetcher:
    return Fetcher(given, root, alone, **{"wait": lambda seconds: None, **options})

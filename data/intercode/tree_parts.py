"""What the start states are made with: choices from a seed, files, and archives whose bytes depend on no library."""

import io
import tarfile
import zlib
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

T = TypeVar("T")
DAY_S = 86_400
FIRST_DAY = 1_640_995_200
"""2022-01-01 00:00 UTC."""
N_DAYS = 720
FOLDER_MODE = 0o755
_NOON_S = DAY_S // 2
_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_STORED_BLOCK = b"\x01"


class File(NamedTuple):
    """A file of a tree.

    Attributes:
        path: Without the first slash.
        content: Text, or the bytes of an archive.
        mode: Permissions.
        mtime: Seconds since 1970.
    """

    path: str
    content: str | bytes
    mode: int
    mtime: int


class Draw:
    """Choices from a seed that come out the same under every Python: they use nothing but `random()`."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def below(self, n: int) -> int:
        """A number from 0 to n - 1."""
        return int(self._random() * n)

    def one(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def mtime(self) -> int:
        """A time in 2022 or 2023."""
        return FIRST_DAY + self.below(N_DAYS) * DAY_S + self.below(DAY_S)


class Tree:
    """Collects the files of a start state.

    Attributes:
        draw: Where its choices come from.
    """

    def __init__(self, top: str, seed: int) -> None:
        self._top = top
        self._files: list[File] = []
        self.draw = Draw(seed)

    def add(
        self, path: str, content: str | bytes, *, since: str = "2022-01-01", days: int = 720, mode: int = 0o644
    ) -> None:
        """Add a file that was changed around noon of a day, so that every time zone has the same day."""
        mtime = noon(since) + self.draw.below(days) * DAY_S + self.draw.below(3600)
        self._files.append(File(f"{self._top}/{path}", content, mode, mtime))

    @property
    def files(self) -> list[File]:
        """The files, sorted by path."""
        return sorted(self._files)


def noon(day: str) -> int:
    """The noon of an ISO day in UTC, in seconds since 1970."""
    return (date.fromisoformat(day) - date(1970, 1, 1)).days * DAY_S + _NOON_S


def lines(rows: Sequence[str]) -> str:
    """Rows as the text of a file."""
    return "".join(f"{row}\n" for row in rows)


def tar_of(files: Sequence[File]) -> bytes:
    """Files and their folders as an uncompressed tar."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for folder in sorted({str(parent) for file in files for parent in Path(file.path).parents} - {"."}):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, FOLDER_MODE, FIRST_DAY
            archive.addfile(entry)
        for file in files:
            content = file.content.encode() if isinstance(file.content, str) else file.content
            entry = tarfile.TarInfo(file.path)
            entry.size, entry.mode, entry.mtime = len(content), file.mode, file.mtime
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def gzip_of(text: str) -> bytes:
    """A text of less than 64 KB as gzip, stored as it is: compressed bytes would depend on the version of zlib."""
    content = text.encode()
    size = len(content)
    block = _STORED_BLOCK + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little") + content
    return _GZIP_HEAD + block + zlib.crc32(content).to_bytes(4, "little") + size.to_bytes(4, "little")

"""Reads and writes files of JSON lines. Only whole lines are appended, and a damaged line does not affect others."""

import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import IO, Any, cast

from iad_policy.errors import StorageError
from iad_policy.types.atomic import write_atomically
from iad_policy.types.regular_file import open_regular

MAX_LINE = 2**24
"""Bytes of the longest line that is read. Long texts are stored in files of their own."""


def _opened(path: Path) -> FileIO:
    return cast(FileIO, open_regular(path, "ab", buffering=0))


class LineFile:
    """A file to which only whole lines are appended.

    Args:
        path: Path of the file; created if missing. An incomplete last line is removed.
        opened: Function that opens the file for appending, unbuffered.

    Attributes:
        is_repaired: Whether an incomplete last line was removed.
    """

    def __init__(self, path: Path, *, opened: "Callable[[Path], FileIO]" = _opened) -> None:
        self.path = path
        self._lock = Lock()
        self.is_repaired = cut_torn_line(path)
        self._opened = opened
        self._file = opened(path)

    def append(self, lines: bytes, *, is_synced: bool = False) -> None:
        """Write lines in one go.

        The operating system has them when this returns. With `is_synced` they are on the disk.

        Raises:
            StorageError: They can't be written, for example because the disk is full. The file is then unchanged.
        """
        n_written = 0
        with self._lock:
            try:
                while n_written < len(lines):
                    n_written += self._file.write(lines[n_written:])
            except OSError as error:
                with suppress(OSError):  # the rest of a line is removed when the file is opened again
                    self._file.truncate(os.fstat(self._file.fileno()).st_size - n_written)
                raise StorageError(self.path, error) from error
        if is_synced:
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                raise StorageError(self.path, error) from error

    def remove_damaged_lines(self, is_whole: Callable[[bytes], bool]) -> None:
        """Replace the file by one without its damaged lines.

        Raises:
            StorageError: It can't be written. The old one is kept.
        """
        with self._lock, write_atomically(self.path, is_synced=True) as part:
            self._file.close()
            with open_regular(self.path) as file, part.open("wb") as kept:
                kept.writelines(line for line in lines_of(file) if is_whole(line))
        self._file = self._opened(self.path)

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        self._file.close()


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file; nothing if there is none. One that is not a JSON object is skipped, with a warning.

    Raises:
        OSError: It can't be read, or is no regular file.
    """
    if not os.path.lexists(path):
        return
    with open_regular(path) as file:
        for number, line in enumerate(lines_of(file), 1):
            record = record_of(line)
            if record is None:
                warn_of(path, f"line {number}")
            else:
                yield record


def lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines from here on. What follows in a line after `MAX_LINE` bytes is yielded as the next one."""
    return iter(partial(file.readline, MAX_LINE), b"")


def cut_torn_line(path: Path) -> bool:
    """Remove an incomplete last line, and return whether there was one."""
    if not os.path.lexists(path):
        return False
    with open_regular(path, "rb+") as file:
        end = size = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 2**16)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            file.truncate(end)
        return end < size


def record_of(line: bytes) -> dict[str, Any] | None:
    """Return the content of a line, or None if it is not a JSON object."""
    try:
        record = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def warn_of(path: Path, where: str) -> None:
    """Warn that a line is skipped."""
    warnings.warn(f"{path}, {where}: expected a JSON object; the line is skipped", stacklevel=3)

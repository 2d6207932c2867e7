"""Files of JSON lines: they grow by whole lines, or not at all, and a damaged line costs no other."""

import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any

from iad_policy.errors import StorageError


class LineFile:
    """A file that grows by whole lines, or not at all.

    Args:
        path: The file; made if it is missing. A last line that was not written to its end is cut off.
        opened: Opens the file for appending, unbuffered.

    Attributes:
        is_repaired: Whether there was such a line.
    """

    def __init__(self, path: Path, *, opened: "Callable[[Path], FileIO]" = lambda path: FileIO(path, "ab")) -> None:
        self.path = path
        self._lock = Lock()
        self.is_repaired = cut_torn_line(path)
        self._file = opened(path)

    def append(self, lines: bytes, *, is_synced: bool = False) -> None:
        """Write lines in one go.

        They are with the operating system when this returns, and on the disk with `is_synced`.

        Raises:
            StorageError: They can't be written, as when the disk is full; the file is then as it was before.
        """
        n_written = 0
        with self._lock:
            try:
                while n_written < len(lines):
                    n_written += self._file.write(lines[n_written:])
            except OSError as error:
                with suppress(OSError):  # what is left of a line is cut off when the file is opened again
                    self._file.truncate(os.fstat(self._file.fileno()).st_size - n_written)
                raise StorageError(self.path, error) from error
        if is_synced:
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                raise StorageError(self.path, error) from error

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file of JSON lines; a line that is no JSON object is left out with a warning that names it."""
    if not path.exists():
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            record = record_of(line)
            if record is None:
                warn_of(path, f"line {number}")
            else:
                yield record


def cut_torn_line(path: Path) -> bool:
    """Cut a last line that was not written to its end, and say whether there was one."""
    if not path.exists():
        return False
    with path.open("rb+") as file:
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
    """Return what a line holds; None where it is no JSON object."""
    try:
        record = json.loads(line.decode())
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def warn_of(path: Path, where: str) -> None:
    """Say that a line is left out, to whoever asked for it."""
    warnings.warn(f"{path}, {where}: expected a JSON object; the line is left out", stacklevel=3)

"""Locks a run folder. The operating system releases the lock with the process, so a killed run leaves no lock."""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import IO, TypeAlias

from iad_policy.types.regular_file import open_regular

try:
    import fcntl

    FCNTL: ModuleType | None = fcntl
except ImportError:  # Windows
    FCNTL = None


FolderLock: TypeAlias = IO[bytes] | sqlite3.Connection
"""A lock that is held until it is closed, or until the process ends. Closing twice is harmless."""


class FolderInUse(Exception):
    """Another run holds the lock. The text is `in use by process 123`, or `in use` if the process is not known."""


def lock_folder(path: Path) -> FolderLock:
    """Take a lock without waiting.

    Args:
        path: Path of the lock file. It is created if missing, and holds the number of the last process that had it.
            On Windows it stays empty.

    Raises:
        FolderInUse: Another run holds the lock.
        OSError: The file can't be opened, or is no regular file.
    """
    return _lock_with_sqlite(path) if FCNTL is None else _lock_with_fcntl(path, FCNTL)


def _lock_with_fcntl(path: Path, fcntl: ModuleType) -> FolderLock:
    file = open_regular(path, "ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        with open_regular(path) as held:
            process = held.read(20)
        raise FolderInUse(f"in use by process {int(process)}" if process.isdigit() else "in use") from error
    with suppress(OSError):  # a full disk is said where something is lost by it
        file.truncate(0)
        os.write(file.fileno(), str(os.getpid()).encode())
    return file


def _lock_with_sqlite(path: Path) -> FolderLock:
    """Lock with SQLite, which has the locks of every system and leaves an empty database empty."""
    open_regular(path, "ab").close()  # SQLite does not say why a file can't be opened
    lock = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise OSError(f"{path} can't be locked: {error}") from error
        raise FolderInUse("in use") from error
    return lock

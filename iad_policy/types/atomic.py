"""Writes files and folders atomically, completely or not at all, and texts without secrets."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from iad_policy.errors import StorageError
from iad_policy.types.secrets import masked

PART = ".part"
"""Suffix of the name of a file that is being written."""


@contextmanager
def write_atomically(path: Path, *, is_synced: bool = False) -> Iterator[Path]:
    """Yield a temporary path in the same folder, and rename that file when the block ends.

    A reader sees the old file or the new one, never a part. If the block raises an error or writes nothing, the old
    file stays.

    Args:
        path: The file to create or replace. Several threads and processes may do so at once; the last one wins.
        is_synced: Whether the content is on the disk before the file is renamed, in case the machine crashes.

    Raises:
        StorageError: The block or the renaming raised an OSError.
    """
    # Nobody can guess the name, so no link to another file lies there in a folder that came from somebody else.
    part = path.with_name(f"{path.name}.{token_hex(8)}{PART}")
    try:
        yield part
        if part.exists():
            if is_synced:
                descriptor = os.open(part, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
            part.replace(path)
    except StorageError:  # of another file, which the block wrote, and it says the rest
        raise
    except OSError as error:
        raise StorageError(path, error) from error
    finally:
        with suppress(OSError):  # usually it was renamed
            part.unlink()


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside a path, and give it that name when the block ends without an error.

    Args:
        path: The folder to create. An empty one may be there.

    Raises:
        ValueError: Something else is there.
        StorageError: The block or the renaming raised an OSError.
    """
    if any(path.iterdir()) if path.is_dir() else os.path.lexists(path):
        raise ValueError(f"expected a new or an empty folder, got {path}, which is there; name another, or remove it")
    part = path.with_name(f"{path.name}.{token_hex(8)}{PART}")
    try:
        part.mkdir(parents=True)
        yield part
        if path.is_dir():
            path.rmdir()
        part.rename(path)
    except OSError as error:
        raise StorageError(path, error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)  # usually it was renamed


def write_text(path: Path, text: str, *, is_synced: bool = False) -> None:
    """Create or replace a file with a text, in which secrets of the process are replaced.

    Raises:
        StorageError: It can't be written. The old file stays.
    """
    with write_atomically(path, is_synced=is_synced) as part:
        part.write_text(masked(text), encoding="utf-8")

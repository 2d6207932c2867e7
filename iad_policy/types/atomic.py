"""Writes files atomically, completely or not at all, and texts without secrets."""

import os
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
    except OSError as error:
        raise StorageError(path, error) from error
    finally:
        with suppress(OSError):  # usually it was renamed
            part.unlink()


def write_text(path: Path, text: str, *, is_synced: bool = False) -> None:
    """Create or replace a file with a text, in which secrets of the process are replaced.

    Raises:
        StorageError: It can't be written. The old file stays.
    """
    with write_atomically(path, is_synced=is_synced) as part:
        part.write_text(masked(text), encoding="utf-8")

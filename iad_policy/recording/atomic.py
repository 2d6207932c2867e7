"""Files of a run that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident

from iad_policy.errors import StorageError

PART = ".part"
"""How the name of a file ends that is being written."""


@contextmanager
def write_atomically(path: Path, *, is_synced: bool = False) -> Iterator[Path]:
    """Yield a path to write to, in the same folder; the file gets its name when the block ends.

    A reader sees the old file or the new one, never a part. Where the block raises, or leaves nothing there, the old
    one stays.

    Args:
        path: The file to make or replace. Several threads and processes may do so at once: one of them wins.
        is_synced: Whether the content is on the disk before the file gets its name, in case the machine goes down.

    Raises:
        StorageError: The file can't be written: the block, or what follows it, raised an OSError.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}{PART}")
    try:
        yield part
        if part.exists():
            if is_synced:
                _to_disk(part)
            part.replace(path)
    except OSError as error:
        raise StorageError(path, error) from error
    finally:
        with suppress(OSError):  # it mostly has its name by now
            part.unlink()


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yield a path to write to, in the same folder; the file gets its name when the block ends.

    A reader sees the old file or the new one, never a part. Where the block raises, or leaves nothing there, the old
    one stays.

    Args:
        path: The file to make or replace. Several threads and processes may do so at once: one of them wins.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}.part")
    try:
        yield part
        if part.exists():
            part.replace(path)
    finally:
        with suppress(OSError):  # it mostly has its name by now
            part.unlink()

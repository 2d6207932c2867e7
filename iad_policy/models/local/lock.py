"""A lock among the processes of this machine, held while a file is open."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of a file, which is created if needed, and hold it."""
    import fcntl  # Windows has none, and there is no llama.cpp wheel for it either

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

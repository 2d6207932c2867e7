"""Python's collector of cycles, which makes a large share of the work of reading a run and finds nothing in it."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Let nobody look for cycles meanwhile, where nearly all that is made is kept, or holds none; also a decorator."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

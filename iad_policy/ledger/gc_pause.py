"""Pauses Python's garbage collector, which takes much of the time of reading a run and finds no cycles there."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Disable the cyclic garbage collector in a block or a decorated function."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

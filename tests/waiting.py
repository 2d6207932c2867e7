"""Waiting for what another process or thread does."""

import time
from collections.abc import Callable


def until(holds: Callable[[], bool], seconds: float = 15.0) -> bool:
    """Return whether something comes true within a while."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()

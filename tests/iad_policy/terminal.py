"""Reads what a command prints at a pseudo-terminal."""

import os
from contextlib import suppress


def read_to_end(terminal: int) -> bytes:
    """Return all that is printed until the other end is closed, and close this one."""
    said = b""
    with suppress(OSError):  # the other end is closed
        while data := os.read(terminal, 1 << 16):
            said += data
    os.close(terminal)
    return said

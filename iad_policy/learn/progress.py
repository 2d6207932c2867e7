"""How far long work is, for whoever wants to show it: a progress bar of the commands, or nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Show: TypeAlias = Callable[[str, int, int], object]
"""Shows the name of the work, how many of its steps are done, and how many there are."""
_show: ContextVar[Show | None] = ContextVar("iad_policy.learn.progress", default=None)


def advance(name: str, done: int, total: int) -> None:
    """Tell how far some work is."""
    show = _show.get()
    if show is not None:
        show(name, done, total)


@contextmanager
def showing(show: Show) -> Iterator[None]:
    """Show the progress of everything that is done in a block."""
    token = _show.set(show)
    try:
        yield
    finally:
        _show.reset(token)

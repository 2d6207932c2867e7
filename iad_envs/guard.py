"""Prevents agents and verifiers from using the real environment and its gold while a policy decides.

Two contexts do it. `guarded` marks the thread in which an agent or a verifier is called, with every coroutine and every
environment there. `closed` closes one environment to all threads, those that an agent starts or already has, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from iad_envs.errors import GuardError

_standing: ContextVar[str] = ContextVar("iad_envs.standing", default="")
"""What this thread is: `guarded`, `driving`, or neither."""


@contextmanager
def guarded() -> Iterator[None]:
    """Let this thread simulate environments, but not step, restore or read gold."""
    before = _standing.set("guarded")
    try:
        yield
    finally:
        _standing.reset(before)


@contextmanager
def driving() -> Iterator[None]:
    """Let this thread use an environment that is closed. It opens nothing inside a guard."""
    before = _standing.set(_standing.get() or "driving")
    try:
        yield
    finally:
        _standing.reset(before)


@contextmanager
def closed(closings: list[None]) -> Iterator[None]:
    """Close an environment to every thread that isn't driving.

    Args:
        closings: What the environment counts its closings with. A list, because `append` and `pop` need no lock, and
            because a copy of the environment has a copy of it: one that is made meanwhile stays closed.
    """
    closings.append(None)
    try:
        yield
    finally:
        closings.pop()


def refuse_if_guarded(what: str, closings: list[None]) -> None:
    """Raise `GuardError` if this thread is guarded, or the environment is closed to it."""
    standing = _standing.get()
    if standing == "guarded" or (closings and not standing):
        raise GuardError(
            f"expected agents and verifiers to work on what they are given, but one called {what} of the real "
            "environment while a policy decides; only the evaluation loop may, between decisions, and gold is for "
            "verifiers labelled 'oracle'"
        )

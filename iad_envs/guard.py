"""Prevents agents and verifiers from using the real environment and its gold while a policy decides.

Two contexts do it. `Guard` marks the thread in which an agent or a verifier is called, with every coroutine and every
environment there. `Deciding` closes one environment to all threads, those that an agent starts or already has, too.
"""

from contextvars import ContextVar
from contextvars import Token as ContextToken
from types import TracebackType
from typing import Literal

from iad_envs.errors import GuardError

Standing = Literal["", "guarded", "driving"]
_standing: ContextVar[Standing] = ContextVar("iad_envs.standing", default="")


class Guard:
    """Context in which this thread may simulate environments, but not step, restore or read gold."""

    __slots__ = ("_token",)
    standing: Standing = "guarded"

    def __enter__(self) -> None:
        self._token: ContextToken[Standing] = _standing.set(self.standing)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _standing.reset(self._token)


class Driving(Guard):
    """Context in which this thread may use an environment that is closed. It opens nothing inside a guard."""

    __slots__ = ()
    standing = "driving"

    def __enter__(self) -> None:
        self._token = _standing.set(_standing.get() or self.standing)


class Deciding:
    """Context in which an environment is closed to every thread that isn't driving.

    Args:
        closings: What the environment counts its closings with. A list, because `append` and `pop` need no lock, and
            because a copy of the environment has a copy of it: one that is made meanwhile stays closed.
    """

    __slots__ = ("_closings",)

    def __init__(self, closings: list[None]) -> None:
        self._closings = closings

    def __enter__(self) -> None:
        self._closings.append(None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closings.pop()


def refuse_if_guarded(what: str, closings: list[None]) -> None:
    """Raise `GuardError` if this thread is guarded, or the environment is closed to it."""
    standing = _standing.get()
    if standing == "guarded" or (closings and not standing):
        raise GuardError(
            f"expected agents and verifiers to work on what they are given, but one called {what} of the real "
            "environment while a policy decides; only the evaluation loop may, between decisions, and gold is for "
            "verifiers labelled 'oracle'"
        )

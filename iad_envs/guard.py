"""Prevents agents and verifiers from using the real environment and its gold while a policy decides."""

from contextvars import ContextVar
from contextvars import Token as ContextToken
from types import TracebackType

from iad_envs.errors import GuardError

_guarded: ContextVar[bool] = ContextVar("iad_envs.guarded", default=False)


class Guard:
    """Context in which this thread may simulate environments, but not step, restore or read gold."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token: ContextToken[bool] = _guarded.set(True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _guarded.reset(self._token)


def refuse_if_guarded(what: str) -> None:
    """Raise `GuardError` if this thread is guarded."""
    if _guarded.get():
        raise GuardError(
            f"expected agents and verifiers to work on what they are given, but one called {what} of the real "
            "environment; only the evaluation loop may, and gold is for verifiers labelled 'oracle'"
        )

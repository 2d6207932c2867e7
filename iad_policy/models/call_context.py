"""The call being made: tells a language-model client which sample it draws, and takes down what it spends.

A client is used deep inside an agent, a verifier or a role; none of them has to pass this along.
"""

from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from threading import Event
from types import TracebackType

from iad_policy.errors import Interrupted
from iad_policy.types import NOTHING, Usage


@dataclass(slots=True)
class Call:
    """One item being answered.

    Attributes:
        stream: Names the task and run seed; with the sample index it makes a sample distinct and repeatable.
        sample_index: How often this question was asked before in this state.
        seed: The item's own seed.
        usage: What clients reported so far.
        n_requests: How many samples of the same messages were drawn within this item, by digest of the messages.
        stopped: Set when the run was told to stop; None outside of one.
    """

    stream: str = ""
    sample_index: int = 0
    seed: int = 0
    usage: Usage = NOTHING
    n_requests: dict[str, int] = field(default_factory=dict)
    stopped: Event | None = None

    def report(self, usage: Usage) -> None:
        """Add what a client spent."""
        self.usage = usage if self.usage is NOTHING else self.usage + usage

    def refuse_if_stopped(self) -> None:
        """Raise `Interrupted` where the run was told to stop."""
        if self.stopped is not None and self.stopped.is_set():
            raise Interrupted


_current: ContextVar[Call | None] = ContextVar("iad_policy.models.call_context", default=None)


def current_call() -> Call:
    """Return the call being made; outside of a driver a fresh one, so that a client works by itself."""
    return _current.get() or Call()


def pause(seconds: float) -> None:
    """Wait, but not on when the run is told to stop.

    Raises:
        Interrupted: It was.
    """
    call = current_call()
    (call.stopped or Event()).wait(seconds)
    call.refuse_if_stopped()


class use_call:
    """Make a call the current one while it is entered."""

    __slots__ = ("_call", "_token")

    def __init__(self, call: Call) -> None:
        self._call = call

    def __enter__(self) -> Call:
        self._token: Token[Call | None] = _current.set(self._call)
        return self._call

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.reset(self._token)

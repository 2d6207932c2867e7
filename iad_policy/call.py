"""The call being made: tells a language-model client which sample it draws, and takes down what it spends.

A client is used deep inside an agent, a verifier or a role; none of them has to pass this along.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

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
    """

    stream: str = ""
    sample_index: int = 0
    seed: int = 0
    usage: Usage = NOTHING
    n_requests: dict[str, int] = field(default_factory=dict)

    def report(self, usage: Usage) -> None:
        """Add what a client spent."""
        self.usage = usage if self.usage is NOTHING else self.usage + usage


_current: ContextVar[Call | None] = ContextVar("iad_policy.call", default=None)


def current_call() -> Call:
    """Return the call being made; outside of a driver a fresh one, so that a client works by itself."""
    return _current.get() or Call()


@contextmanager
def making(call: Call) -> Iterator[Call]:
    """Make `call` the current one."""
    token = _current.set(call)
    try:
        yield call
    finally:
        _current.reset(token)

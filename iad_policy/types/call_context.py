"""The current call: it tells a language-model client which sample to draw, and records the client's usage.

A client is used deep inside an agent, a verifier or a role. None of them has to pass this on.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from threading import Event
from types import TracebackType

from iad_policy.errors import Interrupted
from iad_policy.types import NOTHING, Exchange, Usage


@dataclass(slots=True)
class Call:
    """One item that is being answered.

    Attributes:
        stream: Name of the task and run seed. With the sample index it makes a sample distinct and repeatable.
        sample_index: How many times this question was asked before in this state.
        seed: Seed of this item.
        usage: Usage that clients have reported so far.
        exchanges: Questions to language models so far, with their answers.
        n_requests: How many samples of the same messages were drawn within this item, by digest of the messages.
        stopped: Event that is set when the run is stopped. None outside of a run.
        question: Digest of the question. Items with the same one are samples of it.
        siblings: Sample indices of this question that are asked in the same batch and are not answered yet, so that a
            client can draw them in one request. The items of a batch share it. Empty if nothing is known about others.
        drawn: Digest of the messages whose sample is being drawn.
        is_metered: Whether anybody has reported a usage, be it nothing.
    """

    stream: str = ""
    sample_index: int = 0
    seed: int = 0
    usage: Usage = NOTHING
    exchanges: list[Exchange] = field(default_factory=list)
    n_requests: dict[str, int] = field(default_factory=dict)
    stopped: Event | None = None
    question: str = ""
    siblings: set[int] = field(default_factory=set)
    drawn: str = ""
    is_metered: bool = False

    @contextmanager
    def drawing(self, question: str) -> Iterator[int]:
        """Count a sample of a question within this item, and give its number, from 0.

        A client inside another one, which asks the same question, gets the same number.
        """
        if self.drawn == question:
            yield self.n_requests[question] - 1
            return
        draw = self.n_requests.get(question, 0)
        self.n_requests[question] = draw + 1
        outer, self.drawn = self.drawn, question
        try:
            yield draw
        finally:
            self.drawn = outer

    def report(self, usage: Usage) -> None:
        """Add a client's usage."""
        self.is_metered = True
        self.usage = usage if self.usage is NOTHING else self.usage + usage

    def refuse_if_stopped(self) -> None:
        """Raise `Interrupted` if the run was stopped."""
        if self.stopped is not None and self.stopped.is_set():
            raise Interrupted


_current: ContextVar[Call | None] = ContextVar("iad_policy.types.call_context", default=None)


def current_call() -> Call:
    """Return the current call. Outside of a driver it is a new one, so that a client works on its own."""
    return _current.get() or Call()


def report_usage(*, prompt_tokens: int = 0, completion_tokens: int = 0, usd: float | None = None) -> None:
    """Report what a call of your own agent, verifier or role has spent. It counts for budgets and in tables.

    Call it where the agent was called: in its thread, or in its coroutine. Reports of one call add up. Outside of a run
    it does nothing, so the function can be tried alone.

    Args:
        prompt_tokens: Tokens that a model read.
        completion_tokens: Tokens that a model wrote.
        usd: Price in dollars. None if it is not known.

    Raises:
        ValueError: A value is negative or not finite.
    """
    for name, value in (("prompt_tokens", prompt_tokens), ("completion_tokens", completion_tokens), ("usd", usd or 0)):
        if not 0 <= value < math.inf:
            raise ValueError(f"expected {name} of 0 or more, got {value!r}; report what the call has spent")
    is_priced = usd is not None or not (prompt_tokens or completion_tokens)
    current_call().report(
        Usage(
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            usd=usd or 0.0,
            n_unpriced=0 if is_priced else 1,
        )
    )


def pause(seconds: float) -> None:
    """Wait, but no longer than until the run is stopped.

    Raises:
        Interrupted: The run was stopped.
    """
    call = current_call()
    (call.stopped or Event()).wait(seconds)
    call.refuse_if_stopped()


class use_call:
    """Context manager that makes a call the current one."""

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

"""Streamed answers: they are put together again, and only silence is a timeout, not a long answer or a slow machine.

What says nothing is silence, too: a server or a proxy may send blanks, comments or empty parts for ever. And no answer
takes longer than its deadline, whatever arrives.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from iad_policy.models.tools import CallFragments, reasoning_of, say_something

T = TypeVar("T")


class Limits(NamedTuple):
    """How long a server may be silent, and how long it may talk.

    Attributes:
        first_s: Seconds until the first words, in which it reads the prompt.
        silence_s: Seconds between two parts after them.
        whole_s: Seconds until the answer's end.
    """

    first_s: float
    silence_s: float
    whole_s: float


class BrokenStream(Exception):
    """The server reported an error in the middle of an answer."""


def collected(chunks: Iterable[Any]) -> Any:
    """Return the response that the chunks of a stream make up, in the form of one that was not streamed.

    None if there are no chunks: the server does not stream.

    Args:
        chunks: Chunks of OpenAI's protocol.
    """
    text: list[str] = []
    reasoning: list[str] = []
    refusal: list[str] = []
    calls = CallFragments()
    tokens: list[Any] = []
    finish_reason = usage = None
    n_chunks = n_choices = 0
    for chunk in chunks:
        n_chunks += 1
        usage = chunk.usage or usage
        for choice in chunk.choices:
            n_choices += 1
            text.append(choice.delta.content or "")
            reasoning.append(reasoning_of(choice.delta))
            calls.add(getattr(choice.delta, "tool_calls", None))
            refusal.append(choice.delta.refusal or "")
            tokens.extend(getattr(choice.logprobs, "content", None) or ())
            finish_reason = choice.finish_reason or finish_reason
    if not n_chunks:
        return None
    fields = {"refusal": "".join(refusal)}
    message = SimpleNamespace(
        content="".join(text),
        reasoning_content="".join(reasoning),
        tool_calls=[SimpleNamespace(function=call) for call in calls.calls],
        provider_specific_fields=fields,
    )
    only = SimpleNamespace(message=message, finish_reason=finish_reason, logprobs=SimpleNamespace(content=tokens))
    return SimpleNamespace(choices=[only] if n_choices else [], usage=usage)


def heard(
    start: Callable[[], Iterable[Any]], limits: Limits, *, clock: Callable[[], float] = monotonic
) -> Iterator[Any]:
    """Yield the chunks of a stream, which is read in a thread of its own.

    Args:
        start: Function that asks the server and returns the chunks. They are closed at the end, if they can be.
        limits: How long the server may be silent, and how long the answer may take.
        clock: A monotonic clock in seconds.

    Raises:
        TimeoutError: It took longer. The thread ends with the next byte, or with the client's own timeout.
        BrokenStream: The server reported an error.
    """
    parts: SimpleQueue[tuple[float, Any]] = SimpleQueue()  # with the time at which each arrived
    gone, end = Event(), object()
    opened: list[Iterable[Any]] = []

    def read() -> None:
        try:
            opened.append(start())
            if gone.is_set():
                _close(opened)
                return
            for chunk in opened[0]:
                parts.put((clock(), chunk))
                if gone.is_set():
                    return
            parts.put((clock(), end))
        except BaseException as error:  # raised again by who waits
            # One that the server reports in a chunk has no class of its own in the client.
            is_reported = bool(opened) and type(error).__name__ == "APIError"
            parts.put((clock(), BrokenStream(str(error)) if is_reported else error))

    begun_at = said_at = clock()
    Thread(target=read, name="iad-stream", daemon=True).start()
    limit_s, what = limits.first_s, "sign of the first words of an answer"
    try:
        while True:
            until = min(said_at + limit_s, begun_at + limits.whole_s)
            try:
                arrived_at, part = parts.get(timeout=max(0.0, until - clock()))
            except Empty:
                arrived_at, part = math.inf, None
            if isinstance(part, BaseException):
                raise part
            if arrived_at > until:
                is_silent = said_at + limit_s <= begun_at + limits.whole_s
                missed, within_s = (what, limit_s) if is_silent else ("end of the answer", limits.whole_s)
                raise TimeoutError(f"no {missed} within {within_s:g} s")
            if part is end:
                return
            has_words = any(
                choice.delta.content or say_something(getattr(choice.delta, "tool_calls", None))
                for choice in part.choices
            )
            # A part of a reasoning is a sign of life too, and so is what comes after an answer.
            if has_words or part.usage or any(_says_something(choice) for choice in part.choices):
                said_at = arrived_at
            if has_words:
                limit_s, what = limits.silence_s, "sign of another part of an answer"
            yield part
    finally:
        gone.set()
        _close(opened)


def answered(ask: Callable[[], T], limit_s: float) -> T:
    """Return what a function returns, which asks a server in a thread of its own.

    Raises:
        TimeoutError: It took longer. The thread ends with the answer, or with the client's own timeout.
    """
    answers: SimpleQueue[Any] = SimpleQueue()

    def call() -> None:
        try:
            answers.put((ask(), None))
        except BaseException as error:  # raised again by who waits
            answers.put((None, error))

    Thread(target=call, name="iad-answer", daemon=True).start()
    try:
        answer, error = answers.get(timeout=limit_s)
    except Empty:
        raise TimeoutError(f"no end of the answer within {limit_s:g} s") from None
    if error is not None:
        raise error
    return answer  # type: ignore[no-any-return]


def _says_something(choice: Any) -> bool:
    return choice.finish_reason or any(value for name, value in choice.delta if name not in ("role", "tool_calls"))


def _close(opened: Iterable[Any]) -> None:
    for chunks in opened:
        close = getattr(chunks, "close", None)
        if close is not None:
            with suppress(Exception):  # a connection that can't be closed changes nothing about the answer
                close()

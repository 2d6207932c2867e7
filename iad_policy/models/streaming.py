"""Streamed answers: they are put together again, and only silence is a timeout, not a long answer or a slow machine."""

from collections.abc import Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, NamedTuple


class Limits(NamedTuple):
    """How long a server may be silent.

    Attributes:
        first_s: Seconds until the first words, in which it reads the prompt.
        silence_s: Seconds between two parts after them.
    """

    first_s: float
    silence_s: float


class BrokenStream(Exception):
    """The server reported an error in the middle of an answer."""


def collected(chunks: Iterable[Any]) -> Any:
    """Return the response that the chunks of a stream make up, in the form of one that was not streamed.

    None if there are no chunks: the server does not stream.

    Args:
        chunks: Chunks of OpenAI's protocol.
    """
    text: list[str] = []
    refusal: list[str] = []
    tokens: list[Any] = []
    finish_reason = usage = None
    n_chunks = n_choices = 0
    for chunk in chunks:
        n_chunks += 1
        usage = chunk.usage or usage
        for choice in chunk.choices:
            n_choices += 1
            text.append(choice.delta.content or "")
            refusal.append(choice.delta.refusal or "")
            tokens.extend(getattr(choice.logprobs, "content", None) or ())
            finish_reason = choice.finish_reason or finish_reason
    if not n_chunks:
        return None
    fields = {"refusal": "".join(refusal)}
    message = SimpleNamespace(content="".join(text), provider_specific_fields=fields)
    only = SimpleNamespace(message=message, finish_reason=finish_reason, logprobs=SimpleNamespace(content=tokens))
    return SimpleNamespace(choices=[only] if n_choices else [], usage=usage)


def told_apart(chunks: Iterable[Any]) -> Iterator[Any]:
    """Yield chunks. An error that the server reports as one of them has no class of its own in the client.

    Raises:
        BrokenStream: The server reported an error.
    """
    try:
        yield from chunks
    except Exception as error:
        if type(error).__name__ == "APIError":
            raise BrokenStream(str(error)) from error
        raise


def heard(start: Callable[[], Iterable[Any]], limits: Limits) -> Iterator[Any]:
    """Yield the chunks of a stream, which is read in a thread of its own.

    Args:
        start: Function that asks the server and returns the chunks.
        limits: How long the server may be silent.

    Raises:
        TimeoutError: It was silent for longer. The thread ends with the next chunk, or with the client's own timeout.
    """
    parts: SimpleQueue[Any] = SimpleQueue()
    gone, end = Event(), object()

    def read() -> None:
        try:
            for chunk in told_apart(start()):
                parts.put(chunk)
                if gone.is_set():
                    return
            parts.put(end)
        except BaseException as error:  # raised again by who waits
            parts.put(error)

    Thread(target=read, name="iad-stream", daemon=True).start()
    limit_s, has_begun = limits.first_s, False
    try:
        while True:
            try:
                part = parts.get(timeout=limit_s)
            except Empty:
                what = "another part" if has_begun else "the first words"
                raise TimeoutError(f"no sign of {what} of an answer within {limit_s:g} s") from None
            if part is end:
                return
            if isinstance(part, BaseException):
                raise part
            if not has_begun and any(choice.delta.content for choice in part.choices):
                limit_s, has_begun = limits.silence_s, True
            yield part
    finally:
        gone.set()

"""One request to the server: several samples of one prompt, which it reads once and then decodes side by side."""

import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from threading import Condition, Event, Thread
from time import monotonic
from typing import Any

from iad_policy.errors import IADError
from iad_policy.models import Completion
from iad_policy.models.local.process import ServerProcess
from iad_policy.models.tools import CallFragments, answer_text, message_text, reasoning_of, starts_of
from iad_policy.types import Usage

N_TRIES = 3


class TokenRoom:
    """Room for a number of tokens, which running requests share: they fit into the server's key-value cache together.

    Args:
        n_tokens: The size of the key-value cache.
    """

    def __init__(self, n_tokens: int) -> None:
        self._n_tokens = n_tokens
        self._n_taken = 0
        self._n_running = 0
        self._changed = Condition()

    def n_fitting(self, n_prompt: int, n_answer: int) -> int:
        """Return how many answers of a length fit in beside their prompt; one always counts as fitting."""
        return max(1, (self._n_tokens - n_prompt) // n_answer)

    @contextmanager
    def taken(self, n_tokens: int, is_cancelled: Callable[[], bool]) -> Iterator[None]:
        """Wait for room and hold it inside the `with` block. A request that is alone always gets in.

        Args:
            n_tokens: An estimate of the request's tokens.
            is_cancelled: Function that tells whether it need not wait any longer.
        """
        with self._changed:
            while self._n_running and self._n_taken + n_tokens > self._n_tokens and not is_cancelled():
                self._changed.wait(0.2)
            self._n_taken += n_tokens
            self._n_running += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_taken -= n_tokens
                self._n_running -= 1
                self._changed.notify_all()


class GenerationError(Exception):
    """A request failed.

    Attributes:
        kind: Kind of failure, as in `ModelError`.
        n_tries: Number of tries after which to give up.
        wait_s: Seconds to wait before each further try.
    """

    def __init__(self, message: str, *, kind: str, n_tries: int = 1, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.kind = kind
        self.n_tries = n_tries
        self.wait_s = wait_s


class Sample:
    """One answer, which may still be on its way.

    Attributes:
        generation: The request that it belongs to.
        text: The parts of its text so far.
        reasoning: The parts of its reasoning so far, if the server returns it apart.
        calls: Its calls so far, if the server returns them apart.
        tokens: Its tokens so far, with their log-probabilities, if these were requested.
        finish_reason: Why it ended.
    """

    generation: "Generation"

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls = CallFragments()
        self.tokens: list[Mapping[str, Any]] = []
        self.finish_reason = ""
        self._is_done = Event()
        self._result: Completion | BaseException | None = None

    @property
    def is_failed(self) -> bool:
        """Whether it ended with an error."""
        return isinstance(self._result, BaseException)

    def wait(self, seconds: float) -> bool:
        """Wait for its end, and return whether it has ended."""
        return self._is_done.wait(seconds)

    def result(self) -> Completion:
        """Return the answer, or raise its error."""
        if isinstance(self._result, Completion):
            return self._result
        assert self._result is not None
        raise self._result

    def end(self, result: Completion | BaseException) -> None:
        """Set the answer or the error. The first one counts."""
        if self._result is None:
            self._result = result
            self._is_done.set()


class Generation:
    """Asks the server in a thread of its own, so that who waits can stop waiting.

    Args:
        body: The request, without its number of samples. Sample k gets the seed plus k.
        samples: The samples to fill.
        server: Function that returns the running server.
        room: Room on the server.
    """

    def __init__(
        self, body: Mapping[str, Any], samples: Sequence[Sample], server: Callable[[], ServerProcess], room: TokenRoom
    ) -> None:
        self._body = {
            **body,
            "n": len(samples),
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
        }
        self._samples = samples
        self._find_server = server
        self._room = room
        n_prompt, n_answer = n_tokens(body)
        self._n_tokens = n_prompt + len(samples) * n_answer
        self._is_waiting = True
        self._is_cancelled = False
        self._server: ServerProcess | None = None
        self._connection: HTTPConnection | None = None
        self._started_at = monotonic()
        self._last = 0
        self._n_cached = 0
        for sample in samples:
            sample.generation = self

    def start(self) -> None:
        """Begin in a thread."""
        Thread(target=self._run, name="iad-local-model", daemon=True).start()

    def cancel(self, error: BaseException) -> None:
        """End all samples with an error, and stop the server's work on them."""
        self._is_cancelled = True
        self._fail(error)
        connection = self._connection
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads

    def silent_s(self) -> float:
        """Return the seconds since the server last sent something, to this request or to another one.

        While this one waits for room, others are heard.
        """
        if self._is_waiting:
            return 0.0
        heard_at = self._started_at if self._server is None else self._server.heard_at
        return monotonic() - max(heard_at, self._started_at)

    def _run(self) -> None:
        try:
            with self._room.taken(self._n_tokens, lambda: self._is_cancelled):
                self._started_at, self._is_waiting = monotonic(), False
                if self._is_cancelled:
                    return
                self._server = self._find_server()
                for event in self._events(self._server):
                    self._take(event)
                raise GenerationError(self._gone("the end of its answer"), kind="server", n_tries=N_TRIES)
        except (OSError, HTTPException) as error:
            self._fail(GenerationError(self._gone(repr(error)), kind="server", n_tries=N_TRIES))
        except (GenerationError, IADError) as error:
            self._fail(error)
        except Exception as error:  # an answer of another form; who waits must not wait for ever
            self._fail(GenerationError(f"expected an answer of llama.cpp's server, got {error!r}", kind="malformed"))
        finally:
            if self._connection is not None:
                self._connection.close()

    def _fail(self, error: BaseException) -> None:
        for sample in self._samples:
            sample.end(error)

    def _gone(self, reason: str) -> str:
        words = (
            "" if self._server is None or self._server.is_alive else f"; its last words: {self._server.last_words()}"
        )
        return f"expected an answer of the local model's server, got: {reason}{words}; ask again to start another one"

    def _events(self, server: ServerProcess) -> Iterator[Mapping[str, Any]]:
        """Ask, and yield the server's events. A comment only tells that the server lives."""
        connection = self._connection = HTTPConnection(server.host, server.port)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.key}"}
        try:
            connection.connect()
        except ConnectionRefusedError:
            server.has_refused = True
            raise
        connection.request("POST", "/v1/chat/completions", json.dumps(self._body), headers)
        response = connection.getresponse()
        if response.status != 200:
            raise _refusal(json.loads(response.read()).get("error", {}))
        for line in response:
            server.heard_at = monotonic()
            field, _, value = line.decode().strip().partition(": ")
            if field == "error":
                raise _refusal(json.loads(value))
            if field == "data" and value != "[DONE]":
                yield json.loads(value)

    def _take(self, event: Mapping[str, Any]) -> None:
        if "error" in event:
            raise _refusal(event["error"])
        # Only the first sample's state is read; the server says of the others that nothing was cached.
        if "prompt_progress" in event and event["choices"][0]["index"] == 0:
            self._n_cached = int(event["prompt_progress"]["cache"])
        for choice in event["choices"]:
            sample = self._samples[choice["index"]]
            sample.text.append(choice["delta"].get("content") or "")
            sample.reasoning.append(reasoning_of(choice["delta"]))
            sample.calls.add(choice["delta"].get("tool_calls"))
            sample.tokens.extend((choice.get("logprobs") or {}).get("content") or ())
            if choice["finish_reason"]:
                sample.finish_reason = choice["finish_reason"]
                self._last = choice["index"]
        if "usage" in event:  # comes right after the end of a sample
            self._samples[self._last].end(self._completion(self._last, event["usage"]))

    def _completion(self, place: int, counts: Mapping[str, Any]) -> Completion:
        sample = self._samples[place]
        text = answer_text("".join(sample.text), sample.calls.calls, "".join(sample.reasoning))
        tokens = sample.tokens
        return Completion(
            text,
            Usage(prompt_tokens=int(counts["prompt_tokens"]), completion_tokens=int(counts["completion_tokens"])),
            tuple(float(token["logprob"]) for token in tokens) or None,
            sample.finish_reason,
            starts_of([bytes(token["bytes"]) for token in tokens], text),
            "model" if tokens else "",  # llama.cpp computes them before temperature and truncation
            self._n_cached,
        )


def n_tokens(body: Mapping[str, Any]) -> tuple[int, int]:
    """Return estimates, rather too high, of the tokens of a request's prompt and of an answer to it."""
    n_chars = sum(len(message_text(message)) for message in body["messages"])
    n_chars += sum(len(json.dumps(tool)) for tool in body.get("tools", ()))
    # Three characters per token; an answer without a limit may be long.
    return n_chars // 3, int(body.get("max_tokens", 1024))


def _refusal(error: Mapping[str, Any]) -> GenerationError:
    if error.get("type") == "exceed_context_size_error":
        return GenerationError(
            f"expected a prompt that fits in a context of {error['n_ctx']} tokens, got {error['n_prompt_tokens']} "
            "tokens; set a larger one (IAD_LOCAL_CONTEXT), or shorten the prompt",
            kind="context",
        )
    said = error.get("message", error)
    if said == "Context size has been exceeded.":
        # The requests that it runs don't fit into its key-value cache together. Only those of other processes can fill
        # it, as ours wait for room.
        return GenerationError(
            f"expected room for the prompt and its answer in the local model's context, got: {said}; set a larger one "
            "(IAD_LOCAL_CONTEXT), or end other runs that use it",
            kind="server",
            n_tries=30,
            wait_s=2.0,
        )
    code = int(error.get("code", 500))
    return GenerationError(
        f"expected an answer of the local model's server, got: {said}; fix what it says",
        kind="server" if code >= 500 else "other",
        n_tries=N_TRIES if code >= 500 else 1,
    )

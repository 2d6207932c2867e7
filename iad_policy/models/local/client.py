"""A model on this machine as a client. Its server is started with the first question."""

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple

from iad_policy.errors import Interrupted, ModelError
from iad_policy.models import TIMEOUT_VARIABLE, Completion, Messages, question_of
from iad_policy.models.local.files import ModelFile
from iad_policy.models.local.generation import N_TRIES, Generation, GenerationError, Sample, TokenRoom, n_tokens
from iad_policy.models.local.machine import free_bytes, n_cores
from iad_policy.models.local.process import ServerProcess
from iad_policy.models.tools import refuse_without_place, sent_messages, template_options, tools_of
from iad_policy.types.call_context import Call, current_call, pause
from iad_policy.types.hashing import seed_of

CONTEXT_VARIABLE = "IAD_LOCAL_CONTEXT"
"""Variable with the size of the key-value cache in tokens."""
THREADS_VARIABLE = "IAD_LOCAL_THREADS"
"""Variable with the number of threads."""
N_PARALLEL = 8
"""Maximum number of answers that are decoded side by side."""


class SeededQuestion(NamedTuple):
    """A question to the model.

    Attributes:
        id: Digest of everything that the model is asked.
        body: The request, without its seed.
        seed: Seed of its first sample. Each further one has the next number.
    """

    id: str
    body: Mapping[str, Any]
    seed: int


class LocalModel:
    """A model in a GGUF file, served by llama.cpp.

    The samples of a question that are asked together are drawn by one request, so the prompt is read once. The seed of
    a sample follows from the question, the task and the run's seed, and grows by one from sample to sample. Outside of
    a run, equal questions get equal answers.

    Args:
        file: The model's file.
        top_p: Nucleus sampling; 1 keeps all tokens.
        top_k: Number of likeliest tokens that are kept; 0 keeps all.
        min_p: Least probability of a token that is kept, as a share of the likeliest one's.
        logprobs: Whether to return the log-probabilities of the answer's tokens, before temperature and truncation.
        thinking: Whether the model thinks before it answers, if its chat template has the option `enable_thinking`.
            None leaves it to the template.
        n_context: Size of the key-value cache in tokens, which is also the limit of a prompt with its answer, unless
            the model was trained for fewer.
        n_threads: Threads. By default it is the number of cores that this process may use.
        timeout_s: Longest silence of the server. While it reads a prompt it is not silent.
        serve: Function that starts a server with the options of `server.py`.
        free: Function that returns the free memory in bytes, or None if it is not known.
    """

    def __init__(
        self,
        file: ModelFile,
        *,
        top_p: float = 1.0,
        top_k: int = 0,
        min_p: float = 0.0,
        logprobs: bool = False,
        thinking: bool | None = None,
        n_context: int = 16_384,
        n_threads: int | None = None,
        timeout_s: float = 120.0,
        serve: Callable[[Mapping[str, Any]], ServerProcess] = ServerProcess,
        free: Callable[[], int | None] = free_bytes,
    ) -> None:
        self.name = f"local:{file.name}"
        self._file = file
        self._sampling = {"top_p": top_p, "top_k": top_k, "min_p": min_p}
        self._logprobs = logprobs
        self._thinking = thinking
        self._n_context = n_context
        self._n_threads = n_threads or n_cores()
        self._timeout_s = timeout_s
        self._serve = serve
        self._free = free
        self._room = TokenRoom(n_context)
        self._samples: dict[tuple[str, int], Sample] = {}
        self._server: ServerProcess | None = None
        self._starting = Lock()
        self._n_waiting = 0
        self._lock = Lock()

    @property
    def settings(self) -> Mapping[str, Any]:
        """The file's hash, the context and the sampling parameters."""
        return {
            "sha256": self._file.sha256,
            "n_context": self._n_context,
            **self._sampling,
            "logprobs": self._logprobs or None,
            **({} if self._thinking is None else {"thinking": self._thinking}),
        }

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer. See `LanguageModel.complete`.

        Raises:
            ModelError: The model could not answer, or its chat template has no place for the prompt's tools.
        """
        if tools_of(messages):
            refuse_without_place(self._file.gguf.chat_templates, self.name)
        call = current_call()
        id = question_of(self, messages, temperature, max_tokens)
        with call.drawing(id) as draw:
            is_greedy = temperature == 0
            seed = 0 if is_greedy else seed_of(call.stream, id, draw) % 2**31
            question = SeededQuestion(id, self._body(messages, temperature, max_tokens), seed)
            index = 0 if is_greedy else call.sample_index
            # Siblings ask the same at first. What they ask next follows from their answers.
            is_first = draw == 0 and len(call.n_requests) == 1
            siblings = call.siblings.copy() if is_first and not is_greedy else set()
            with self._waiting():
                answer = self._answer(question, index, siblings, call)
        call.siblings.discard(call.sample_index)
        call.report(answer.usage)
        return answer

    def release(self) -> None:
        """End the server, unless someone waits for an answer. The next question starts another one."""
        with self._starting:
            if self._n_waiting == 0 and self._server is not None:
                self._server.end()
                self._server = None

    def _answer(self, question: SeededQuestion, index: int, siblings: Set[int], call: Call) -> Completion:
        n_tries = 1
        while True:
            sample = self._sample(question, index, siblings if n_tries == 1 else set())
            try:
                return self._awaited(sample, call)
            except GenerationError as error:
                if n_tries >= error.n_tries:
                    tries = "" if n_tries == 1 else f" ({n_tries} tries)"
                    raise ModelError(f"{error}{tries}", kind=error.kind) from error
                wait_s = error.wait_s
            finally:
                with self._lock:  # who asks again gets another sample
                    if self._samples.get((question.id, question.seed + index)) is sample:
                        del self._samples[question.id, question.seed + index]
            if wait_s:
                pause(wait_s)
            n_tries += 1

    def _sample(self, question: SeededQuestion, index: int, siblings: Set[int]) -> Sample:
        """Return a sample, which may be under way. A new one is asked for together with its siblings."""
        n_most = min(N_PARALLEL, self._room.n_fitting(*n_tokens(question.body)))
        with self._lock:
            known = self._samples.get((question.id, question.seed + index))
            if known is not None and not known.is_failed:
                return known

            def is_wanted(place: int) -> bool:
                return place in siblings and (question.id, question.seed + place) not in self._samples

            first, last = index, index
            while is_wanted(last + 1) and last - first + 1 < n_most:
                last += 1
            while is_wanted(first - 1) and last - first + 1 < n_most:
                first -= 1
            samples = {place: Sample() for place in range(first, last + 1)}
            for place, sample in samples.items():
                self._samples[question.id, question.seed + place] = sample
            while len(self._samples) > 256:  # siblings that were never asked for
                del self._samples[next(iter(self._samples))]
        request = {**question.body, "seed": question.seed + first}
        Generation(request, list(samples.values()), self._running, self._room).start()
        return samples[index]

    def _body(self, messages: Messages, temperature: float | None, max_tokens: int | None) -> dict[str, Any]:
        template = template_options(self._thinking)
        optional = {
            "temperature": temperature,
            "max_tokens": max_tokens,
            "tools": tools_of(messages) or None,
            "chat_template_kwargs": template or None,
        }
        return {
            "messages": sent_messages(messages),
            **{key: value for key, value in optional.items() if value is not None},
            **self._sampling,
            # Its name in llama.cpp: OpenAI's `logprobs` is refused for a stream with tools.
            **({"n_probs": 1} if self._logprobs else {}),
        }

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Count who waits for an answer."""
        with self._lock:
            self._n_waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_waiting -= 1

    def _awaited(self, sample: Sample, call: Call) -> Completion:
        while not sample.wait(0.2):
            try:
                call.refuse_if_stopped()
            except Interrupted:  # another run that waits for the same answer asks again
                sample.generation.cancel(GenerationError("stopped", kind="connection", n_tries=N_TRIES))
                raise
            if sample.generation.silent_s() > self._timeout_s:
                sample.generation.cancel(
                    GenerationError(
                        f"expected a sign of life from {self.name} within {self._timeout_s:g} s, got none; give it "
                        f"more time ({TIMEOUT_VARIABLE}=600), or take a smaller model",
                        kind="timeout",
                    )
                )
        return sample.result()

    def _running(self) -> ServerProcess:
        """Return the server, after starting it if there is none.

        Raises:
            ModelError: It can't be started.
        """
        with self._starting:
            if self._server is not None and not self._server.is_alive:
                self._server.end()
                self._server = None
            if self._server is None:
                self._server = self._serve(self.server_options())
            return self._server

    def server_options(self) -> dict[str, Any]:
        """Return what a server of the model is started with.

        Raises:
            ModelError: There is not enough memory for it.
        """
        self._refuse_without_memory()
        return {
            "path": str(self._file.path.resolve()),
            "sha256": self._file.sha256,
            "n_context": self._n_context,
            "n_parallel": N_PARALLEL,
            "n_batch": 512,  # prompt tokens between two signs of life
            "n_threads": self._n_threads,
            "cache_mib": 512,  # for prompts that are not in use, in addition to the key-value cache
        }

    def _refuse_without_memory(self) -> None:
        weights = self._file.path.stat().st_size
        # llama.cpp takes some memory besides weights and key-value cache.
        needed = weights + self._n_context * self._file.gguf.kv_bytes_per_token + (300 << 20)
        free = self._free()
        if free is not None and needed > free:
            raise ModelError(
                f"expected {needed / 1e9:.1f} GB of free memory for {self.name} with a context of {self._n_context} "
                f"tokens, got {free / 1e9:.1f} GB; take a smaller model or context ({CONTEXT_VARIABLE}=4096), or end "
                "other programs",
                kind="not_found",
            )

"""A model on this machine as a client. Its server is started with the first question."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from iad_policy.errors import Interrupted, ModelError
from iad_policy.hashing import seed_of
from iad_policy.models import TIMEOUT_VARIABLE, Completion, Messages, question_of
from iad_policy.models.call_context import Call, current_call
from iad_policy.models.local.files import ModelFile
from iad_policy.models.local.generation import Generation, GenerationError, Sample, n_tokens
from iad_policy.models.local.machine import free_bytes, n_cores
from iad_policy.models.local.process import ServerProcess
from iad_policy.models.local.room import TokenRoom

TIMEOUT_S = 120.0
LOOK_UP_S = 0.2
"""Interval in which a waiting thread checks whether the run was stopped."""
CONTEXT = 16_384
CONTEXT_VARIABLE = "IAD_LOCAL_CONTEXT"
"""Variable with the size of the key-value cache in tokens."""
THREADS_VARIABLE = "IAD_LOCAL_THREADS"
"""Variable with the number of threads."""
N_PARALLEL = 8
"""Maximum number of answers that are decoded side by side."""
N_BATCH = 512
"""Prompt tokens between two signs of life."""
CACHE_MIB = 512
"""Memory for prompts that are not in use, in addition to the key-value cache."""
OVERHEAD_BYTES = 300 << 20
"""Memory of llama.cpp besides weights and key-value cache."""
N_TRIES = 3
SEED_BITS = 31
MAX_SAMPLES_KEPT = 256


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
        n_context: Size of the key-value cache in tokens, which is also the limit of a prompt with its answer, unless
            the model was trained for fewer.
        n_threads: Threads. By default it is the number of cores that this process may use.
        timeout_s: Longest silence of the server. While it reads a prompt it is not silent.
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
        n_context: int = CONTEXT,
        n_threads: int | None = None,
        timeout_s: float = TIMEOUT_S,
        free: Callable[[], int | None] = free_bytes,
    ) -> None:
        self.name = f"local:{file.name}"
        self._file = file
        self._sampling = {"top_p": top_p, "top_k": top_k, "min_p": min_p}
        self._logprobs = logprobs
        self._n_context = n_context
        self._n_threads = n_threads or n_cores()
        self._timeout_s = timeout_s
        self._free = free
        self._room = TokenRoom(n_context)
        self._server: ServerProcess | None = None
        self._starting = Lock()
        self._samples: dict[tuple[str, int], Sample] = {}
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
        }

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer. See `LanguageModel.complete`.

        Raises:
            ModelError: The model could not answer.
        """
        call = current_call()
        question = question_of(self, messages, temperature, max_tokens)
        with call.drawing(question) as draw:
            is_greedy = temperature == 0
            seed = 0 if is_greedy else seed_of(call.stream, question, draw) % 2**SEED_BITS
            index, siblings = (0, ()) if is_greedy else (call.sample_index, call.siblings)
            body = self._body(messages, temperature, max_tokens)
            with self._counted():
                for n_tries in range(1, N_TRIES + 1):
                    sample = self._sample(question, body, seed, index, siblings)
                    try:
                        answer = self._awaited(sample, call)
                    except GenerationError as error:
                        if not error.is_temporary or n_tries == N_TRIES:
                            tries = "" if n_tries == 1 else f" ({n_tries} tries)"
                            raise ModelError(f"{error}{tries}", kind=error.kind) from error
                        siblings = ()
                    else:
                        break
                    finally:
                        self._forget(question, seed + index, sample)
        call.report(answer.usage)
        return answer

    def release(self) -> None:
        """End the server, unless someone waits for an answer. The next question starts another one."""
        with self._starting:
            if self._n_waiting == 0 and self._server is not None:
                self._server.end()
                self._server = None

    def _body(self, messages: Messages, temperature: float | None, max_tokens: int | None) -> dict[str, Any]:
        optional = {"temperature": temperature, "max_tokens": max_tokens}
        return {
            "messages": [dict(message) for message in messages],
            **{key: value for key, value in optional.items() if value is not None},
            **self._sampling,
            **({"logprobs": True, "top_logprobs": 1} if self._logprobs else {}),
        }

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count who waits for an answer."""
        with self._lock:
            self._n_waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_waiting -= 1

    def _sample(self, question: str, body: Mapping[str, Any], seed: int, index: int, siblings: Sequence[int]) -> Sample:
        """Return a sample, which may be under way. A new one is asked for together with those of its siblings."""
        with self._lock:
            known = self._samples.get((question, seed + index))
            if known is not None and not known.is_failed:
                return known
            n_most = min(N_PARALLEL, self._room.n_fitting(*n_tokens(body)))
            together = self._together(question, seed, index, siblings, n_most)
            samples = {place: Sample() for place in together}
            for place, sample in samples.items():
                self._samples[question, seed + place] = sample
            while len(self._samples) > MAX_SAMPLES_KEPT:  # siblings that were never asked for
                del self._samples[next(iter(self._samples))]
        request = {**body, "seed": seed + together[0]}
        Generation(request, list(samples.values()), self._running, self._room).start()
        return samples[index]

    def _together(self, question: str, seed: int, index: int, siblings: Sequence[int], n_most: int) -> range:
        """Return the indices around one that its siblings ask for too, as far as they are not under way."""

        def is_wanted(place: int) -> bool:
            return place in siblings and (question, seed + place) not in self._samples

        first, last = index, index
        while is_wanted(last + 1) and last - first + 1 < n_most:
            last += 1
        while is_wanted(first - 1) and last - first + 1 < n_most:
            first -= 1
        return range(first, last + 1)

    def _forget(self, question: str, seed: int, sample: Sample) -> None:
        """Keep no sample that was taken: who asks again gets another one."""
        with self._lock:
            if self._samples.get((question, seed)) is sample:
                del self._samples[question, seed]

    def _awaited(self, sample: Sample, call: Call) -> Completion:
        while not sample.wait(LOOK_UP_S):
            try:
                call.refuse_if_stopped()
            except Interrupted:  # another run that waits for the same answer asks again
                sample.generation.cancel(GenerationError("stopped", kind="connection", is_temporary=True))
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
                self._refuse_without_memory()
                self._server = ServerProcess(
                    {
                        "path": str(self._file.path.resolve()),
                        "sha256": self._file.sha256,
                        "n_context": self._n_context,
                        "n_parallel": N_PARALLEL,
                        "n_batch": N_BATCH,
                        "n_threads": self._n_threads,
                        "cache_mib": CACHE_MIB,
                    }
                )
            return self._server

    def _refuse_without_memory(self) -> None:
        size = self._file.path.stat().st_size
        needed = size + self._n_context * self._file.gguf.kv_bytes_per_token + OVERHEAD_BYTES
        free = self._free()
        if free is not None and needed > free:
            raise ModelError(
                f"expected {needed / 1e9:.1f} GB of free memory for {self.name} with a context of {self._n_context} "
                f"tokens, got {free / 1e9:.1f} GB; take a smaller model or context ({CONTEXT_VARIABLE}=4096), or end "
                "other programs",
                kind="not_found",
            )

"""A model on this machine as a client, which shares its server among all threads of a process."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from iad_policy.errors import Interrupted, ModelError
from iad_policy.hashing import seed_of
from iad_policy.models import TIMEOUT_VARIABLE, Completion, Messages, question_of
from iad_policy.models.call_context import Call, current_call
from iad_policy.models.local.files import ModelFile
from iad_policy.models.local.generation import Generation, GenerationError, Sample
from iad_policy.models.local.machine import free_bytes, n_cores
from iad_policy.models.local.process import ServerProcess

TIMEOUT_S = 120.0
LOOK_UP_S = 0.2
"""Interval in which a waiting thread checks whether the run was stopped."""
MAX_CONTEXT = 16_384
N_PARALLEL = 8
N_BATCH = 512
CACHE_MIB = 512
OVERHEAD_BYTES = 300 << 20
"""Memory of llama.cpp beside weights and contexts, and of its Python."""
N_TRIES = 3
SEED_BITS = 31
MAX_SAMPLES_KEPT = 256


class LocalModel:
    """A model in a GGUF file.

    Args:
        file: The model's file.
        top_p: Nucleus sampling; 1 keeps all tokens.
        top_k: Number of likeliest tokens to sample from; 0 keeps all.
        min_p: Least probability of a token, as a share of the likeliest one's.
        logprobs: Whether to return the log-probabilities of the answer's tokens.
        n_context: Tokens of all prompts and answers that are held at once. By default it is what the model was trained
            for, at most 16384.
        n_threads: Threads. By default it is the number of cores that this process may use.
        timeout_s: Longest silence of the server. Reading a prompt is no silence.
    """

    logprob_kind = "full vocabulary, before temperature and truncation"

    def __init__(
        self,
        file: ModelFile,
        *,
        top_p: float = 1.0,
        top_k: int = 0,
        min_p: float = 0.0,
        logprobs: bool = False,
        n_context: int | None = None,
        n_threads: int | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.name = f"local:{file.name}"
        self._file = file
        self._sampling = {"top_p": top_p, "top_k": top_k, "min_p": min_p}
        self._logprobs = logprobs
        self._n_context = n_context or min(file.gguf.context_length or MAX_CONTEXT, MAX_CONTEXT)
        self._n_threads = n_threads
        self._timeout_s = timeout_s
        self._lock = Lock()
        self._starting = Lock()
        self._server: ServerProcess | None = None
        self._samples: dict[tuple[str, int], Sample] = {}

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
        """Return the answer. Its seed follows from the question, the task, the run's seed and the sample index.

        Raises:
            ModelError: The model could not answer.
        """
        call = current_call()
        question = question_of(self, messages, temperature, max_tokens)
        with call.drawing(question) as draw:
            seed = 0 if temperature == 0 else seed_of(call.stream, question, draw) % 2**SEED_BITS
        body = self._body(messages, temperature, max_tokens)
        siblings = () if temperature == 0 else call.siblings
        index = 0 if temperature == 0 else call.sample_index
        n_tries = 0
        while True:
            n_tries += 1
            sample = self._sample(question, body, seed, index, siblings)
            try:
                answer = self._awaited(sample, call)
            except GenerationError as error:
                if not error.is_temporary or n_tries == N_TRIES:
                    tries = f" ({n_tries} tries)" if n_tries > 1 else ""
                    raise ModelError(f"{error}{tries}", kind=error.kind) from error
            else:
                call.report(answer.usage)
                return answer
            finally:
                self._forget(question, seed + index, sample)

    def close(self) -> None:
        """End the server. The next question starts another one."""
        with self._starting:
            server, self._server = self._server, None
        if server is not None:
            server.end()

    def _body(self, messages: Messages, temperature: float | None, max_tokens: int | None) -> dict[str, Any]:
        optional = {"temperature": temperature, "max_tokens": max_tokens}
        return {
            "messages": [dict(message) for message in messages],
            **{key: value for key, value in optional.items() if value is not None},
            **self._sampling,
            **({"logprobs": True, "top_logprobs": 1} if self._logprobs else {}),
        }

    def _sample(self, question: str, body: Mapping[str, Any], seed: int, index: int, siblings: Sequence[int]) -> Sample:
        """Return a sample, which may be under way. A new one is asked for together with those of its siblings."""
        with self._lock:
            known = self._samples.get((question, seed + index))
            if known is not None and not known.is_failed:
                return known
            together = self._together(question, seed, index, siblings)
            samples = {place: Sample() for place in together}
            for place, sample in samples.items():
                self._samples[question, seed + place] = sample
            while len(self._samples) > MAX_SAMPLES_KEPT:
                del self._samples[next(iter(self._samples))]
        Generation({**body, "seed": seed + together[0]}, list(samples.values()), self._running).start()
        return samples[index]

    def _together(self, question: str, seed: int, index: int, siblings: Sequence[int]) -> range:
        """Return the indices around one that its siblings ask for too, as far as they are not under way."""

        def is_wanted(place: int) -> bool:
            return place in siblings and (question, seed + place) not in self._samples

        first, last = index, index
        while is_wanted(last + 1) and last - first + 1 < N_PARALLEL:
            last += 1
        while is_wanted(first - 1) and last - first + 1 < N_PARALLEL:
            first -= 1
        return range(first, last + 1)

    def _forget(self, question: str, seed: int, sample: Sample) -> None:
        """Keep no sample that was taken: who asks again wants another answer."""
        with self._lock:
            if self._samples.get((question, seed)) is sample:
                del self._samples[question, seed]

    def _awaited(self, sample: Sample, call: Call) -> Completion:
        while not sample.wait(LOOK_UP_S):
            generation = sample.generation
            try:
                call.refuse_if_stopped()
            except Interrupted as stopped:
                generation.cancel(stopped)
                raise
            if generation.silent_s() > self._timeout_s:
                generation.cancel(
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
            if self._server is None or not self._server.is_alive:
                if self._server is not None:
                    self._server.end()
                self._refuse_without_memory()
                self._server = ServerProcess(
                    {
                        "path": str(self._file.path.resolve()),
                        "sha256": self._file.sha256,
                        "n_context": self._n_context,
                        "n_parallel": N_PARALLEL,
                        "n_batch": N_BATCH,
                        "n_threads": self._n_threads or n_cores(),
                        "cache_mib": CACHE_MIB,
                    }
                )
            return self._server

    def _refuse_without_memory(self) -> None:
        size = self._file.path.stat().st_size
        needed = size + self._n_context * self._file.gguf.kv_bytes_per_token + OVERHEAD_BYTES
        free = free_bytes()
        if free is not None and needed > free:
            raise ModelError(
                f"expected {needed / 1e9:.1f} GB of free memory for {self.name} with a context of {self._n_context} "
                f"tokens, got {free / 1e9:.1f} GB; end other programs, or take a smaller model",
                kind="not_found",
            )

"""Draws the samples of a question: those that are asked together in one request, and none of them twice."""

from collections.abc import Callable, Mapping, Set
from threading import Lock
from typing import Any, NamedTuple

from iad_policy.models.local.generation import Generation, Sample, n_tokens
from iad_policy.models.local.process import ServerProcess
from iad_policy.models.local.room import TokenRoom

N_PARALLEL = 8
"""Maximum number of answers that are decoded side by side."""
MAX_KEPT = 256


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


class Drawing:
    """Samples that are under way, and samples that nobody has taken yet.

    Args:
        server: Function that returns the running server.
        room: Room on the server.
    """

    def __init__(self, server: Callable[[], ServerProcess], room: TokenRoom) -> None:
        self._server = server
        self._room = room
        self._samples: dict[tuple[str, int], Sample] = {}
        self._lock = Lock()

    def sample(self, question: SeededQuestion, index: int, siblings: Set[int]) -> Sample:
        """Return a sample, which may be under way. A new one is asked for together with its siblings.

        Args:
            question: The question.
            index: The sample's index.
            siblings: Indices of the samples that are wanted too.
        """
        n_most = min(N_PARALLEL, self._room.n_fitting(*n_tokens(question.body)))
        with self._lock:
            known = self._samples.get((question.id, question.seed + index))
            if known is not None and not known.is_failed:
                return known
            together = self._together(question, index, siblings, n_most)
            samples = {place: Sample() for place in together}
            for place, sample in samples.items():
                self._samples[question.id, question.seed + place] = sample
            while len(self._samples) > MAX_KEPT:  # siblings that were never asked for
                del self._samples[next(iter(self._samples))]
        request = {**question.body, "seed": question.seed + together[0]}
        Generation(request, list(samples.values()), self._server, self._room).start()
        return samples[index]

    def forget(self, question: SeededQuestion, index: int, sample: Sample) -> None:
        """Drop a sample that was taken: who asks again gets another one."""
        with self._lock:
            if self._samples.get((question.id, question.seed + index)) is sample:
                del self._samples[question.id, question.seed + index]

    def _together(self, question: SeededQuestion, index: int, siblings: Set[int], n_most: int) -> range:
        """Return the indices around one that are wanted too, as far as they are not under way."""

        def is_wanted(place: int) -> bool:
            return place in siblings and (question.id, question.seed + place) not in self._samples

        first, last = index, index
        while is_wanted(last + 1) and last - first + 1 < n_most:
            last += 1
        while is_wanted(first - 1) and last - first + 1 < n_most:
            first -= 1
        return range(first, last + 1)

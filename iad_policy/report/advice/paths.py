"""What a decision would have come to, had it made a pilot's proposals in this order or that one.

Samples are independent, so they may come in any order. Refinements follow the first sample, which they were made after.
Judged together after each proposal, as `adaptive` asks for it, attempts show the incumbent that it would have had.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Protocol

N_ORDERS = 4
"""Orders of a task's samples with its refinements, and as many without, in which another sample comes first."""


class PlacedAttempt(Protocol):
    """What a path needs to know of an attempt. See `PilotAttempt`."""

    @property
    def is_right(self) -> bool:
        """Whether the episode would succeed with it."""

    @property
    def is_told(self) -> bool:
        """Whether it was made with feedback."""


Judge = Callable[[Sequence[Any]], Iterable[float]]
"""Function from attempts to the verifier's scores of all of them together: -inf for one that is no action."""

PilotPath = Mapping[tuple[int, int], tuple[float, bool]]
"""A task's attempts in one order: numbers of samples and of refinements -> the incumbent's score, and whether it is
right."""


def paths_of(
    samples: Sequence[PlacedAttempt], chain: Sequence[PlacedAttempt], judge: Judge, *, name: str = ""
) -> Iterator[PilotPath]:
    """Yield a task's attempts in several orders.

    Args:
        samples: Independent attempts, at least one.
        chain: A sample and its refinements; empty for none. The sample stands for the first of `samples`, which is the
            same one where strategies share their samples.
        judge: The verifier.
        name: What the orders are drawn by.
    """
    first, others = (chain or samples)[0], samples[1:]
    refinements = [one for one in chain[1:] if one.is_told]
    every = [first, *others, *refinements]
    known: dict[frozenset[int], dict[int, float]] = {}

    def incumbent(places: Sequence[int]) -> tuple[float, bool]:
        """Return its score, and whether it is right: the first of the best-scored."""
        given = frozenset(places)
        if given not in known:
            scores = judge([every[place] for place in places])
            known[given] = {at: -math.inf if math.isnan(own) else own for at, own in zip(places, scores, strict=True)}
        best = max(places, key=known[given].__getitem__)
        return known[given][best], every[best].is_right

    def path(order: Sequence[int], n_refined: int) -> PilotPath:
        return {
            (n_sampled, n_told): incumbent([*order[:n_sampled], *range(len(samples), len(samples) + n_told)])
            for n_sampled in range(1, len(order) + 1)
            for n_told in range(n_refined + 1)
        }

    rng, orders = Random(name), set[tuple[int, ...]]()
    for _ in range(N_ORDERS):
        rest = list(range(1, len(samples)))
        rng.shuffle(rest)
        orders.add((0, *rest))
    for order in sorted(orders):
        yield path(order, len(refinements))
    for place in range(1, min(len(samples), N_ORDERS + 1)):
        rest = [other for other in range(len(samples)) if other != place]
        rng.shuffle(rest)
        yield path((place, *rest), 0)

"""Seeded drawing that gives the same values in every Python version."""

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Draws from a stream named by its key; only `Random.random` is promised to stay the same."""

    def __init__(self, *key: object) -> None:
        self._random = random.Random(":".join(map(str, key))).random

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return self._random() < share

    def between(self, low: float, high: float) -> float:
        """A real number from low to high."""
        return low + (high - low) * self._random()

    def integer(self, bounds: tuple[int, int]) -> int:
        """A whole number within the bounds, both included."""
        return bounds[0] + int(self._random() * (bounds[1] - bounds[0] + 1))

    def one(self, values: Sequence[T]) -> T:
        """One of the values."""
        return values[int(self._random() * len(values))]

    def some(self, values: Sequence[T], n: int) -> list[T]:
        """Up to n different values, in drawn order."""
        pool = list(values)
        return [pool.pop(int(self._random() * len(pool))) for _ in range(min(n, len(pool)))]

    def weighted(self, weights: Mapping[str, float]) -> str:
        """One of the keys; the weights sum to 1."""
        left = self._random()
        for name, weight in weights.items():
            left -= weight
            if left < 0:
                return name
        return name

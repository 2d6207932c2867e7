"""How hard random tests try."""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")


def times(n: int) -> int:
    """Return a number of tries: n in `make test-full`, whose profile has ten times as many examples, else a tenth."""
    return max(1, n * settings.default.max_examples // 100)


def some(values: Sequence[T], every: int, first: int = 0) -> Sequence[T]:
    """Return all values in `make test-full`, else every `every`-th one, from the place `first` on."""
    return values if settings.default.max_examples >= 100 else values[first::every]

"""A stream cut into lists."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

__all__ = ["batches"]

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of so many items, the last one shorter."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch

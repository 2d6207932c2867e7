"""Splits a stream into lists."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

__all__ = ["batches"]

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` items. The last list may be shorter."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch

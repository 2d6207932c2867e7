"""Sorted texts in two flat arrays, which can be memory-mapped files."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["SortedTexts"]


class SortedTexts(Sequence[str]):
    """A sorted list of texts, with a binary search for the number of a text.

    Args:
        content: UTF-8 bytes of all texts, concatenated, uint8. The texts are distinct and ascending.
        ends: End of each text in `content`, int64.
    """

    def __init__(self, content: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self.content = content
        self.ends = ends
        self._bytes = _Bytes(content.data, ends.data)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "SortedTexts":
        """Put texts in ascending order into arrays."""
        encoded = [_encoded(text) for text in texts]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[place] for place in range(len(self))[number]]
        return self._bytes[range(len(self))[number]].decode("utf-8", "surrogatepass")

    def get(self, text: str) -> int | None:
        """Return the number of a text, or None."""
        encoded = _encoded(text)
        number = bisect_left(self._bytes, encoded)
        return number if number < len(self) and self._bytes[number] == encoded else None


class _Bytes(Sequence[bytes]):
    def __init__(self, content: memoryview, ends: memoryview) -> None:
        self._content = content
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, number: int) -> bytes: ...
    @overload
    def __getitem__(self, number: slice) -> list[bytes]: ...
    def __getitem__(self, number: int | slice) -> bytes | list[bytes]:
        if isinstance(number, slice):
            return [self[place] for place in range(len(self))[number]]
        start = self._ends[number - 1] if number else 0
        return bytes(self._content[start : self._ends[number]])


def _encoded(text: str) -> bytes:
    # UTF-8 sorts like code points, including the lone surrogates that JSON can contain.
    return text.encode("utf-8", "surrogatepass")

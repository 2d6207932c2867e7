"""Text embeddings, to measure similarity. To use another encoder, pass an object with `name` and `encode`."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class TextEmbedder(Protocol):
    """Encodes texts so that the dot product of two vectors is their cosine similarity."""

    name: str
    """Name in reports."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 per text, shape (n, d)."""
        ...


class HashedNgrams:
    """Character n-gram counts, hashed into a vector. They need no model and no download, and are the same everywhere.

    Args:
        sizes: Lengths of the n-grams, in bytes of UTF-8.
        dimensions: Length of a vector, a power of two.
    """

    def __init__(self, sizes: Sequence[int] = (3, 4, 5), dimensions: int = 2**14) -> None:
        if dimensions < 2 or dimensions & (dimensions - 1):
            raise ValueError(f"expected dimensions to be a power of two, got {dimensions}; use one such as 4096")
        self._sizes = tuple(sizes)
        self._dimensions = dimensions
        self.name = f"hashed {min(sizes)}-{max(sizes)}-grams, {dimensions} dimensions"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 per text. An empty text is similar only to another empty one."""
        rows = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row += np.sqrt(self._counts(text))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(texts) else rows

    def _counts(self, text: str) -> NDArray[np.int64]:
        # Start and end marks, so that the shortest text has an n-gram and both ends of a text count.
        codes = np.frombuffer(f"\2\2{text}\3\3".encode(errors="surrogatepass"), dtype=np.uint8).astype(np.uint64)
        hashed = [self._hashes(codes, size) for size in self._sizes if size <= len(codes)]
        return np.bincount(np.concatenate(hashed).astype(np.int64), minlength=self._dimensions)

    def _hashes(self, codes: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
        """Return the FNV-1a hash of every window of `size` bytes, folded to the number of dimensions."""
        n = len(codes) - size + 1
        value = np.full(n, 0xCBF29CE484222325, dtype=np.uint64)
        for place in range(size):
            value = (value ^ codes[place : place + n]) * np.uint64(0x100000001B3)
        return (value ^ (value >> np.uint64(32))) & np.uint64(self._dimensions - 1)

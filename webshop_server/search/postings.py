"""Postings (products and frequencies by term) in flat arrays, in memory or in the files of a folder."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NewArray = Callable[[str, int, Any], NDArray[Any]]
"""Creates an array from a name, a length and a type."""


class SortedTexts(Sequence[str]):
    """A sorted list of texts in two flat arrays, which can be memory-mapped files. It is looked up in both directions.

    Args:
        content: UTF-8 bytes of all texts, concatenated, uint8. The texts are distinct and ascending.
        ends: End of each text in `content`, int64.
    """

    def __init__(self, content: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self.content = content
        self.ends = ends
        self._views = content.data, ends.data  # indexed several times as fast as arrays

    @classmethod
    def of(cls, texts: Iterable[str]) -> "SortedTexts":
        """Put texts in ascending order into arrays."""
        encoded = [_encoded(text) for text in texts]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: Any) -> Any:
        return self._bytes(range(len(self))[number]).decode("utf-8", "surrogatepass")

    def get(self, text: str) -> int | None:
        """Return the number of a text, or None."""
        encoded = _encoded(text)
        number = bisect_left(range(len(self)), encoded, key=self._bytes)
        return number if number < len(self) and self._bytes(number) == encoded else None

    def _bytes(self, number: int) -> bytes:
        content, ends = self._views
        return bytes(content[ends[number - 1] if number else 0 : ends[number]])


def _encoded(text: str) -> bytes:
    # UTF-8 sorts like code points, including the lone surrogates that JSON can contain.
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The products of each term. Products are numbered in the order of their ids.

    Attributes:
        asins: Product ids by number.
        terms: Maps a term to its number.
        starts: Index of the first posting of each term, plus the total at the end, int64.
        documents: Product number by posting, ascending within a term, int32.
        codes: Index into `saturations` by posting, unsigned.
        saturations: 1 + tf / (k1 * (1 - b + b * length / mean length)) for each pair of tf and length, float32.
        peaks: Largest saturation by term, float32.
        n_filled: Number of products with at least one term.
    """

    asins: Sequence[str]
    terms: Mapping[str, int] | SortedTexts
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    codes: NDArray[Any]
    saturations: NDArray[np.float32]
    peaks: NDArray[np.float32]
    n_filled: int


def arrays_in(folder: Path) -> NewArray:
    """Return a function that creates arrays as memory-mapped files of a folder."""

    def new(name: str, length: int, kind: Any) -> NDArray[Any]:
        path = folder / f"{name}.npy"
        if not length:  # an empty file can't be mapped
            np.save(path, np.empty(0, kind))
            return np.empty(0, kind)
        return np.lib.format.open_memmap(path, "w+", kind, (length,))

    return new


def write_texts(folder: Path, postings: Postings) -> None:
    """Write the parts of postings that are not arrays."""
    for name, texts in (("asins", postings.asins), ("terms", postings.terms)):
        table = SortedTexts.of(texts)
        np.save(folder / f"{name}.npy", table.content)
        np.save(folder / f"{name}_ends.npy", table.ends)
    np.save(folder / "n_filled.npy", np.array([postings.n_filled]))


def read_postings(folder: Path) -> Postings:
    """Open postings that were written to a folder. The arrays stay on disk and are shared between processes."""
    asins, terms = (
        SortedTexts(_mapped(folder / f"{name}.npy"), _mapped(folder / f"{name}_ends.npy"))
        for name in ("asins", "terms")
    )
    names = ("starts", "documents", "codes", "saturations", "peaks")
    arrays = {name: _mapped(folder / f"{name}.npy") for name in names}
    arrays["saturations"] = np.array(arrays["saturations"])
    return Postings(asins, terms, **arrays, n_filled=int(np.load(folder / "n_filled.npy")[0]))


def _mapped(path: Path) -> NDArray[Any]:
    try:
        # A plain view, because slices of np.memmap take several times longer.
        return np.asarray(np.load(path, mmap_mode="r"))
    except ValueError:  # an empty file can't be mapped
        return np.asarray(np.load(path))

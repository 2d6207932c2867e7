"""Postings (products and frequencies by term) in flat arrays, in memory or in the files of a folder."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from webshop_server.search.texts import SortedTexts

__all__ = ["NewArray", "Postings", "TermNumbers", "arrays_in", "read_postings", "write_texts"]

NewArray = Callable[[str, int, Any], NDArray[Any]]
"""Creates an array from a name, a length and a type."""


class TermNumbers(Protocol):
    """Maps a term to its number. Iterates over the terms in order."""

    def __iter__(self) -> Iterator[str]: ...

    def get(self, term: str, /) -> int | None:
        """Return the number of a term, or None if no product has the term."""


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
    terms: TermNumbers
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    codes: NDArray[Any]
    saturations: NDArray[np.float32]
    peaks: NDArray[np.float32]
    n_filled: int


_ARRAYS = ("starts", "documents", "codes", "saturations", "peaks")


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
    arrays = {name: _mapped(folder / f"{name}.npy") for name in _ARRAYS}
    arrays["saturations"] = np.array(arrays["saturations"])
    return Postings(asins, terms, **arrays, n_filled=int(np.load(folder / "n_filled.npy")[0]))


def _mapped(path: Path) -> NDArray[Any]:
    try:
        # A plain view, because slices of np.memmap take several times longer.
        return np.asarray(np.load(path, mmap_mode="r"))
    except ValueError:  # an empty file can't be mapped
        return np.asarray(np.load(path))

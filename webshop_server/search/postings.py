"""Which products hold which term how often, term by term, in flat arrays that can be a folder's."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from webshop_server.search.texts import SortedTexts

__all__ = ["NewArray", "Postings", "TermNumbers", "arrays_in", "read_postings", "write_texts"]

NewArray = Callable[[str, int, Any], NDArray[Any]]
"""Makes an array by name, length and type."""


class TermNumbers(Protocol):
    """The number of a term; iterates over the terms in order."""

    def __iter__(self) -> Iterator[str]: ...

    def get(self, term: str, /) -> int | None:
        """Return it, or None for a term that no product holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The products of each term; products are numbered in the order of their ids.

    Attributes:
        asins: Product ids by number.
        terms: The number of a term.
        starts: Where the postings of a term start, int64; one more than terms.
        documents: Product by posting, ascending within a term, int32.
        codes: Place in `saturations` by posting, unsigned.
        saturations: 1 + tf / (k1 * (1 - b + b * length / mean length)) for all pairs of tf and length, float32.
        peaks: The largest saturation of a term, float32.
        n_filled: Products that have a term at all.
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
    """Make arrays that are files of a folder."""

    def new(name: str, length: int, kind: Any) -> NDArray[Any]:
        path = folder / f"{name}.npy"
        if not length:  # what is empty can't be mapped
            np.save(path, np.empty(0, kind))
            return np.empty(0, kind)
        return np.lib.format.open_memmap(path, "w+", kind, (length,))

    return new


def write_texts(folder: Path, postings: Postings) -> None:
    """Write what of postings is no array."""
    for name, texts in (("asins", postings.asins), ("terms", postings.terms)):
        table = SortedTexts.of(texts)
        np.save(folder / f"{name}.npy", table.content)
        np.save(folder / f"{name}_ends.npy", table.ends)
    np.save(folder / "n_filled.npy", np.array([postings.n_filled]))


def read_postings(folder: Path) -> Postings:
    """Open postings that were written to a folder; the arrays stay on disk and are shared between processes."""
    asins, terms = (
        SortedTexts(_mapped(folder / f"{name}.npy"), _mapped(folder / f"{name}_ends.npy"))
        for name in ("asins", "terms")
    )
    arrays = {name: _mapped(folder / f"{name}.npy") for name in _ARRAYS}
    arrays["saturations"] = np.array(arrays["saturations"])
    return Postings(asins, terms, **arrays, n_filled=int(np.load(folder / "n_filled.npy")[0]))


def _mapped(path: Path) -> NDArray[Any]:
    try:
        # As a plain view: slices of numpy's own class of mapped arrays take several times longer.
        return np.asarray(np.load(path, mmap_mode="r"))
    except ValueError:  # what is empty can't be mapped
        return np.asarray(np.load(path))

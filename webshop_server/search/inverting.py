"""Builds postings: counts terms document by document, then inverts the counts term by term."""

import os
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from webshop_server.search import batches
from webshop_server.search.analyzer import analyze
from webshop_server.search.postings import NewArray, Postings

if TYPE_CHECKING:
    from concurrent.futures import Future

Ints = NDArray[np.int32]
SAFE_PATH = "PYTHONSAFEPATH"
K1, B = 0.9, 0.4
"""Saturation of repeated terms, and strength of the length normalisation."""


def stored_length(length: int) -> int:
    """Return `length` after Lucene's one-byte encoding: exact below 40, then the four leading bits.

    Source: Lucene's SmallFloat.intToByte4.
    """
    above = length - 24
    if above < 16:
        return length
    shift = above.bit_length() - 4
    return 24 + (above >> shift << shift)


class Counted(NamedTuple):
    """Term counts of some documents.

    Attributes:
        asins: The documents' ids.
        lengths: Number of terms by document, including repeats.
        distinct: Number of distinct terms by document.
        terms: The distinct terms of all documents.
        numbers: Index into `terms` by posting. The postings of a document are adjacent.
        frequencies: Number of occurrences of the term in the document, by posting.
    """

    asins: list[str]
    lengths: list[int]
    distinct: list[int]
    terms: list[str]
    numbers: Ints
    frequencies: Ints


def count_terms(documents: Iterable[tuple[str, str]]) -> Counted:
    """Count the terms of documents, given as pairs of (asin, text)."""
    places: defaultdict[str, int] = defaultdict()
    places.default_factory = places.__len__
    asins: list[str] = []
    lengths: list[int] = []
    distinct: list[int] = []
    numbers: list[int] = []
    frequencies: list[int] = []
    for asin, text in documents:
        frequency = Counter(analyze(text))
        numbers.extend(map(places.__getitem__, frequency))
        frequencies.extend(frequency.values())
        distinct.append(len(frequency))
        lengths.append(frequency.total())
        asins.append(asin)
    found = np.array(numbers, np.int32), np.array(frequencies, np.int32)
    return Counted(asins, lengths, distinct, list(places), *found)


def count_side_by_side(documents: Iterable[tuple[str, str]], n_workers: int) -> Iterator[Counted]:
    """Count documents batch by batch, in order, on several cores. A single worker runs in this process."""
    if n_workers < 2:
        yield from map(count_terms, batches(documents, 2000))
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Spawned processes: forking a process with threads can hang.
    with _safe_path(), ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn")) as pool:
        waiting: deque[Future[Counted]] = deque()
        for batch in batches(documents, 2000):
            waiting.append(pool.submit(count_terms, batch))
            if len(waiting) > 2 * n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def _safe_path() -> Iterator[None]:
    """Let the processes that start meanwhile import nothing from the working folder, which is first on their path."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[SAFE_PATH]
        if before is not None:
            os.environ[SAFE_PATH] = before


class Inverter:
    """Collects term counts of documents in any order and inverts them.

    Args:
        spill: File for the collected counts. By default they are kept in memory.
        at_once: Number of postings that are inverted at a time.
    """

    def __init__(self, spill: Path | None = None, *, at_once: int = 1 << 22) -> None:
        self._rows = _Rows(spill, at_once)
        self._at_once = at_once
        self._numbers: dict[str, int] = {}
        self.asins: list[str] = []
        self.lengths: list[int] = []

    def add(self, counted: Counted) -> None:
        """Add the counts of some documents."""
        first, numbers = len(self.asins), self._numbers
        owners = np.arange(first, first + len(counted.asins), dtype=np.int32)
        known = (numbers.setdefault(term, len(numbers)) for term in counted.terms)
        number = np.fromiter(known, np.int32, len(counted.terms))
        self._rows.append(np.stack([number[counted.numbers], np.repeat(owners, counted.distinct), counted.frequencies]))
        self.asins += counted.asins
        self.lengths += counted.lengths

    def postings(self, new: NewArray) -> Postings:
        """Invert the collected counts into arrays that a function creates."""
        asins, asin_rank = _ranked(self.asins)
        terms, term_rank = _ranked(list(self._numbers))
        counts = np.zeros(len(terms), np.int64)
        for number, _, _ in self._rows:
            counts += np.bincount(number, minlength=len(counts))
        starts = new("starts", len(terms) + 1, np.int64)
        starts[0] = 0
        starts[1 + term_rank] = counts
        np.cumsum(starts, out=starts)
        codebook = _Codebook.of(self._rows, self.lengths)
        documents = new("documents", int(starts[-1]), np.int32)
        codes = new("codes", int(starts[-1]), np.uint16 if codebook.size <= 1 << 16 else np.uint32)
        free = starts[:-1].copy()
        for number, owner, frequency in self._rows:
            term = term_rank[number]
            order = np.argsort(term, kind="stable")
            in_part = np.bincount(term, minlength=len(free))
            place = np.arange(len(term)) + np.repeat(free - np.cumsum(in_part) + in_part, in_part)
            free += in_part
            documents[place] = asin_rank[owner[order]]
            codes[place] = codebook.codes(frequency[order], owner[order])
        saturations = codebook.saturations(new)
        peaks = new("peaks", len(terms), np.float32)
        first = 0
        while first < len(terms):  # as many terms at a time as have `at_once` postings together, but at least one
            end = max(int(np.searchsorted(starts, starts[first] + self._at_once, "right")) - 1, first + 1)
            bounds = starts[first : end + 1]
            held = slice(int(bounds[0]), int(bounds[-1]))
            term = np.repeat(np.arange(end - first, dtype=np.int64), np.diff(bounds))
            order = np.argsort(term << 32 | documents[held])
            documents[held] = documents[held][order]
            codes[held] = codes[held][order]
            peaks[first:end] = np.maximum.reduceat(saturations[codes[held]], bounds[:-1] - bounds[0])
            first = end
        n_filled = sum(1 for length in self.lengths if length)
        numbers = {term: number for number, term in enumerate(terms)}
        return Postings(asins, numbers, starts, documents, codes, saturations, peaks, n_filled)


class _Rows:
    """Rows of (term, document, frequency) by posting. Iteration yields parts that fit into memory."""

    def __init__(self, spill: Path | None, at_once: int) -> None:
        self._spill = spill
        self._at_once = at_once
        self._sizes: list[int] = []
        self._pending: list[Ints] = []
        self._n_pending = 0

    def append(self, rows: Ints) -> None:
        self._pending.append(rows)
        self._n_pending += rows.shape[1]
        if self._spill and self._n_pending >= self._at_once:
            with self._spill.open("ab") as file:
                np.concatenate(self._pending, axis=1).tofile(file)
            self._sizes.append(self._n_pending)
            self._pending, self._n_pending = [], 0

    def __iter__(self) -> Iterator[Ints]:
        if self._spill and self._sizes:
            with self._spill.open("rb") as file:
                for size in self._sizes:
                    yield np.fromfile(file, np.int32, 3 * size).reshape(3, size)
        if self._pending:
            yield np.concatenate(self._pending, axis=1)


class _Codebook(NamedTuple):
    """Numbers all possible pairs of a frequency and a length.

    Attributes:
        frequencies: All distinct frequencies, ascending.
        slopes: 1 / (k1 * (1 - b + b * length / mean length)) for each distinct length, float32.
        place: Index into `slopes` by document.
    """

    frequencies: Ints
    slopes: NDArray[np.float32]
    place: Ints

    @classmethod
    def of(cls, rows: Iterable[Ints], lengths: Sequence[int]) -> "_Codebook":
        different: set[int] = set()
        for _, _, frequency in rows:
            different.update(np.unique(frequency).tolist())
        stored = np.array([stored_length(length) for length in lengths], np.int64)
        kinds, place = np.unique(stored, return_inverse=True)
        n_filled = sum(1 for length in lengths if length)
        # All arithmetic is in single precision.
        mean = np.float32(sum(lengths) / max(n_filled, 1)) or np.float32(1)
        one, k1, b = np.float32(1), np.float32(K1), np.float32(B)
        slopes: NDArray[np.float32] = one / (k1 * ((one - b) + b * kinds.astype(np.float32) / mean))
        return cls(np.array(sorted(different), np.int32), slopes, place.astype(np.int32))

    @property
    def size(self) -> int:
        return len(self.frequencies) * len(self.slopes)

    def codes(self, frequency: Ints, document: Ints) -> NDArray[np.int64]:
        return np.searchsorted(self.frequencies, frequency) * len(self.slopes) + self.place[document]

    def saturations(self, new: NewArray) -> NDArray[np.float32]:
        table = new("saturations", self.size, np.float32)
        # Lucene stores 1 + tf / (k1 * ...) in single precision and subtracts its reciprocal from 1.
        table[:] = (np.float32(1) + self.frequencies.astype(np.float32)[:, None] * self.slopes).ravel()
        return table


def _ranked(texts: list[str]) -> tuple[list[str], Ints]:
    """Return the sorted texts, and the position of each text in the sorted list."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(texts), np.int32)
    rank[order] = np.arange(len(texts), dtype=np.int32)
    return [texts[place] for place in order], rank

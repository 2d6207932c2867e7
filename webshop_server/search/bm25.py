"""BM25 with Lucene's arithmetic (one-byte document lengths, single-precision scores), without Java."""

import math
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from webshop_server.search import Hit
from webshop_server.search.analyzer import ANALYZER_VERSION, analyze
from webshop_server.search.inverting import Inverter, count_side_by_side, count_terms
from webshop_server.search.postings import Postings, arrays_in, read_postings, write_texts

ALL_SCORED = 20_000
"""Largest number of products for which every product with a query term is scored."""
_ROUNDING = 1 - 2.0**-22
"""Scores are compared in single precision. Two scores that differ by less than this factor can be equal."""


class _Term(NamedTuple):
    """A query term: its postings, its weight (idf times its count in the query) and the largest score it adds."""

    start: int
    end: int
    weight: np.float32
    most: float


class BM25:
    """The shop's default engine: Lucene's scores, term by term in flat arrays.

    A query is a bag of words: terms are combined with OR, and a repeated term counts again. A term adds
    ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean length)). The length is
    the stored one, the mean is exact. Equal scores are ordered by id. k1 and b are those of pyserini, the search
    engine of the original WebShop.

    Args:
        documents: Pairs of (asin, text).
        lengths: Number of terms by asin, for documents whose length is not counted from the text.
        all_scored: Largest number of products for which every product with a query term is scored. Above it,
            products that can't be among the best are skipped. The results are the same.
    """

    name = "bm25"
    version: ClassVar[str] = f"1-a{ANALYZER_VERSION}"

    def __init__(
        self,
        documents: Iterable[tuple[str, str]],
        *,
        lengths: Mapping[str, int] | None = None,
        all_scored: int = ALL_SCORED,
    ) -> None:
        inverter = Inverter()
        inverter.add(count_terms(documents))
        if lengths is not None:
            pairs = zip(inverter.asins, inverter.lengths, strict=True)
            inverter.lengths = [lengths.get(asin, counted) for asin, counted in pairs]
        self._begin(inverter.postings(lambda _, length, kind: np.empty(length, kind)), all_scored)

    @classmethod
    def build(cls, documents: Iterable[tuple[str, str]], folder: Path, *, n_workers: int = 1) -> None:
        """Write an index to a folder, in bounded memory."""
        spill = folder / "spill"
        inverter = Inverter(spill)
        for counted in count_side_by_side(documents, n_workers):
            inverter.add(counted)
        postings = inverter.postings(arrays_in(folder))
        write_texts(folder, postings)
        spill.unlink(missing_ok=True)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open an index. It stays on disk, and processes share the pages they read."""
        engine = cls.__new__(cls)
        engine._begin(read_postings(folder), ALL_SCORED)
        return engine

    @staticmethod
    def require() -> None:
        """Check that the required packages are installed. BM25 needs none."""

    def _begin(self, postings: Postings, all_scored: int) -> None:
        self._postings = postings
        self._scores_all = len(postings.asins) <= all_scored
        if self._scores_all:
            self._saturation = postings.saturations[postings.codes]
        self._term = lru_cache(maxsize=1 << 15)(self._term_uncached)
        self._local = threading.local()

    def search(self, query: str, k: int = 50) -> list[Hit]:
        """Return at most `k` products that share a term with `query`, best first."""
        return self.search_terms(analyze(query), k)

    def search_terms(self, terms: Iterable[str], k: int = 50) -> list[Hit]:
        """Return at most `k` products for a query that is already split into terms."""
        counted = Counter(terms)
        known = [found for term, times in counted.items() if (found := self._term(term, times))]
        if not known or k <= 0:
            return []
        documents, scores = self._all(known) if self._scores_all else self._best(known, k)
        if len(documents) > k:
            at_least = _kth_best(scores, k)
            documents = documents[scores >= at_least]
            scores = scores[scores >= at_least]
        order = np.argsort(-scores, kind="stable")[:k]
        asins = self._postings.asins
        pairs = zip(documents[order].tolist(), scores[order].tolist(), strict=True)
        return [Hit(asins[document], score) for document, score in pairs]

    def _term_uncached(self, term: str, times: int) -> _Term | None:
        postings = self._postings
        number = postings.terms.get(term)
        if number is None:
            return None
        start, end = int(postings.starts[number]), int(postings.starts[number + 1])
        odds = (postings.n_filled - (end - start) + 0.5) / (end - start + 0.5)
        weight = np.float32(float(np.float32(math.log(1 + odds))) * times)
        return _Term(start, end, weight, float(weight - weight / postings.peaks[number]))

    def _all(self, known: Sequence[_Term]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return all products with a query term, in ascending order, and their scores."""
        postings = self._postings
        spans = [(start, end) for start, end, _, _ in known]
        documents = np.concatenate([postings.documents[start:end] for start, end in spans])
        saturation = np.concatenate([self._saturation[start:end] for start, end in spans])
        weights = np.array([weight for _, _, weight, _ in known], np.float32)
        weight = np.repeat(weights, [end - start for start, end in spans])
        # Each term is rounded to single precision. The sum is computed in double precision and rounded once more.
        added = weight - weight / saturation
        total = np.bincount(documents, added, len(postings.asins)).astype(np.float32)
        found = np.flatnonzero(total)
        return found, total[found]

    def _best(self, known: Sequence[_Term], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the `k` best products and some more, in ascending order, and their scores.

        MaxScore (Turtle and Flood, 1995) adds rare terms first. At some point the remaining terms can add less
        than the current k-th best score. A product that has only remaining terms then can't be among the best.
        Only the products found so far are looked up in the remaining terms.
        """
        postings = self._postings
        terms = sorted(known, key=lambda term: term.end - term.start)
        left = [*np.cumsum([term.most for term in reversed(terms)])[::-1].tolist(), 0.0]
        try:
            gathered, scores, bar, n_added = self._gathered(terms, left, k)
        except BaseException:  # even after an interrupt, partial sums must not reach the next query
            del self._local.totals
            raise
        order = np.argsort(gathered)
        found, scores = gathered[order].astype(np.int64), scores[order]
        for term, rest in zip(terms[n_added:], left[n_added + 1 :], strict=True):
            documents = postings.documents[term.start : term.end]
            place = np.searchsorted(documents, found.astype(np.int32))
            place[place == len(documents)] = 0
            has = documents[place] == found
            codes = postings.codes[term.start : term.end][place[has]]
            scores[has] += term.weight - term.weight / postings.saturations[codes]
            bar = max(bar, _kth_best(scores, k))
            kept = scores + rest >= bar * _ROUNDING
            found, scores = found[kept], scores[kept]
        return found, scores.astype(np.float32)

    def _gathered(
        self, terms: Sequence[_Term], left: Sequence[float], k: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], float, int]:
        """Return candidates, their scores, the k-th best score after the terms added so far, and the number of them."""
        postings = self._postings
        if not hasattr(self._local, "totals"):  # of each thread: zeros, one per product, and again when this returns
            self._local.totals = np.zeros(len(postings.asins))
        totals: NDArray[np.float64] = self._local.totals
        touched: list[NDArray[np.int32]] = []
        bar = 0.0
        n_added = 0
        for term in terms:
            if left[n_added] < bar * _ROUNDING:
                break
            documents = postings.documents[term.start : term.end]
            table = (term.weight - term.weight / postings.saturations).astype(np.float64)
            added = table[postings.codes[term.start : term.end]]
            before = totals[documents]
            added += before
            totals[documents] = added
            touched.append(documents[before == 0.0])
            n_added += 1
            if left[n_added]:
                bar = max(bar, _kth_best(added, k))
        found = np.concatenate(touched)
        scores = totals[found]
        totals[found] = 0.0
        kept = scores + left[n_added] >= bar * _ROUNDING
        return found[kept], scores[kept], bar, n_added


def _kth_best(scores: NDArray[np.floating[Any]], k: int) -> float:
    """Return the k-th largest score, or 0 if there are fewer scores."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if len(scores) >= k else 0.0

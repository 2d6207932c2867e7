"""BM25 as Lucene computes it: one-byte document lengths and single-precision scores, without Java."""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from webshop_server.search import Hit
from webshop_server.search.analyzer import analyze

__all__ = ["BM25", "stored_length"]

_N_EXACT_LENGTHS = 24


def stored_length(length: int) -> int:
    """Return `length` as it survives Lucene's one-byte code: exact below 40, then four leading bits.

    Source: Lucene's SmallFloat.intToByte4.
    """
    above = length - _N_EXACT_LENGTHS
    if above < 16:
        return length
    shift = above.bit_length() - 4
    return _N_EXACT_LENGTHS + (above >> shift << shift)


class BM25:
    """The shop's default engine: term statistics in flat arrays, built once.

    A query is a bag of words: terms are or-ed and a repeated term counts again. A term adds
    ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean length)), where the
    length is the stored one and the mean is exact. Equal scores are ordered by id. k1 and b are those of
    pyserini, which the original WebShop searches with.

    Args:
        documents: Pairs of (asin, text).
        analyze: Text to terms, for documents and queries alike.
        lengths: Number of terms by asin, for those where it is not to be counted from the text.
        k1: How slowly a repeated term saturates.
        b: How much long documents are held back, 0 to 1.
    """

    name = "bm25"

    def __init__(
        self,
        documents: Iterable[tuple[str, str]],
        *,
        analyze: Callable[[str], Sequence[str]] = analyze,
        lengths: Mapping[str, int] | None = None,
        k1: float = 0.9,
        b: float = 0.4,
    ) -> None:
        self._analyze = analyze
        asins: list[str] = []
        counted = array("q")
        term_numbers: defaultdict[str, int] = defaultdict()
        term_numbers.default_factory = term_numbers.__len__
        terms, owners, frequencies = array("i"), array("i"), array("i")
        for asin, text in documents:
            frequency = Counter(analyze(text))
            terms.extend(map(term_numbers.__getitem__, frequency))
            frequencies.extend(frequency.values())
            owners.extend([len(asins)] * len(frequency))
            counted.append(frequency.total())
            asins.append(asin)
        term_numbers.default_factory = None

        # Documents are numbered by id, so that a stable sort breaks ties as Lucene's searcher does.
        by_id = sorted(range(len(asins)), key=asins.__getitem__)
        self._asins = [asins[place] for place in by_id]
        number = np.empty(len(asins), np.int32)
        number[by_id] = np.arange(len(asins), dtype=np.int32)
        if lengths is not None:
            counted = array("q", map(lengths.get, asins, counted))
        slope = _length_slopes(counted, k1, b)

        order = np.argsort(np.frombuffer(terms, np.int32), kind="stable") if terms else np.empty(0, np.int64)
        owner = np.array(owners, np.int32)[order]
        self._documents = number[owner]
        # Lucene keeps 1 + tf / (k1 * ...) in single precision and subtracts its reciprocal from 1.
        self._saturation = np.float32(1) + np.array(frequencies, np.float32)[order] * slope[owner]
        df = np.bincount(np.array(terms, np.int32), minlength=len(term_numbers))
        ends = np.cumsum(df)
        n_documents = sum(1 for length in counted if length)
        self._postings = {
            term: (int(ends[place] - df[place]), int(ends[place]), _idf(n_documents, int(df[place])))
            for term, place in term_numbers.items()
        }

    def search(self, query: str, k: int = 50) -> list[Hit]:
        """Return at most `k` products that share a term with `query`, best first."""
        return self.search_terms(self._analyze(query), k)

    def search_terms(self, terms: Iterable[str], k: int = 50) -> list[Hit]:
        """Return at most `k` products for a query that is analysed already."""
        postings = self._postings
        known = [(postings[term], times) for term, times in Counter(terms).items() if term in postings]
        if not known or k <= 0:
            return []
        scores = self._scores(known)
        best = np.flatnonzero(scores)
        values = scores[best]
        if len(best) > k:
            at_least = np.partition(values, len(best) - k)[len(best) - k]
            best = best[values >= at_least]
            values = scores[best]
        order = np.argsort(-values, kind="stable")[:k]
        asins = self._asins
        return [
            Hit(asins[document], score)
            for document, score in zip(best[order].tolist(), values[order].tolist(), strict=True)
        ]

    def _scores(self, known: Sequence[tuple[tuple[int, int, float], int]]) -> NDArray[np.float32]:
        documents = np.concatenate([self._documents[start:end] for (start, end, _), _ in known])
        saturation = np.concatenate([self._saturation[start:end] for (start, end, _), _ in known])
        weight = np.repeat(
            np.array([idf * times for (_, _, idf), times in known], np.float32),
            [end - start for (start, end, _), _ in known],
        )
        # Terms are rounded to single precision one by one, added in double, and rounded once more.
        total = np.bincount(documents, weight - weight / saturation, len(self._asins))
        return total.astype(np.float32)


def _idf(n_documents: int, document_frequency: int) -> float:
    odds = (n_documents - document_frequency + 0.5) / (document_frequency + 0.5)
    return float(np.float32(math.log(1 + odds)))


def _length_slopes(lengths: Sequence[int], k1: float, b: float) -> NDArray[np.float32]:
    """Return 1 / (k1 * (1 - b + b * length / mean length)) by document, in single precision throughout."""
    n_documents = sum(1 for length in lengths if length)
    mean = np.float32(sum(lengths) / max(n_documents, 1)) or np.float32(1)
    stored = np.array([stored_length(length) for length in lengths], np.float32)
    one, k1_, b_ = np.float32(1), np.float32(k1), np.float32(b)
    slopes: NDArray[np.float32] = one / (k1_ * ((one - b_) + b_ * stored / mean))
    return slopes

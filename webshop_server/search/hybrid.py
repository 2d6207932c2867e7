"""Combines several engines by reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009)."""

from collections import defaultdict
from collections.abc import Sequence

from webshop_server.search import Hit, SearchEngine


class Hybrid:
    """Scores a product by the sum of 1 / (60 + rank) over the engines. The best rank is 1.

    Args:
        engines: Engines to combine. The registered engine `hybrid` combines bm25 and dense.
    """

    name = "hybrid"

    def __init__(self, engines: Sequence[SearchEngine]) -> None:
        self._engines = tuple(engines)

    def search(self, query: str, k: int = 50) -> list[Hit]:
        """Return at most `k` products found by any of the engines, best first."""
        scores: defaultdict[str, float] = defaultdict(float)
        for engine in self._engines:
            for rank, hit in enumerate(engine.search(query, 4 * k), start=1):
                scores[hit.asin] += 1.0 / (60 + rank)
        hits = [Hit(asin, score) for asin, score in scores.items()]
        return sorted(hits, key=lambda hit: (-hit.score, hit.asin))[: max(k, 0)]

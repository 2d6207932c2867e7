"""Our search against Lucene's, query by query, on the real 1,000 products.

The vectors hold Lucene's terms and ordered top 50 of human queries, and every product's number of terms.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from webshop_server.catalog import index_text, load_catalog
from webshop_server.search import Hit
from webshop_server.search.analyzer import analyze
from webshop_server.search.bm25 import BM25

MIN_SAME_TOP_10 = 0.95


@pytest.fixture(scope="module")
def documents(real_data: Path) -> list[tuple[str, str]]:
    return [(product.asin, index_text(product)) for product in load_catalog(real_data / "webshop")]


@pytest.fixture(scope="module")
def lucene(vectors: Any) -> Any:
    return vectors("webshop_lucene_top50.json")


def _asins(hits: Sequence[Any]) -> list[str]:
    return [asin for asin, _ in hits]


def _differing_lengths(documents: list[tuple[str, str]], lucene: Any) -> dict[str, tuple[int, int]]:
    """Number of terms (ours, Lucene's) of the products where they differ."""
    theirs = lucene["n_tokens_per_document"]
    ours = {asin: len(analyze(text)) for asin, text in documents if asin in theirs}
    return {asin: (ours[asin], theirs[asin]) for asin in ours if ours[asin] != theirs[asin]}


def _explain(row: Any, hits: Sequence[Hit], lengths: dict[str, tuple[int, int]]) -> str:
    ours, theirs = Counter(analyze(row["query"])), Counter(row["tokens"])
    shown = {*_asins(hits), *_asins(row["hits"])}
    return (
        f"{row['query']!r}: terms only ours {sorted((ours - theirs).elements())}, "
        f"only Lucene's {sorted((theirs - ours).elements())}; "
        f"lengths (ours, Lucene's) { ({asin: lengths[asin] for asin in sorted(shown & set(lengths))}) }"
    )


def test_with_lucenes_terms_and_lengths_every_top_50_is_lucenes(documents: list[tuple[str, str]], lucene: Any) -> None:
    engine = BM25(documents, lengths=lucene["n_tokens_per_document"])
    for row in lucene["queries"]:
        hits = engine.search_terms(row["tokens"])
        assert _asins(hits) == _asins(row["hits"]), row["query"]
        scores = [score for _, score in row["hits"]]
        assert [hit.score for hit in hits] == pytest.approx(scores, abs=1e-4), row["query"]


def test_with_our_own_analysis_nearly_every_top_10_is_lucenes(
    documents: list[tuple[str, str]], lucene: Any, record_property: Any
) -> None:
    engine = BM25(documents)
    rows = lucene["queries"]
    answers = [(row, engine.search(row["query"])) for row in rows]
    lengths = _differing_lengths(documents, lucene)
    differing = [_explain(row, hits, lengths) for row, hits in answers if _asins(hits) != _asins(row["hits"])]
    counts = {
        "queries": len(rows),
        "same_top_10": sum(_asins(hits[:10]) == _asins(row["hits"][:10]) for row, hits in answers),
        "same_top_50": len(rows) - len(differing),
        "same_query_terms": sum(analyze(row["query"]) == row["tokens"] for row in rows),
        "documents_of_other_length": len(lengths),
    }
    for name, count in counts.items():
        record_property(name, count)
    report = "\n".join([str(counts), *differing])
    print(report)
    assert counts["same_top_10"] >= MIN_SAME_TOP_10 * len(rows), report

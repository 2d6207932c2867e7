"""Lucene itself beside our BM25: the same products in the same order, for every human query."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.full.processes import finished, needing, python
from webshop_server.catalog import index_text, load_catalog
from webshop_server.extras import extra_command
from webshop_server.search import SearchEngine, load_engine, open_engine
from webshop_server.search.analyzer import analyze
from webshop_server.search.lucene import Lucene, any_key
from webshop_server.storage.indexes import Indexes

pytestmark = needing("pyserini", how="make test-lucene")

DOCUMENTS = (
    ("B3", "red cotton shirt for men, red buttons"), ("B1", "blue cotton shirt for women with long sleeves"),
    ("B5", "stainless steel bottle"), ("B4", "stainless steel bottle"), ("B6", ""),
)  # fmt: skip
K = 50


@pytest.fixture(scope="module")
def documents(real_data: Path) -> list[tuple[str, str]]:
    return [(product.asin, index_text(product)) for product in load_catalog(real_data / "webshop")]


@pytest.fixture(scope="module")
def lucene(documents: list[tuple[str, str]]) -> Lucene:
    return Lucene(documents)


def asins(engine: SearchEngine, query: str, k: int = K) -> list[str]:
    return [hit.asin for hit in engine.search(query, k)]


def test_products_have_lucenes_terms_and_every_human_query_finds_the_same_in_the_same_order(
    documents: list[tuple[str, str]], lucene: Lucene, real_data: Path
) -> None:
    """The failure lists each product and query that differs with the terms that do."""
    with any_key():
        from pyserini.analysis import Analyzer, get_lucene_analyzer
    theirs = Analyzer(get_lucene_analyzer()).analyze
    others = {asin: set(analyze(text)) ^ set(theirs(text)) for asin, text in documents if analyze(text) != theirs(text)}
    assert others == {}
    searched: dict[str, list[str]] = json.loads((real_data / "webshop" / "goal_query_map.json").read_text())
    queries = {*searched, *(query for queries in searched.values() for query in queries)}
    assert len(queries) > 1506
    ours = load_engine("bm25", documents)
    differing = {
        query: sorted(set(analyze(query)) ^ set(theirs(query)))
        for query in queries
        if asins(ours, query) != [hit.docid for hit in lucene.searcher.search(query, K)]
    }
    print(f"{len(queries) - len(differing)} of {len(queries)} queries have the same top {K}")
    assert differing == {}


def test_the_engine_keeps_the_contract_and_its_index_is_opened(real_data: Path, tmp_path: Path, lucene: Lucene) -> None:
    engine = load_engine("lucene", DOCUMENTS)
    long = " ".join(f"word{number}" for number in range(3000))
    for query, found in (("steel bottle", ["B4", "B5"]), ("RED shirts", ["B3", "B1"]), (f"{long} red", ["B3"])):
        assert asins(engine, query) == found
        assert asins(engine, query, 1) == found[:1]
    assert [engine.search(nothing) for nothing in ("", "  ", "the", "?!", "zzz", "\ud800", '"')] == [[]] * 7
    assert engine.search("red", 0) == []
    assert asins(engine, '+red AND -(shirt)* ~"\ud800') == asins(engine, "red shirt")
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: asins(engine, "red shirt"), range(4))) == [["B3", "B1"]] * 4
    indexes, folder = Indexes(tmp_path), real_data / "webshop"
    indexes.build(folder, "lucene")
    opened = open_engine("lucene", lambda part: indexes.require(folder, part))
    assert opened.search("navy shoes") == lucene.search("navy shoes")


def test_nobody_is_asked_for_a_key_and_a_java_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import os; from webshop_server.search import load_engine\n"
        "engine = load_engine('lucene', [('B1', 'red mug')])\n"
        "print(engine.search('mugs')[0].asin, 'OPENAI_API_KEY' in os.environ)"
    )
    for name in ("OPENAI_API_KEY", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert python("-c", code).split() == ["B1", "False"]
    failed = finished([sys.executable, "-c", code], JAVA_HOME="/no/java", JVM_PATH="/no/java/libjvm.so")
    assert failed.returncode == 1
    assert all(words in failed.stderr for words in ("NoJava", "'lucene'", "21", "/no/java", extra_command("lucene")))

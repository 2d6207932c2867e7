"""BM25 at size: what it leaves out, writes down and turns around in parts changes no answer."""

import random
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webshop_server.search.analyzer import ANALYZER_VERSION, analyze
from webshop_server.search.bm25 import BM25
from webshop_server.search.inverting import Inverter, count_side_by_side, count_terms
from webshop_server.search.postings import SortedTexts, arrays_in, read_postings, write_texts

WORDS = [f"w{number}" for number in range(12)]
words = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
ARRAYS = ("starts", "documents", "codes", "saturations", "peaks")


def shop_of(n_products: int, seed: int) -> list[tuple[str, str]]:
    """Products whose words are as uneven as real ones, many of them equal."""
    draw = random.Random(seed)
    vocabulary = [f"word{number}" for number in range(300)]
    weights = [1 / (number + 1) for number in range(300)]
    texts = [" ".join(draw.choices(vocabulary, weights, k=draw.randint(0, 30))) for _ in range(n_products // 2)]
    return [(f"B{draw.randrange(10**9):09}", draw.choice(texts)) for _ in range(n_products)]


@given(st.lists(words, max_size=30), words, st.integers(1, 8))
@settings(deadline=None)
def test_products_that_are_left_out_are_not_among_the_best(texts: list[str], query: str, k: int) -> None:
    documents = [(f"B{place}", text) for place, text in enumerate(texts)]
    assert BM25(documents, all_scored=0).search(query, k) == BM25(documents).search(query, k)


def test_the_best_of_many_uneven_products_are_the_same_and_threads_do_not_add_into_each_others_sums() -> None:
    documents = shop_of(3000, 1)
    everything, pruned = BM25(documents), BM25(documents, all_scored=0)
    draw = random.Random(2)
    for _ in range(100):
        query = " ".join(f"word{int(300 ** draw.random())}" for _ in range(draw.randint(1, 9)))
        k = draw.choice((1, 10, 50))
        assert pruned.search(query, k) == everything.search(query, k)
    documents, draw = shop_of(2000, 3), random.Random(0)
    queries = [" ".join(f"word{draw.randrange(60)}" for _ in range(5)) for _ in range(120)]
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(BM25(documents, all_scored=0).search, queries))
    assert found == list(map(BM25(documents).search, queries))


class Interrupted(np.ndarray):  # type: ignore[type-arg]
    """Codes of postings; the second read is interrupted, as by Ctrl-C."""

    n_left = 1

    def __getitem__(self, key: object) -> object:
        Interrupted.n_left -= 1
        if Interrupted.n_left < 0:
            Interrupted.n_left = 10**9
            raise KeyboardInterrupt
        return np.asarray(self)[key]  # type: ignore[index]


def test_an_interrupted_search_leaves_nothing_behind() -> None:
    documents = shop_of(500, 4)
    engine = BM25(documents, all_scored=0)
    object.__setattr__(engine._postings, "codes", engine._postings.codes.view(Interrupted))
    with pytest.raises(KeyboardInterrupt):
        engine.search("word1 word2 word3 word0")
    assert engine.search("word2 word5") == BM25(documents).search("word2 word5")


def test_an_index_on_disk_gives_the_same_answers(tmp_path: Path) -> None:
    documents = [*shop_of(800, 5), ("B-ü", "größe \ud800 word1"), ("B-empty", "")]
    BM25.build(documents, tmp_path)
    assert not (tmp_path / "spill").exists()
    stored, expected = BM25.open(tmp_path), BM25(documents)
    for query in ("word1", "word3 word3 word40", "größe", "\ud800", "nothing", "the", "word299 word0"):
        assert stored.search(query) == expected.search(query)
    for place, nothing in enumerate(([], [("B1", "")])):
        (tmp_path / str(place)).mkdir()
        BM25.build(nothing, tmp_path / str(place))
        assert BM25.open(tmp_path / str(place)).search("word") == []


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_turning_around_in_parts_gives_the_same_postings(tmp_path: Path, at_once: int) -> None:
    documents = shop_of(60, 6)
    whole = Inverter()
    whole.add(count_terms(documents))
    expected = whole.postings(lambda _, length, kind: np.empty(length, kind))
    parts = Inverter(tmp_path / "spill", at_once=at_once)
    for start in range(0, 60, 9):
        parts.add(count_terms(documents[start : start + 9]))
    write_texts(tmp_path, parts.postings(arrays_in(tmp_path)))
    found = read_postings(tmp_path)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert list(found.asins) == list(expected.asins)
    assert [found.terms.get(term) for term in expected.terms] == list(range(len(expected.starts) - 1))


def test_counting_in_several_processes_counts_the_same() -> None:
    documents = shop_of(4500, 7)
    one, two = list(count_side_by_side(documents, 1)), list(count_side_by_side(documents, 2))
    assert len(one) == len(two) == 3
    for alone, beside in zip(one, two, strict=True):
        assert alone[:4] == beside[:4]
        np.testing.assert_array_equal(alone.numbers, beside.numbers)
        np.testing.assert_array_equal(alone.frequencies, beside.frequencies)


@given(st.lists(st.text(st.characters(), max_size=5), unique=True), st.text(max_size=5))
@settings(deadline=None)
def test_sorted_texts_are_found_by_number_and_numbers_by_text(given_texts: list[str], other: str) -> None:
    ordered = sorted(given_texts)
    table = SortedTexts.of(ordered)
    assert list(table) == ordered
    assert [table.get(text) for text in ordered] == list(range(len(ordered)))
    assert table.get(other) == (ordered.index(other) if other in ordered else None)


def test_the_version_of_the_analyser_stands_for_its_terms() -> None:
    """Where this fails, texts get other terms: raise ANALYZER_VERSION, and put the new digest here."""
    text = "Men's T-Shirts, 3.5oz cafés relational hopping ★ 東京 12,000 n95 can't the running's U.S.A. a_b" * 2
    digest = sha256(" ".join(analyze(text)).encode()).hexdigest()[:12]
    assert (ANALYZER_VERSION, digest) == (1, "2a007e1ad36d")

"""Encoders, dense search and the joining of engines."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webshop_server.search import Hit, load_engine
from webshop_server.search.dense import Dense
from webshop_server.search.encoders import HashedEncoder, load_encoder
from webshop_server.search.hybrid import Hybrid

DOCUMENTS = (
    ("B3", "red cotton shirt for men"), ("B1", "blue cotton shirt for women"), ("B2", "red ceramic mug"),
    ("B5", "steel bottle"), ("B4", "steel bottle"), ("B6", ""),
)  # fmt: skip
ENCODER, OTHER = HashedEncoder(), HashedEncoder()
needs_faiss = pytest.mark.skipif(find_spec("faiss") is None, reason="faiss is not installed: pip install -e '.[dense]'")


class Letters:
    """Counts the letters a to c."""

    size = 3

    def encode(self, texts: Sequence[str]) -> np.ndarray:  # type: ignore[type-arg]
        counts = np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float32).reshape(-1, 3)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)  # type: ignore[no-any-return]


class Ranked:
    """Finds what it was given."""

    name = "ranked"

    def __init__(self, *asins: str) -> None:
        self._asins = asins

    def search(self, query: str, k: int = 50) -> list[Hit]:
        return [Hit(asin, -float(rank)) for rank, asin in enumerate(self._asins)][:k]


def asins(hits: list[Hit]) -> list[str]:
    return [hit.asin for hit in hits]


@given(st.lists(st.text(st.characters(), max_size=30), max_size=4))
@settings(deadline=None)
def test_vectors_have_length_one_or_zero_and_no_memory(texts: list[str]) -> None:
    vectors = ENCODER.encode(texts)
    assert vectors.shape == (len(texts), ENCODER.size)
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all(np.isclose(lengths, 1, atol=1e-5) | (lengths == 0))
    # The other has seen the same texts in another order.
    np.testing.assert_array_equal(OTHER.encode(texts[::-1])[::-1], vectors)


def test_a_misspelt_word_is_nearer_than_another_word() -> None:
    right, wrong, other = ENCODER.encode(["stainless steel", "stainles steal", "cotton shirt"])
    assert right @ wrong > 0.4 > 0.2 > right @ other
    first, second = ENCODER.encode(["a shirt of red cotton", "Cotton, red the shirt"])
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_a_package_that_is_not_installed_names_its_extra() -> None:
    loads: tuple[tuple[str, str, Any], ...] = (
        ("sentence_transformers", "sentence", lambda: load_encoder("some-model")),
        *((name, extra, lambda name=engine: load_engine(name, DOCUMENTS)) for name, extra, engine in (
            ("pyserini", "lucene", "lucene"), ("faiss", "dense", "dense"), ("faiss", "dense", "hybrid"))),
    )  # fmt: skip
    for package, extra, load in loads:
        if find_spec(package) is None:
            with pytest.raises(ImportError, match=rf"expects {package.replace('_', '-')}.*\[{extra}\]"):
                load()


@needs_faiss
def test_equal_products_are_ordered_by_id_and_empty_ones_never_found() -> None:
    engine = Dense(DOCUMENTS)
    assert asins(engine.search("steel bottle", 2)) == ["B4", "B5"]
    assert asins(engine.search("steel bottle", 1)) == ["B4"]
    assert asins(engine.search("cotton shirt"))[:2] in (["B1", "B3"], ["B3", "B1"])
    assert "B6" not in asins(engine.search("red shirt"))
    assert Dense([]).search("red") == []
    for query in ("", "the of", "?!"):
        assert engine.search(query) == []
    assert all(hit.score > 0 for hit in engine.search("\ud800"))


@needs_faiss
def test_any_encoder_can_be_given_an_index_on_disk_answers_alike_and_many_are_searched_in_cells(tmp_path: Path) -> None:
    documents = [("B2", "aab"), ("B1", "abb"), ("B3", "c")]
    Dense.build(documents, tmp_path, encoder=Letters())
    for engine in (Dense(documents, encoder=Letters()), Dense.open(tmp_path, encoder=Letters())):
        assert asins(engine.search("a")) == ["B2", "B1"]
        assert engine.search("c") == [Hit("B3", 1.0)]
    documents = [(f"B{number}", f"word{number} of{number % 7}") for number in range(3000)]
    Dense.build(documents, tmp_path, all_compared=1000)
    stored = Dense.open(tmp_path)
    found = sum(stored.search(text, 1)[0].asin == asin for asin, text in documents[::100])
    assert found >= 27
    assert (tmp_path / "vectors.faiss").stat().st_size < 3000 * ENCODER.size * 2


def test_ranks_are_joined() -> None:
    engine = Hybrid([Ranked("B1", "B2", "B3"), Ranked("B3", "B4")])
    hits = engine.search("anything")
    assert asins(hits) == ["B3", "B1", "B2", "B4"]
    assert hits[0].score == pytest.approx(1 / 63 + 1 / 61)
    assert asins(engine.search("anything", 2)) == ["B3", "B1"]
    assert engine.search("anything", 0) == []
    assert asins(Hybrid([Ranked("B2"), Ranked("B1")]).search("anything")) == ["B1", "B2"]

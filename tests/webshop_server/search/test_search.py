"""The search engines' contract, BM25's numbers, and the analyser rule by rule."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webshop_server.search import (
    ENGINES,
    Hit,
    SearchEngine,
    UnknownEngineError,
    index_name,
    index_parts,
    load_engine,
    require_engine,
)
from webshop_server.search.analyzer import MAX_TOKEN_LENGTH, STOP_WORDS, analyze, tokenize
from webshop_server.search.bm25 import BM25
from webshop_server.search.inverting import stored_length
from webshop_server.search.porter import stem

DOCUMENTS = (
    ("B3", "red cotton shirt for men, red buttons"), ("B1", "blue cotton shirt for women with long sleeves"),
    ("B2", "red ceramic mug 12 ounce"), ("B5", "stainless steel bottle"), ("B4", "stainless steel bottle"), ("B6", ""),
)  # fmt: skip
ENGINE = load_engine("bm25", DOCUMENTS)
any_text = st.text(st.characters(), max_size=40)
words = st.sampled_from(["red", "blue", "cotton", "shirt", "mug", "steel", "bottle", "the", "unknown"])
queries = st.lists(words, max_size=8).map(" ".join)


def _asins(hits: list[Hit]) -> list[str]:
    return [hit.asin for hit in hits]


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_an_engine_is_loaded_by_its_name(name: str) -> None:
    try:
        require_engine(name)
    except ImportError as error:
        pytest.skip(str(error))
    engine: SearchEngine = load_engine(name, DOCUMENTS)
    assert engine.name == name
    assert "B2" in _asins(engine.search("ceramic mug"))


def test_engines_their_encoders_and_their_indexes_have_names() -> None:
    for name, said in {
        "bm26": r"one of bm25.*'bm26'",
        "bm25:large": r"bm25 or dense:<model> or hybrid:<model>; got 'bm25:large'",
        "dense:": r"got 'dense:'",
        "": r"one of bm25, dense, hybrid, lucene; got ''",
    }.items():
        with pytest.raises(UnknownEngineError, match=said):
            load_engine(name, DOCUMENTS)
    assert index_parts("hybrid:x:y:") == ("bm25", "dense:x:y:")
    assert index_parts("hybrid") == ("bm25", "dense")
    names = [index_name(name) for name in ("bm25", "dense", "dense:a/b", "dense:a_b", "dense:a b")]
    assert len(set(names)) == len(names)
    assert all("/" not in name and " " not in name for name in names)


def test_queries_have_no_syntax_and_unknown_words_find_nothing() -> None:
    once, twice = ENGINE.search("mug")[0], ENGINE.search("mug mug")[0]
    assert twice.score == pytest.approx(2 * once.score, rel=1e-6)
    assert _asins(ENGINE.search("steel bottle")) == ["B4", "B5"]
    assert _asins(ENGINE.search("steel bottle", 1)) == ["B4"]
    assert ENGINE.search('+"red" AND -shirt*') == ENGINE.search("red shirt")
    for query in ("", "   ", "the and of", "zzz", "?!"):
        assert ENGINE.search(query) == []
    assert BM25([]).search("red shirt") == BM25([("B1", "")]).search("red shirt") == []


@given(st.lists(any_text, max_size=5), any_text)
@settings(deadline=None)
def test_any_text_is_a_document(texts: list[str], query: str) -> None:
    engine = BM25([(f"B{place}", text) for place, text in enumerate(texts)])
    found = set(_asins(engine.search(query)))
    wanted = set(analyze(query))
    assert found == {f"B{place}" for place, text in enumerate(texts) if wanted & set(analyze(text))}


@given(queries, st.integers(0, 7))
def test_hits_are_sorted_by_score_then_id_and_are_at_most_k(query: str, k: int) -> None:
    every = ENGINE.search(query)
    assert every == sorted(every, key=lambda hit: (-hit.score, hit.asin))
    assert ENGINE.search(query, k) == every[:k]
    assert ENGINE.search(" ".join(reversed(query.split()))) == every


def test_the_score_is_the_formula_of_bm25_for_given_terms_and_lengths_as_well() -> None:
    engine = BM25([("B1", "mug mug red"), ("B2", "red shirt"), ("B3", "shirt shirt shirt shirt")])
    score = math.log(1 + (3 - 1 + 0.5) / 1.5) * 2 / (2 + 0.9 * (0.6 + 0.4 * 3 / 3))
    assert engine.search("mug") == [Hit("B1", pytest.approx(score, rel=1e-6))]
    documents = [("B1", "mug"), ("B2", "mug")]
    engine = BM25(documents, lengths={"B1": 9})
    assert _asins(engine.search("mugs")) == ["B2", "B1"]
    assert engine.search_terms(["mugs"]) == []
    assert engine.search("mug")[0].score > BM25(documents).search("mug")[0].score


@given(st.integers(0, 10_000_000))
def test_lengths_are_stored_in_one_byte(length: int) -> None:
    lengths = (0, 24, 39, 40, 41, 42, 55, 56, 59, 300)
    assert [stored_length(length) for length in lengths] == [0, 24, 39, 40, 40, 42, 54, 56, 56, 280]
    stored = stored_length(length)
    assert stored <= length < stored * 1.125 + 1
    assert stored_length(stored) == stored


def test_words_and_terms_are_found_as_lucene_finds_them() -> None:
    for text, tokens in {
        "a.b. c:d e’f g-h": ["a.b", "c:d", "e’f", "g", "h"], "x_y _1_ __": ["x_y", "_1_"], "１２ ３": ["１２", "３"],
        "3.5, 1,000;2 n95's 5'4": ["3.5", "1,000;2", "n95", "s", "5'4"], "cafe\u0301 naïve": ["cafe\u0301", "naïve"],
        "東京タワー ひら 한국어": ["東", "京", "タワー", "ひ", "ら", "한국어"], "アb ア_b": ["ア", "b", "ア_b"],
        "ภาษาไทย ok": ["ภาษาไทย", "ok"], "אב\"ג א'": ['אב"ג', "א'"],
        "★★ ©™ 【x】 — ✔best": ["★", "★", "©", "™", "x", "✔", "best"], "❤️‍🔥👍🏽a🏽": ["❤️‍🔥", "👍🏽", "a", "🏽"],
        "#️⃣ 1️⃣ # * 🇩🇪🇫🇷": ["#️⃣", "1️⃣", "🇩🇪", "🇫🇷"],
    }.items():  # fmt: skip
        assert tokenize(text) == tokens, text
    assert [len(token) for token in tokenize("a" * 600 + " b")] == [MAX_TOKEN_LENGTH, MAX_TOKEN_LENGTH, 90, 1]
    assert [len(token) for token in tokenize("é" * 256)] == [MAX_TOKEN_LENGTH, 1]
    for text, terms in {
        "Men's WOMEN’S kid＇s o'neills": ["men", "women", "kid", "o'neil"],
        "The shirts with A THE pocket": ["shirt", "pocket"],
        "İ ΣΑΣ": ["i", "σασ"],
    }.items():
        assert analyze(text) == terms
    assert len(STOP_WORDS) == 33


@given(st.text("ab19_.,:;'\"#* -Z\n", max_size=20))
def test_ascii_text_is_split_alike_beside_other_text(text: str) -> None:
    assert tokenize(f"{text} é") == [*tokenize(text), "é"]
    assert tokenize(text.replace("a", "é")) == [token.replace("a", "é") for token in tokenize(text)]


def test_words_are_stemmed_by_porters_rules() -> None:
    for word, expected in (
        ("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("is", "is"), ("as", "as"),
        ("feed", "feed"), ("agreed", "agre"), ("plastered", "plaster"), ("motoring", "motor"),
        ("sing", "sing"), ("conflated", "conflat"), ("hopping", "hop"), ("falling", "fall"),
        ("filing", "file"), ("trekking", "trek"), ("happy", "happi"), ("sky", "sky"), ("enjoy", "enjoi"),
        ("possibly", "possibl"), ("apology", "apolog"), ("vietnamization", "vietnam"),
        ("relational", "relat"), ("electrical", "electr"), ("hopefulness", "hope"), ("adoption", "adopt"),
        ("bowdlerize", "bowdler"), ("oscillators", "oscil"), ("generalizations", "gener"), ("rate", "rate"),
        ("cease", "ceas"), ("controlling", "control"), ("roll", "roll"), ("2s", "2s"), ("n95s", "n95"),
        ("cafés", "café"), ("öing", "öing"), ("dyed", "dy"),
    ):  # fmt: skip
        assert stem(word) == expected, word


@given(st.text("abcdefgilnorstyz'9é", max_size=12))
def test_a_stem_starts_like_its_word(word: str) -> None:
    stemmed = stem(word)
    assert len(stemmed) <= len(word)
    assert stemmed[:-1] == word[: len(stemmed) - 1]

"""Scores: the official ones where they are odd, the sound one, and votes."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_envs.bird import official
from iad_envs.bird import strict_match as sound
from iad_envs.bird.predictions import BirdPredictions
from iad_envs.bird.scoring import GoldCache, QueryScorer
from iad_envs.bird.sql import canonical, is_volatile, order_terms, refusal
from tests.iad_envs.bird.small_bird import make_database

CELLS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, -0.0]), st.sampled_from(["a", "b", "A"]))
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), max_size=6))
MANY = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 15000) SELECT n FROM c"


@pytest.fixture(scope="module")
def scorer(database_file: Path) -> Iterator[QueryScorer]:
    with QueryScorer(database_file, golds=GoldCache()) as scorer:
        yield scorer


def test_soft_f1_has_the_quirks_of_the_official_code_and_a_gold_may_fail(scorer: QueryScorer) -> None:
    predicted, gold = [(1,), (2,), (3,), (4,), (5,)], [(5,), (1,), (3,), (2,), (4,)]
    for one, other, expected in (
        ([], [], 1.0), ([(1, 1)], [(1, 2)], 0.8), ([(7, 7, 7)], [(7,)], 1.0), ([(2, 1)], [(1, 2)], 1.0),
        (predicted, gold, 0.2), ([(1,)], [], 0.0), ([(1,), (1,), (2,)], [(1,), (2,)], 1.0),
    ):  # fmt: skip
        assert official.soft_f1(one, other) == pytest.approx(expected)
    score = scorer.score("SELECT 1", "SELECT nope FROM city")
    assert (score.ex, score.soft_f1, score.sound, score.verdict) == (0.0, 0.0, 0.0, "error")
    assert "the gold query failed: no such column" in score.message
    assert math.isnan(scorer.score("SELECT 1", "").ex)


@given(ROWS, ROWS, st.randoms())
def test_what_is_soundly_right_without_float_noise_is_officially_right(one: Any, other: Any, random: Any) -> None:
    assert official.execution_match(one, one) == 1
    assert official.soft_f1(one, one) == pytest.approx(1.0)
    shuffled = random.sample(one, len(one))
    assert sound.sound_match(shuffled, one, None) == 1
    if sound.sound_match(one, other, None):
        assert official.execution_match(one, other) == 1


def test_r_ves_rewards_its_ceiling_and_that_only_what_is_right_is_timed(scorer: QueryScorer) -> None:
    assert [official.time_reward(ratio) for ratio in (2, 1.9, 1, 0.5, 0.3, 0.1, 0)] == [1.25, 1, 1, 0.75, 0.5, 0.25, 0]
    assert official.r_ves([1.25, 1.25]) == pytest.approx(111.803, abs=1e-3)
    assert official.time_ratio([1.0] * 5) == 0.0  # as published: no spread, nothing kept
    assert official.time_ratio([1.0] * 50 + [1.1] * 50 + [90.0]) == pytest.approx(1.05)
    right, *wrong = [
        scorer.time_reward(sql, "SELECT name FROM city", iterations=5)
        for sql in ("SELECT name FROM city WHERE 1", "SELECT id FROM city", "DELETE FROM city")
    ]
    assert right >= 0.25
    assert wrong == [0.0, 0.0]


@pytest.mark.parametrize(("predicted", "gold", "ex", "is_sound"), [
    ("SELECT sales * 1.00000001 FROM shop", "SELECT sales FROM shop", 0, 1),
    ("SELECT '20.25'", "SELECT 20.25", 0, 0),
    ("SELECT country FROM city GROUP BY 1", "SELECT country FROM city", 1, 0),
    ("SELECT name FROM shop ORDER BY sales, name DESC", "SELECT name FROM shop ORDER BY sales", 1, 1),
    ("SELECT name FROM shop ORDER BY sales DESC", "SELECT name FROM shop ORDER BY sales", 1, 0),
    ("SELECT name, sales s FROM shop ORDER BY 2, 1 DESC", "SELECT name, sales s FROM shop ORDER BY s", 1, 1),
    ("SELECT name FROM shop", "SELECT name FROM shop ORDER BY id", 1, 1),
    ("SELECT name FROM city", "SELECT DISTINCT name FROM city ORDER BY founded", 1, 0),
    ("SELECT id FROM city WHERE 0", "SELECT id FROM city WHERE id > 9", 1, 1),
    (MANY, MANY, 1, 1),  # more rows than an agent may see
    (MANY.replace("15000", "14999"), MANY, 0, 0),
])  # fmt: skip
def test_the_sound_rule_tolerates(scorer: QueryScorer, predicted: str, gold: str, ex: int, is_sound: int) -> None:
    score = scorer.score(predicted, gold)
    assert (score.ex, score.sound, score.verdict) == (ex, is_sound, "right" if is_sound else "wrong")


def test_a_gold_result_is_kept_unless_it_is_chance(scorer: QueryScorer, tmp_path: Path, database_file: Path) -> None:
    assert scorer.gold("SELECT name FROM city") is scorer.gold("SELECT name FROM city")
    assert scorer.gold("SELECT random()") is not scorer.gold("SELECT random()")
    golds = GoldCache()
    for name, value in (("a", 1), ("b", 2)):
        path = make_database(tmp_path / name / "t.sqlite", [f"CREATE TABLE t AS SELECT {value}"])
        with QueryScorer(path, golds=golds) as one:
            assert one.gold("SELECT * FROM t").result.rows == ((value,),)
    with QueryScorer(database_file, golds=GoldCache(max_cells=10)) as small:
        first = small.gold("SELECT name FROM city")
        small.gold("SELECT id, name FROM city")
        assert small.gold("SELECT name FROM city") is not first  # the oldest went


def test_a_text_tells_whether_it_lasts_only_reads_and_orders_its_rows() -> None:
    volatile = (
        "date('now')", "CURRENT_TIMESTAMP", "random()", "strftime('%Y')", "datetime()", "date('no' || 'w')",
        "CURDATE()", "RAND()", "UTC_TIMESTAMP()", "UUID()",
    )  # fmt: skip
    lasting = ("strftime('%Y', founded) FROM city", "date FROM t", "'random'", "name FROM city")
    assert [sql for sql in (*volatile, *lasting) if is_volatile(f"SELECT {sql}")] == [*volatile]
    for sql in ("", " ", ";", "-- nothing", "/* */", "EXPLAIN SELECT 1", "DELETE FROM t", "PRAGMA x"):
        assert refusal(sql).startswith("expected one SELECT, got")
    for sql in ("SELECT 1", "/* a */ select 1;", "WITH x AS (SELECT 1) SELECT 1", "VALUES (1)"):
        assert not refusal(sql)
    sql = "SELECT a FROM (SELECT a FROM t ORDER BY z) ORDER BY max(a, b) DESC, c COLLATE NOCASE LIMIT 3"
    terms = [[part.text for part in term][:3] for term in order_terms(sql)]
    assert terms == [["max", "(", "a"], ["c", "COLLATE", "NOCASE"]]
    assert order_terms("SELECT a FROM (SELECT a FROM t ORDER BY z)") == []


@given(st.text(max_size=60))
def test_any_text_has_a_lasting_canonical_form(text: str) -> None:
    assert canonical(canonical(text)) == canonical(text)


def test_a_vote_drops_failures_first_then_empties_and_splits_ties() -> None:
    for results, is_right, expected in (
        ("a b b", "100", 0.0), ("a b", "10", 0.5), ("empty empty a", "001", 1.0), ("error error empty", "001", 1.0),
        ("error timeout", "00", 0.0), ("", "", 0.0),
    ):  # fmt: skip
        assert BirdPredictions.majority_right(results.split(), [one == "1" for one in is_right]) == expected

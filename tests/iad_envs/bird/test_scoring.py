"""Scores: the official ones where they are odd, the sound one, Spider's suite, and whole prediction files."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_envs.bird import official
from iad_envs.bird import strict_match as sound
from iad_envs.bird.data import load_data
from iad_envs.bird.evaluation import evaluate, majority_right, report
from iad_envs.bird.scoring import GoldCache, QueryScorer
from iad_envs.bird.sql import canonical, is_volatile, order_terms, refusal
from iad_envs.bird.testsuite import GoldFailed, prepared, same_result, suite_match
from tests.iad_envs.bird.small_bird import QUESTIONS, UNANSWERED, make_database, make_folder

CELLS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, -0.0]), st.sampled_from(["a", "b", "A"]))
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), max_size=6))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_database(tmp_path / "towns.sqlite")


@pytest.fixture
def scorer(path: Path) -> Iterator[QueryScorer]:
    with QueryScorer(path, golds=GoldCache()) as scorer:
        yield scorer


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ([], [], 1.0),
        ([(1, 1)], [(1, 2)], 0.8),
        ([(7, 7, 7)], [(7,)], 1.0),
        ([(2, 1)], [(1, 2)], 1.0),
        ([(1,), (2,), (3,), (4,), (5,)], [(5,), (1,), (3,), (2,), (4,)], 0.2),
        ([(1,)], [], 0.0),
        ([(1,), (1,), (2,)], [(1,), (2,)], 1.0),
    ],
)
def test_soft_f1_has_the_quirks_of_the_official_code(predicted: Any, gold: Any, expected: float) -> None:
    assert official.soft_f1(predicted, gold) == pytest.approx(expected)


@given(ROWS)
def test_a_result_is_worth_1_to_itself_under_every_rule(rows: list[tuple[Any, ...]]) -> None:
    assert official.execution_match(rows, rows) == 1
    assert official.soft_f1(rows, rows) == pytest.approx(1.0)
    assert sound.sound_match(rows, rows, None) == 1
    assert same_result(rows, rows, in_order=True)


@given(ROWS, ROWS, st.randoms())
def test_what_is_soundly_right_without_float_noise_is_officially_right(one: Any, other: Any, random: Any) -> None:
    shuffled = random.sample(one, len(one))
    assert sound.sound_match(shuffled, one, None) == 1
    if sound.sound_match(one, other, None):
        assert official.execution_match(one, other) == 1


def test_r_ves_rewards_and_its_ceiling() -> None:
    assert [official.time_reward(ratio) for ratio in (2, 1.9, 1, 0.5, 0.3, 0.1, 0)] == [1.25, 1, 1, 0.75, 0.5, 0.25, 0]
    assert official.r_ves([1.25, 1.25]) == pytest.approx(official.R_VES_CEILING) == pytest.approx(111.803, abs=1e-3)
    assert official.time_ratio([1.0] * 5) == 0.0  # as published: no spread, nothing kept
    assert official.time_ratio([1.0] * 50 + [1.1] * 50 + [90.0]) == pytest.approx(1.05)


def test_r_ves_of_a_pair_times_only_what_is_right(scorer: QueryScorer) -> None:
    gold = "SELECT name FROM city"
    assert scorer.time_reward("SELECT name FROM city WHERE 1", gold, iterations=5) >= 0.25
    assert scorer.time_reward("SELECT id FROM city", gold, iterations=5) == 0.0
    assert scorer.time_reward("DELETE FROM city", gold, iterations=5) == 0.0


@pytest.mark.parametrize(
    ("predicted", "gold", "ex", "is_sound"),
    [
        ("SELECT sales * 1.00000001 FROM shop", "SELECT sales FROM shop", 0, 1),
        ("SELECT '20.25'", "SELECT 20.25", 0, 0),
        ("SELECT country FROM city GROUP BY 1", "SELECT country FROM city", 1, 0),
        ("SELECT name FROM shop ORDER BY sales, name DESC", "SELECT name FROM shop ORDER BY sales", 1, 1),
        ("SELECT name FROM shop ORDER BY sales DESC", "SELECT name FROM shop ORDER BY sales", 1, 0),
        ("SELECT name, sales s FROM shop ORDER BY 2, 1 DESC", "SELECT name, sales s FROM shop ORDER BY s", 1, 1),
        ("SELECT name FROM shop", "SELECT name FROM shop ORDER BY id", 1, 1),
        ("SELECT name FROM city", "SELECT DISTINCT name FROM city ORDER BY founded", 1, 0),
        ("SELECT id FROM city WHERE 0", "SELECT id FROM city WHERE id > 9", 1, 1),
    ],
)
def test_the_sound_rule_counts_orders_and_tolerates(
    scorer: QueryScorer, predicted: str, gold: str, ex: int, is_sound: int
) -> None:
    score = scorer.score(predicted, gold)
    assert (score.ex, score.sound) == (ex, is_sound)
    assert score.verdict == ("right" if is_sound else "wrong")


def test_a_failing_gold_gives_0_and_says_so(scorer: QueryScorer) -> None:
    score = scorer.score("SELECT 1", "SELECT nope FROM city")
    assert (score.ex, score.soft_f1, score.sound, score.verdict) == (0.0, 0.0, 0.0, "error")
    assert "the gold query failed: no such column" in score.message


def test_no_gold_scores_nan(scorer: QueryScorer) -> None:
    assert math.isnan(scorer.score("SELECT 1", "").ex)


def test_a_gold_result_is_kept_unless_it_depends_on_time_or_chance(path: Path) -> None:
    golds = GoldCache()
    with QueryScorer(path, golds=golds) as scorer:
        assert scorer.gold("SELECT name FROM city") is scorer.gold("SELECT name FROM city")
        assert scorer.gold("SELECT random()") is not scorer.gold("SELECT random()")


def test_a_kept_gold_is_of_one_file_only(tmp_path: Path) -> None:
    golds = GoldCache()
    found = []
    for name, statement in (("a", "CREATE TABLE t AS SELECT 1"), ("b", "CREATE TABLE t AS SELECT 2")):
        with QueryScorer(make_database(tmp_path / name / "t.sqlite", [statement]), golds=golds) as scorer:
            found.append(scorer.gold("SELECT * FROM t").result.rows)
    assert found == [((1,),), ((2,),)]


def test_the_gold_cache_lets_the_oldest_go(path: Path) -> None:
    golds = GoldCache(max_cells=10)
    with QueryScorer(path, golds=golds) as scorer:
        first = scorer.gold("SELECT name FROM city")
        scorer.gold("SELECT id, name FROM city")
        assert scorer.gold("SELECT name FROM city") is not first


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT date('now')", True),
        ("SELECT CURRENT_TIMESTAMP", True),
        ("SELECT random()", True),
        ("SELECT strftime('%Y')", True),
        ("SELECT datetime()", True),
        ("SELECT date('no' || 'w')", True),
        ("SELECT strftime('%Y', founded) FROM city", False),
        ("SELECT date FROM t", False),
        ("SELECT 'random'", False),
        ("SELECT name FROM city", False),
    ],
)
def test_texts_that_depend_on_time_or_chance_are_recognised(sql: str, expected: bool) -> None:
    assert is_volatile(sql) is expected


@pytest.mark.parametrize("sql", ["", " ", ";", "-- nothing", "/* */", "EXPLAIN SELECT 1", "DELETE FROM t", "PRAGMA x"])
def test_what_is_not_one_reading_query_is_refused_by_its_text(sql: str) -> None:
    assert refusal(sql).startswith("expected one SELECT, got")


@pytest.mark.parametrize("sql", ["SELECT 1", "/* a */ select 1;", "WITH x AS (SELECT 1) SELECT 1", "VALUES (1)"])
def test_reading_queries_are_not(sql: str) -> None:
    assert not refusal(sql)


@given(st.text(max_size=60))
def test_any_text_has_a_lasting_canonical_form(text: str) -> None:
    assert canonical(canonical(text)) == canonical(text)


def test_the_outermost_order_by_is_read() -> None:
    sql = "SELECT a FROM (SELECT a FROM t ORDER BY z) ORDER BY max(a, b) DESC, c COLLATE NOCASE LIMIT 3"
    assert [[part.text for part in term][:3] for term in order_terms(sql)] == [
        ["max", "(", "a"],
        ["c", "COLLATE", "NOCASE"],
    ]
    assert order_terms("SELECT a FROM (SELECT a FROM t ORDER BY z)") == []


def test_a_result_larger_than_an_agent_may_see_is_scored_whole(scorer: QueryScorer) -> None:
    rows = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 15000) SELECT n FROM c"
    assert scorer.score(rows, rows).ex == 1.0
    assert scorer.score(rows.replace("15000", "14999"), rows).ex == 0.0


def test_columns_may_be_permuted_in_a_suite_and_order_counts_only_with_order_by(tmp_path: Path) -> None:
    databases = [make_database(tmp_path / f"{name}.sqlite") for name in "ab"]
    gold = "SELECT name, country FROM city"
    assert suite_match(databases, "SELECT country, name FROM city ORDER BY name", gold) == 1
    assert suite_match(databases, "SELECT country, name FROM city ORDER BY 2 DESC", f"{gold} ORDER BY name") == 0
    assert suite_match(databases, "SELECT country, country FROM city", gold) == 0
    assert suite_match(databases, "SELECT nope FROM city", gold) == 0
    assert suite_match(databases, "SELECT DISTINCT country FROM city", "SELECT country FROM city") == 1
    assert (
        suite_match(databases, "SELECT DISTINCT country FROM city", "SELECT country FROM city", keep_distinct=True) == 0
    )


def test_one_database_that_tells_two_queries_apart_is_enough(tmp_path: Path) -> None:
    same = make_database(tmp_path / "a.sqlite", ["CREATE TABLE t (a, b)", "INSERT INTO t VALUES (1, 1)"])
    apart = make_database(tmp_path / "b.sqlite", ["CREATE TABLE t (a, b)", "INSERT INTO t VALUES (1, 2)"])
    assert suite_match([same], "SELECT a FROM t", "SELECT b FROM t") == 1
    assert suite_match([same, apart], "SELECT a FROM t", "SELECT b FROM t") == 0


def test_a_suite_whose_gold_fails_says_so(path: Path) -> None:
    with pytest.raises(GoldFailed, match=r"expected the gold to run on towns\.sqlite"):
        suite_match([path], "SELECT 1", "SELECT nope")


def test_a_suite_repairs_what_parsers_break() -> None:
    assert prepared("SELECT DISTINCT a FROM t WHERE b > = 3") == "SELECT a FROM t WHERE b >= 3"
    assert prepared("SELECT YEAR(CURDATE())", keep_distinct=True) == "SELECT 2020"


@given(ROWS, st.randoms())
def test_a_suite_accepts_any_permutation_of_columns_and_rows(rows: Any, random: Any) -> None:
    width = len(rows[0]) if rows else 1
    columns = random.sample(range(width), width)
    moved = [tuple(row[place] for place in columns) for row in random.sample(rows, len(rows))]
    assert same_result(moved, rows, in_order=False)


def test_a_prediction_file_is_reported_by_difficulty_by_id_and_by_both_rules(tmp_path: Path) -> None:
    data = load_data(make_folder(tmp_path, [*reversed(QUESTIONS), UNANSWERED]), "dev")
    answers = {"7": data.golds["7"], "8": "SELECT name FROM shop WHERE sales > 0", "9": "DROP TABLE city"}
    for workers in (1, 2):
        scores = evaluate(data, answers, workers=workers)
        rows = {row.difficulty: row for row in report(data, scores)}
        assert (rows["simple"].n, rows["simple"].ex, rows["simple"].sound) == (1, 100.0, 100.0)
        assert (rows["moderate"].ex, rows["moderate"].sound) == (100.0, 0.0)
        assert (rows["challenging"].ex, rows["challenging"].n_rejected) == (0.0, 1)
        assert (rows["total"].n, rows["total"].ex) == (3, pytest.approx(200 / 3))
        assert scores["10"].verdict == "no gold"


def test_a_difficulty_without_questions_divides_by_nothing(tmp_path: Path) -> None:
    data = load_data(make_folder(tmp_path, QUESTIONS[:1]), "dev")
    rows = report(data, evaluate(data, {}))
    assert [(row.difficulty, row.n, row.ex) for row in rows] == [
        ("simple", 1, 0.0),
        ("moderate", 0, None),
        ("challenging", 0, None),
        ("total", 1, 0.0),
    ]


@pytest.mark.parametrize(
    ("results", "is_right", "expected"),
    [
        (["a", "b", "b"], [True, False, False], 0.0),
        (["a", "b"], [True, False], 0.5),
        (["empty", "empty", "a"], [False, False, True], 1.0),
        (["error", "error", "empty"], [False, False, True], 1.0),
        (["error", "timeout"], [False, False], 0.0),
    ],
)
def test_a_vote_drops_failures_first_then_empties_and_splits_ties(
    results: list[str], is_right: list[bool], expected: float
) -> None:
    assert majority_right(results, is_right) == expected

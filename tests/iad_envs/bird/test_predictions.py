"""BIRD's prediction files in every form, and their scores without the environment, which are the environment's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.bird import official
from iad_envs.bird.predictions import BLANK, BirdPredictions
from tests.iad_envs.bird.small_bird import QUESTIONS, UNANSWERED, make_folder

SEPARATOR = "\t----- bird -----\t"
QUERIES = [
    QUESTIONS[0]["SQL"], "SELECT COUNT(*) FROM shop", "SELECT 2", "SELECT 2.0, 1", "SELECT nothing",
    "SELECT id FROM shop WHERE 0", "DELETE FROM shop", "SELECT 1; SELECT 2", "", BLANK, "EXPLAIN SELECT 1",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n", "SELECT 'x]'",
    "not SQL \ud800",
]  # fmt: skip


@pytest.fixture
def make(towns: Path) -> Iterator[Any]:
    made = []

    def make_one(**options: Any) -> tuple[gym.Env[Any, Any], BirdPredictions]:
        env = gym.make("IAD/BIRD-v0", **{"data_dir": towns, "score_limit_s": 0.2, "time_limit_s": 0.2} | options)
        made.append(env)
        return env, BirdPredictions(env)

    yield make_one
    for env in made:
        env.close()


def item(value: Any, key: str | None = None, position: int = 0) -> tuple[str, int, str | None, Any]:
    return f"file, {position}", position, key, value


def read(form: BirdPredictions, *items: tuple[str, int, str | None, Any]) -> list[tuple[str, str]]:
    found = form.read(items)
    assert found.unknown == found.problems == found.notes == []
    assert all(one.action == f"submit[{one.text}]" for one in found.answers)
    return [(one.task_id, one.text) for one in found.answers]


def test_every_form_of_a_file_has_the_same_answers(make: Any) -> None:
    _, form = make()
    one, three = "SELECT 1", "SELECT 3"
    named = (("question_id", "predicted_sql"), ("task_id", "sql"), ("id", "SQL"), ("question_id", "prediction"))
    for items in (
        [item(f"SELECT {place + 1}{SEPARATOR}towns", str(place)) for place in (0, 2)],
        [item(one, "7"), item(three, "9")], [item(one), item(three, position=2)],
        [item({"sql": one}), item({"sql": three}, position=2)], [item({"sql": one}, "7"), item({"sql": three}, "9")],
        *([item({key: 7, sql: one}), item({key: "9", sql: three})] for key, sql in named),
    ):  # fmt: skip
        assert read(form, *items) == [("7", one), ("9", three)]
    samples = [("7", one), ("7", "SELECT 2")]
    assert read(form, item([one, "SELECT 2"], "7")) == samples
    assert read(form, item({"question_id": 7, "sql": [one, "SELECT 2"]})) == samples
    assert read(form, *(item({"question_id": 7, "sql": f"SELECT {n}"}) for n in (1, 2))) == samples
    assert read(form, item([], "7")) == []


def test_an_id_is_never_taken_for_a_position_and_what_is_no_query_is_named(make: Any) -> None:
    _, form = make()
    found = form.read([item({"question_id": place, "sql": "SELECT 1"}) for place in (0, 1, 7)])
    assert ([one.task_id for one in found.answers], found.unknown) == (["7"], ["0", "1"])
    mixed = [item("SELECT 1"), item("SELECT 2", position=1), item({"question_id": 9, "sql": "SELECT 3"}, position=2)]
    assert read(form, *mixed) == [("7", "SELECT 1"), ("8", "SELECT 2"), ("9", "SELECT 3")]
    # An object without an id among others with one is no attempt at another question.
    named = [item({"question_id": task, "sql": "SELECT 1"}, position=place) for place, task in enumerate((7, 8))]
    for nameless in ({"sql": "SELECT 3"}, {"question_id": None, "sql": "SELECT 3"}):
        found = form.read([item(nameless), *named, item(nameless, position=2)])
        assert [one.task_id for one in found.answers] == ["7", "8"]
        assert [one.partition(": expected question_id")[0] for one in found.problems] == ["file, 0", "file, 2"]
    assert read(form, item({"question_id": None, "sql": "SELECT 3"}, position=2)) == [("9", "SELECT 3")]
    assert read(form, named[0], item({"sql": "SELECT 3"}, "9")) == [("7", "SELECT 1"), ("9", "SELECT 3")]
    broken = ({"question_id": 8}, {"question_id": True, "sql": "SELECT 1"})
    elsewhere = item(f"SELECT 1{SEPARATOR}elsewhere", "9")
    found = form.read([item(5, "7"), *map(item, broken), item("SELECT 1", "99"), elsewhere])
    assert [(one.task_id, one.text) for one in found.answers] == [("7", BLANK), ("9", "SELECT 1")]
    said = [problem.partition(", got ")[2].partition(";")[0] for problem in found.problems]
    assert said == [*map(str, broken), "5"]
    assert found.unknown == ["99"]
    assert found.notes == ["Predictions that name another database than their question's, which is used: 1"]


@pytest.mark.parametrize("rule", ["official", "ex", "sound"])
def test_scores_without_the_environment_are_those_of_a_submit(rule: str, make: Any) -> None:
    env, form = make(scoring=rule)
    n_done = []
    found = form.score([("7", sql) for sql in QUERIES], workers=2, timings=0, advance=lambda: n_done.append(1))
    assert len(n_done) == len(QUERIES)
    for sql, one in zip(QUERIES, found, strict=True):
        env.reset(options={"task_id": "7"})
        _, reward, _, _, info = env.step(f"submit[{sql}]")
        assert (one.success, one.scores) == (reward, info["reward_parts"]), sql
        assert form.result_of(info) == one.result, sql
    assert [one.success for one in found[:3]] == [1.0, 0.0, 1.0]
    assert {one.verdict for one in found} >= {"right", "wrong", "error", "rejected", "timeout"}
    assert "EX" in form.notes[0]
    answers = [(str(question["question_id"]), question["SQL"]) for question in (*QUESTIONS, *reversed(QUESTIONS))]
    for workers in (1, 3):  # answers of many questions come back at their places
        found = form.score([*answers, ("8", "SELECT 1")], workers=workers, timings=0, advance=bool)
        assert [one.success for one in found] == [1.0] * 6 + [0.0]


def test_questions_without_gold_and_without_a_database_cost_only_themselves(tmp_path: Path) -> None:
    other = {**QUESTIONS[0], "question_id": 20, "db_id": "gone"}
    make_folder(tmp_path / "bird", [*QUESTIONS, UNANSWERED, other, {**other, "question_id": 21, "db_id": "broken"}])
    broken = tmp_path / "bird" / "dev_databases" / "broken" / "broken.sqlite"
    broken.parent.mkdir()
    broken.write_bytes(b"no database" * 100)
    env = gym.make("IAD/BIRD-v0", data_dir=tmp_path / "bird", scoring="official")
    answers = [("10", "SELECT 1"), ("20", "SELECT 1"), ("7", QUESTIONS[0]["SQL"]), ("21", "SELECT 1")]
    found = BirdPredictions(env).score(answers, workers=1, timings=3, advance=bool)
    assert found is not None
    assert [(one.error, one.success) for one in found][:3] == [("no gold", None), ("no database", None), ("", 1.0)]
    assert (found[3].error, found[3].success) == ("database", None)
    assert ["r_ves" in one.scores for one in found[:3]] == [False, False, True]
    env.close()


def test_r_ves_is_measured_for_right_queries_and_said_to_depend_on_the_machine(make: Any) -> None:
    _, form = make()
    right = QUESTIONS[0]["SQL"]
    slow = f"{right} AND (SELECT count(*) FROM shop a, shop b, shop c, shop d, shop e, shop f, shop g) > 0"
    answers = [("7", sql) for sql in (right, slow, "SELECT 9", "SELECT 2 FROM city LIMIT 1")]
    same, slower, wrong, _ = form.score(answers, workers=1, timings=8, advance=bool)
    assert same.scores["r_ves"] >= official.r_ves([0.5])
    assert slower.scores["r_ves"] == official.r_ves([0.25])
    assert wrong.scores["r_ves"] == 0.0
    assert "8 times" in form.notes[-1]
    assert "machine" in form.notes[-1]
    _, form = make(dialect="postgresql", dsn="dbname=nothing")
    assert form.score(answers, workers=1, timings=0, advance=bool) is None  # the environment scores them
    with pytest.raises(ValueError, match="--r-ves"):
        form.score(answers, workers=1, timings=1, advance=bool)

"""`IAD/BIRD-v0` on a small data folder: the contract, and what is special about SQL."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.bird.actions import parse_action
from iad_envs.bird.env import BirdEnv
from iad_envs.data import DATA_VARIABLE
from iad_envs.errors import DataNotFound, UnknownTask
from tests.contract.environments import EnvironmentContract, Subject, solution_of
from tests.iad_envs.bird.small_bird import QUESTIONS, make_folder

GOLDS = {str(question["question_id"]): question["SQL"] for question in QUESTIONS}
LOOK = "execute[SELECT name FROM city]"


SUBJECTS: dict[str, dict[str, Any]] = {
    "interactive": {"ending": lambda env: [LOOK, *solution_of(env)]},
    "answer": {"arguments": {"mode": "answer", "max_steps": 10}},
}
"""In the mode `answer` one action is offered; a second step is left to go on after a text that is none."""


@pytest.mark.parametrize("asked", SUBJECTS)
class TestContract(EnvironmentContract):
    @pytest.fixture
    def subject(self, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
        make_folder(tmp_path / "bird")
        monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
        return Subject("IAD/BIRD-v0", lambda info: LOOK, **SUBJECTS[asked])


@pytest.fixture(scope="module")
def shared(towns: Path) -> Iterator[BirdEnv]:
    env = BirdEnv(data_dir=towns)
    yield env
    env.close()


@pytest.fixture
def env(shared: BirdEnv) -> BirdEnv:
    shared.reset(options={"task_id": "8"})
    return shared


def test_the_first_page_holds_question_evidence_and_schema_and_no_gold(env: BirdEnv) -> None:
    observation, info = env.reset(options={"task_id": "7"})
    for part in ("How many shops are in Bern?", "Evidence: Bern refers to", "CREATE TABLE city", "'Bern'"):
        assert part in observation
    assert "COUNT(*)" not in json.dumps([observation, info["page"], info["facts"]], default=str)
    assert [table["name"] for table in info["page"]["tables"]] == ["city", "shop", "order item"]


def test_executing_shows_rows_and_leaves_the_episode_open(env: BirdEnv, towns: Path) -> None:
    observation, reward, terminated, truncated, info = env.step("execute[SELECT id, name, founded FROM city]")
    rows = ["1 | Bern | 1191-05-01", "2 | Basel | 0374-01-01", "3 | Lyon | -0043-01-01", "4 | Nice | NULL"]
    assert observation.splitlines()[:6] == ["execute: 4 rows", "id | name | founded", *rows]
    assert "List the shops by sales, best first." in observation
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["page"]["rows"][3] == (4, "Nice", None)
    observation, *_, info = env.step("execute[SELECT x'00ff', printf('%5000d', 1)]")
    assert "x'00ff'" in observation
    assert len(observation.partition("\n\n")[0]) < 500
    json.dumps(info["page"])
    info = env.step("execute[SELECT name FROM shop WHERE name = 'Anas']")[4]
    findings = {finding["code"]: finding for finding in info["facts"]["findings"]}
    assert set(findings) == {"empty", "literal_not_found", "literal_unasked"}
    assert findings["literal_not_found"]["severity"] == "warning"
    assert 'near: "Anna\'s"' in findings["literal_not_found"]["message"]
    json.dumps(info["facts"])
    few = BirdEnv(data_dir=towns, shown_rows=2)
    few.reset(seed=0)
    observation, *_, info = few.step("execute[SELECT a.id FROM city a, city b]")
    assert [observation.splitlines()[place] for place in (0, 4)] == ["execute: 16 rows", "... 14 more rows"]
    assert (len(info["page"]["rows"]), info["page"]["n_rows"]) == (2, 16)
    few.close()


def test_actions_are_read() -> None:
    with_x = "with x as (select 1) select * from x"
    for action, kind, sql in (
        ("execute[SELECT 1]", "execute", "SELECT 1"),
        (" Submit [ SELECT a[1] FROM t ] ", "submit", "SELECT a[1] FROM t"),
        ("SELECT 1", "submit", "SELECT 1"), (with_x, "submit", with_x), ("submit[]", "submit", ""), ("", "", ""),
        ("-- why\nSELECT 1", "submit", "-- why\nSELECT 1"), ("```sql\nSELECT 1\n```", "submit", "SELECT 1"),
        ("execute[```\nSELECT 1\n```]", "execute", "SELECT 1"), ("DELETE FROM t", "submit", "DELETE FROM t"),
        ("the answer is 4", "", ""), ("execute SELECT 1", "", ""),
    ):  # fmt: skip
        assert parse_action(action) == (kind, sql)


def test_a_bare_query_is_a_submit_and_both_have_one_key(env: BirdEnv) -> None:
    assert [env.terminal(action) for action in ("SELECT name FROM city", LOOK)] == [True, False]
    same = ["SELECT name FROM city", "submit[select  NAME\nfrom city ;]", "```sql\nSELECT name -- x\nFROM city\n```"]
    assert len({env.action_key(action) for action in same}) == 1
    assert env.action_key("SELECT 'A'") != env.action_key("SELECT 'a'")


@pytest.mark.parametrize(
    ("action", "is_valid"),
    [("submit[SELECT]", False), ("submit[...]", False), ("execute[SELECT]", True), ("submit[SELECT nosuch]", True)],
)
def test_an_answer_that_is_no_sql_is_no_valid_action(env: BirdEnv, action: str, is_valid: bool) -> None:
    env.reset(options={"task_id": "8"})
    observation, reward, terminated, _, info = env.step(action)
    assert info["invalid_action"] is not is_valid
    assert (reward, terminated) == (0.0, action.startswith("submit"))
    assert "Invalid action" not in observation


def test_in_the_mode_answer_only_a_submit_is_offered_and_anything_else_ends_the_only_decision(towns: Path) -> None:
    env = BirdEnv(data_dir=towns, mode="answer")
    longer = BirdEnv(data_dir=towns, mode="answer", max_steps=3)
    assert [one.max_steps for one in (BirdEnv(data_dir=towns), env, longer)] == [10, 1, 3]
    observation, info = env.reset(options={"task_id": "8"})
    assert info["available_actions"] == ("submit[...]",)
    assert "execute" not in observation
    assert "submit[SQL], or a bare query" in observation
    observation, reward, terminated, truncated, info = env.step(LOOK)
    assert "Invalid action: expected submit[SQL] or a bare query, got 'execute[" in observation
    assert "Bern" not in observation.partition("Invalid action")[0].partition("CREATE TABLE city")[0]
    assert (reward, terminated, truncated, info["stop_reason"]) == (0.0, False, True, "max_steps")
    assert info["invalid_action"] is True
    env.reset(options={"task_id": "8"})
    _, reward, terminated, _, info = env.step(GOLDS["8"])
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    env.close()


def test_the_key_of_an_outcome_is_its_set_of_rows_and_progress_the_soft_f1_of_the_last_query(env: BirdEnv) -> None:
    def key(sql: str) -> str:
        return env.simulate(env.snapshot(), sql).key

    assert key("SELECT id FROM city") == key("SELECT 1.0 * id FROM city ORDER BY id DESC")
    assert key("SELECT id FROM city") == key("SELECT city.id FROM city, (SELECT 1 UNION SELECT 2)")
    assert key("SELECT id FROM city") != key("SELECT name FROM city")
    assert key("SELECT id FROM city WHERE 0").endswith(":empty")
    assert key("SELECT nope FROM city") == key("SELECT x FROM nope")
    assert key("SELECT 1 UNION ALL SELECT 1") == key("SELECT 1.0") != key("SELECT '1'")
    steps = ["execute[SELECT name FROM shop WHERE id = 2]", "nonsense", "execute[SELECT id FROM shop]"]
    assert [round(env.step(action)[4]["progress"], 3) for action in steps] == [0.5, 0.5, 0.0]


def test_a_right_set_in_the_wrong_order_is_right_officially_and_not_soundly(towns: Path) -> None:
    rewards = {}
    for scoring in ("ex", "official", "sound"):
        env = BirdEnv(data_dir=towns, scoring=scoring)
        env.reset(options={"task_id": "8"})
        _, rewards[scoring], _, _, info = env.step("SELECT name FROM shop WHERE sales > 0 ORDER BY sales")
        assert (info["reward_parts"]["ex"], info["reward_parts"]["sound"]) == (1.0, 0.0)
        env.close()
    assert rewards == {"ex": 1.0, "official": 1.0, "sound": 0.0}


def test_a_question_without_gold_runs_scores_nan_and_says_so(env: BirdEnv) -> None:
    _, info = env.reset(options={"task_id": "10"})
    assert info["facts"]["has_gold"] is False
    assert env.oracle(env.snapshot())["solution"] is None
    assert env.step("execute[SELECT name FROM shop]")[1] == 0.0
    _, reward, terminated, _, info = env.step("SELECT name FROM shop")
    assert (terminated, info["success"]) == (True, False)
    assert math.isnan(float(reward))
    assert math.isnan(info["progress"])


def test_a_database_that_is_missing_or_corrupt_is_a_clear_error(tmp_path: Path) -> None:
    env = BirdEnv(data_dir=make_folder(tmp_path, [{**QUESTIONS[0], "db_id": "nowhere"}, QUESTIONS[1]]))
    with pytest.raises(DataNotFound, match=r"expected the database nowhere in .*nowhere.sqlite, found none; unpack"):
        env.reset(options={"task_id": "7"})
    (tmp_path / "dev_databases" / "towns" / "towns.sqlite").write_bytes(b"garbage" * 1000)
    with pytest.raises(OSError, match=r"expected an SQLite database in .*towns.sqlite, got: file is not a database"):
        env.reset(options={"task_id": "8"})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schema": "xml"}, r"ddl, ddl\+samples, m-schema"), ({"scoring": "kind"}, "ex, official, sound"),
        ({"split": "test"}, "dev, dev_20251106, mini_dev, .*_postgresql, .*_mysql, train, train_filtered, validation"),
        ({"time_limit_s": 0}, "above 0 s"), ({"dialect": "oracle"}, "sqlite, postgresql, mysql"),
        ({"dialect": "mysql"}, "a dsn with"), ({"dsn": "dbname=x"}, "a dsn with"),
        ({"mode": "answers"}, "interactive, answer"), ({"split": "mini_dev"}, "mini_dev_sqlite.json or .*set IAD_DATA"),
        ({"split": "validation"}, "no split 'validation'.*unset IAD_DATA and data_dir"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense_are_refused(towns: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises((UnknownTask, ValueError, DataNotFound), match=said):
        BirdEnv(data_dir=towns, **options)


def test_a_large_result_is_not_kept_whole_and_still_scores_right(tmp_path: Path) -> None:
    many = "SELECT a.id, b.id, c.id, d.id, e.id, f.id FROM city a, city b, city c, city d, city e, city f"
    env = BirdEnv(data_dir=make_folder(tmp_path, [{**QUESTIONS[0], "SQL": many}]))
    env.reset(seed=0)
    info = env.step(f"execute[{many} ORDER BY 6]")[4]
    assert len(env.snapshot()._moment.state.last.result.rows) == 20
    assert info["page"]["n_rows"] == 4096
    assert env.step(f"{many} ORDER BY 5")[1] == 1.0
    env.close()

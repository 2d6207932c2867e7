"""`IAD/BIRD-v0` on a small data folder: the contract, and what is special about SQL.

What is seen and scored along queries is recorded: `tests/fixtures/episodes/bird.toml` has the ways.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.bird.actions import parse_action
from iad_envs.bird.env import BirdEnv
from iad_envs.errors import DataNotFound, UnknownTask
from iad_envs.official.place import DATA_VARIABLE
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


def test_a_bare_query_is_a_submit_with_its_key_and_without_gold_there_is_no_solution(env: BirdEnv) -> None:
    assert [env.terminal(action) for action in ("SELECT name FROM city", LOOK)] == [True, False]
    same = ["SELECT name FROM city", "submit[select  NAME\nfrom city ;]", "```sql\nSELECT name -- x\nFROM city\n```"]
    assert len({env.action_key(action) for action in same}) == 1
    assert env.action_key("SELECT 'A'") != env.action_key("SELECT 'a'")
    env.reset(options={"task_id": "10"})
    assert env.oracle(env.snapshot())["solution"] is None, "it has no gold"
    assert math.isnan(float(env.step("SELECT name FROM shop")[1]))


def test_the_key_of_an_outcome_is_its_set_of_rows(env: BirdEnv) -> None:
    def key(sql: str) -> str:
        return env.simulate(env.snapshot(), sql).key

    assert key("SELECT id FROM city") == key("SELECT 1.0 * id FROM city ORDER BY id DESC")
    assert key("SELECT id FROM city") == key("SELECT city.id FROM city, (SELECT 1 UNION SELECT 2)")
    assert key("SELECT id FROM city") != key("SELECT name FROM city")
    assert key("SELECT id FROM city WHERE 0").endswith(":empty")
    assert key("SELECT nope FROM city") == key("SELECT x FROM nope")
    assert key("SELECT 1 UNION ALL SELECT 1") == key("SELECT 1.0") != key("SELECT '1'")


def test_a_database_that_is_missing_or_corrupt_is_a_clear_error(tmp_path: Path) -> None:
    env = BirdEnv(data_dir=make_folder(tmp_path, [{**QUESTIONS[0], "db_id": "nowhere"}, QUESTIONS[1]]))
    with pytest.raises(DataNotFound, match=r"expected the database nowhere in .*nowhere.sqlite, found none; unpack"):
        env.reset(options={"task_id": "7"})
    (tmp_path / "dev_databases" / "towns" / "towns.sqlite").write_bytes(b"garbage" * 1000)
    with pytest.raises(OSError, match=r"expected an SQLite database in .*towns.sqlite, got: file is not a database"):
        env.reset(options={"task_id": "8"})


@pytest.mark.parametrize(("options", "said"), [
    ({"schema": "xml"}, r"ddl, ddl\+samples, m-schema"), ({"scoring": "kind"}, "ex, official, sound"),
    ({"split": "test"}, "dev, dev_20251106, mini_dev, .*_postgresql, .*_mysql, train, train_filtered, validation"),
    ({"time_limit_s": 0}, "above 0 s"), ({"dialect": "oracle"}, "sqlite, postgresql, mysql"),
    ({"dialect": "mysql"}, "a dsn with"), ({"dsn": "dbname=x"}, "a dsn with"),
    ({"mode": "answers"}, "interactive, answer"), ({"split": "mini_dev"}, "mini_dev_sqlite.json or .*set IAD_DATA"),
    ({"split": "validation"}, "no split 'validation'.*unset IAD_DATA and data_dir"),
])  # fmt: skip
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

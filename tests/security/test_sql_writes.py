"""Statements that try to write, to reach other files, or to change the connection: refused, and nothing is changed."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from iad_envs.bird.database import Queried
from iad_envs.bird.env import BirdEnv
from iad_envs.bird.scoring import QueryScorer
from tests.iad_envs.bird.small_bird import make_database, make_folder
from tests.security.attacks import SQL

FILES = ("ATTACH '{file}' AS other", "ATTACH '{new}' AS other", "VACUUM INTO '{new}'")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("towns") / "towns.sqlite")


@pytest.fixture(scope="module")
def scorer(path: Path) -> Iterator[QueryScorer]:
    with QueryScorer(path) as scorer:
        yield scorer


@pytest.fixture(scope="module")
def database(scorer: QueryScorer) -> Queried:
    return scorer.database


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_statement_that_does_more_than_read_is_no_answer(path: Path, scorer: QueryScorer) -> None:
    before = digest(path)
    for sql in SQL["writing"]:
        score = scorer.score(sql, "SELECT name FROM city")
        assert (score.sound, score.verdict in ("rejected", "error")) == (0.0, True), sql
        assert scorer.score("SELECT name FROM city", "SELECT name FROM city").sound == 1.0, sql
        assert digest(path) == before, sql
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("sql", FILES)
def test_other_files_are_out_of_reach_even_for_the_replica_of_the_official_procedure(
    sql: str, scorer: QueryScorer, tmp_path: Path
) -> None:
    new = tmp_path / "new.sqlite"
    sql = sql.format(file=make_database(tmp_path / "other.sqlite"), new=new)
    assert scorer.database.run(sql).status == "rejected"
    assert scorer.score(sql, "SELECT name FROM city").verdict == "rejected"
    assert not new.exists()


@pytest.mark.parametrize(
    ("sql", "status", "said"),
    [
        ("DELETE FROM city", "rejected", "not allowed: .*DELETE"),
        ("ATTACH 'x' AS y", "rejected", "not allowed: .*ATTACH"),
        ("PRAGMA query_only = 0", "rejected", "not allowed: .*PRAGMA"),
        ("SELECT zeroblob(10)", "rejected", "not allowed: .*zeroblob"),
        ("SELECT load_extension('x')", "rejected", "not allowed: .*load_extension"),
        ("SELECT 1; SELECT 2", "error", "one statement"),
        ("SELECT 1;; DROP TABLE city", "error", "one statement"),
        ("SELECT 1 -- \n; DELETE FROM city", "error", "one statement"),
        ("SELECT 1\0", "error", "null character"),
        ("SELECT '\ud800'", "error", "lone surrogate"),
        ("\0", "error", "null character"),
        *((sql, "ok", "") for sql in ("SELECT 1;", "SELECT 1; ", "SELECT 1; -- done")),
    ],
)
def test_a_refusal_says_what_is_not_allowed(sql: str, status: str, said: str, database: Queried) -> None:
    result = database.run(sql)
    assert (result.status, result.rows) == (status, ((1,),) if status == "ok" else ())
    assert re.search(said, result.message)


def test_official_mode_reports_what_the_official_evaluator_would_and_leaves_the_database_alone(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    path = folder / "dev_databases" / "towns" / "towns.sqlite"
    before = digest(path)
    rewards = {}
    for scoring in ("official", "ex", "sound"):
        env = BirdEnv(data_dir=folder, scoring=scoring)
        env.reset(options={"task_id": "8"})
        _, rewards[scoring], _, _, info = env.step("DELETE FROM shop")
        assert (info["reward_parts"]["ex"], info["reward_parts"]["rejected"]) == (1.0, 1.0)
        assert info["facts"]["findings"][0]["code"] == "rejected"
        env.reset(options={"task_id": "8"})
        assert "Corner" in env.step("execute[SELECT name FROM shop]")[0]
        env.close()
    assert rewards == {"official": 1.0, "ex": 0.0, "sound": 0.0}
    assert digest(path) == before

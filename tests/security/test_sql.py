"""Queries that try to take all time or memory, to end the worker, to write, or to reach other files: none harms."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iad_envs.bird.database import EXPLORING, MIB, DatabaseClient, QueryLimits, WorkerFailed
from iad_envs.bird.env import BirdEnv
from iad_envs.bird.scoring import QueryScorer
from tests.iad_envs.bird.small_bird import make_database, make_folder
from tests.security.attacks import SQL
from tests.waiting import until

ROOT = Path(__file__).parents[2]
TAKING = SQL["taking"]
LIMIT_S = 0.1
SLACK_S = 2.0
"""What a machine with other tests on it may add. Without its limit an attack would take minutes, or never end."""
LIMITS = QueryLimits(seconds=LIMIT_S)
ROWS = "INSERT INTO n SELECT value FROM json_each('[{}]')".format(",".join(map(str, range(1000))))
LONG = (
    "name IN ({})".format(", ".join(f"'x{i}'" for i in range(1200))),
    f"name = '{'Bern' * 2400}'",
    f"name LIKE '{'%B' * 120}'",
    " OR ".join(["name = 'B'"] * 90),
)
FILES = ("ATTACH '{file}' AS other", "ATTACH '{new}' AS other", "VACUUM INTO '{new}'")


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("attacked") / "n.sqlite", ("CREATE TABLE n (n INTEGER)", ROWS))


@pytest.fixture(scope="module")
def database(numbers: Path) -> Iterator[DatabaseClient]:
    with DatabaseClient(numbers, LIMITS) as database:
        yield database


@pytest.mark.parametrize("attack", TAKING)
def test_an_attack_ends_in_time_and_the_next_query_is_answered_at_once(attack: str, database: DatabaseClient) -> None:
    started = time.monotonic()
    result = database.run(TAKING[attack])
    took = time.monotonic() - started
    assert took <= LIMIT_S + SLACK_S
    assert len(result.rows) <= LIMITS.rows
    if (status := Path(f"/proc/{database.pid}/status")).exists():
        assert int(re.findall(r"^VmHWM:\s*(\d+)", status.read_text(), re.MULTILINE)[0]) < 512 * 1024
    started = time.monotonic()
    assert database.run("SELECT count(*) FROM n").rows == ((1000,),)
    assert time.monotonic() - started < SLACK_S


def test_a_worker_has_an_address_space_limit_and_can_write_no_file(database: DatabaseClient) -> None:
    database.run("SELECT 1")
    limits = Path(f"/proc/{database.pid}/limits").read_text()
    values = {line[:26].strip(): line[26:].split()[0] for line in limits.splitlines()[1:]}
    assert int(values["Max address space"]) == EXPLORING.address_space_bytes
    assert values["Max file size"] == values["Max core file size"] == "0"
    assert int(values["Max open files"]) <= 32


def test_what_can_not_be_interrupted_is_killed_and_replaced(numbers: Path) -> None:
    with DatabaseClient(numbers, QueryLimits(seconds=0.2)) as database:
        database.run("SELECT 1")
        first = database.pid
        result = database.run(TAKING["printf with a huge precision"])
        assert (result.status, result.rows) == ("timeout", ())
        assert database.run("SELECT 1").rows == ((1,),)
        assert (database.pid != first, database.n_started) == (True, 2)


def test_a_result_is_cut_at_the_row_cap_and_at_the_byte_cap(numbers: Path) -> None:
    with DatabaseClient(numbers, QueryLimits(rows=100, result_bytes=MIB)) as database:
        for sql, is_cut in (("SELECT n FROM n", True), ("SELECT n FROM n LIMIT 100", False)):
            found = database.run(sql)
            assert (len(found.rows), found.is_cut) == (100, is_cut)
        by_bytes = database.run("SELECT printf('%100000d', n) FROM n")
        assert by_bytes.is_cut
        assert sum(len(row[0]) for row in by_bytes.rows) <= MIB


def test_the_environment_turns_an_endless_query_into_an_observation_and_goes_on(tmp_path: Path) -> None:
    env = BirdEnv(data_dir=make_folder(tmp_path), time_limit_s=LIMIT_S, score_limit_s=2 * LIMIT_S)
    env.reset(seed=0)
    for name in ("endless recursive count", "printf with a huge precision"):
        started = time.monotonic()
        observation, reward, terminated, _, info = env.step(f"execute[{TAKING[name].replace('FROM n', 'FROM city')}]")
        assert time.monotonic() - started <= LIMIT_S + SLACK_S
        assert f"timed out after {LIMIT_S} s" in observation
        assert (reward, terminated, info["invalid_action"], info["progress"]) == (0.0, False, False, 0.0)
        assert "Bern" in env.step("execute[SELECT name FROM city]")[0]
    for condition in LONG:  # whose reading takes no time on our side of the border
        action = f"SELECT id FROM city WHERE {condition}"
        started = time.monotonic()
        env.action_key(action)
        env.simulate(env.snapshot(), action)
        env.step(f"execute[{action}]")
        assert time.monotonic() - started < 4.0
    started = time.monotonic()
    _, reward, terminated, _, info = env.step(f"submit[{TAKING['endless recursive count']}]")
    assert time.monotonic() - started <= 3 * LIMIT_S + SLACK_S
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert info["facts"]["findings"][0]["code"] == "timeout"
    env.close()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("towns") / "a name with ?#% in it.sqlite")


def has_ended(pid: int | None) -> bool:
    return until(lambda: not Path(f"/proc/{pid}").exists(), 5)


def test_every_kind_of_value_comes_back_as_sqlite3_gives_it_to_the_thread_that_asked_for_it(path: Path) -> None:
    with DatabaseClient(path) as database:
        for sql in ("SELECT nope", "DELETE FROM city", "SELECT count(*) FROM shop"):
            database.run(sql)
        result = database.run("SELECT 1 AS one, -2.5, NULL, 'é🦉', x'00ff', 9223372036854775807, 9e999 AS big")
        assert result.columns[0] == "one"
        assert result.rows == ((1, -2.5, None, "é🦉", b"\x00\xff", 2**63 - 1, float("inf")),)
        result = database.run("SELECT CAST(x'61ff' AS TEXT)")
        assert (result.rows, result.undecodable) == ((("a\ufffd",),), True)
        assert not database.run("SELECT 'a'").undecodable
        result = database.run("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c LIMIT 999) SELECT * FROM c")
        assert [row[0] for row in result.rows] == list(range(1, 1000))
        assert database.run("SELECT count(*) FROM city").rows == ((4,),)
        numbers = [start + number for number in range(40) for start in range(0, 4000, 1000)]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda number: database.run(f"SELECT {number}").rows, numbers))
        assert found == [((number,),) for number in numbers]


def test_a_worker_that_was_killed_is_replaced_and_ends_with_its_database_closed_or_dropped(path: Path) -> None:
    database = DatabaseClient(path)
    database.run("SELECT 1")
    assert database.pid is not None
    os.kill(database.pid, signal.SIGKILL)
    assert database.run("SELECT 2").status in ("ok", "limit")
    assert database.run("SELECT 3").rows == ((3,),)
    pid = database.pid
    database.close()
    database.close()
    assert has_ended(pid)
    assert database.run("SELECT 1").rows == ((1,),)
    pid = database.pid
    del database
    assert has_ended(pid)


FORKING = """
import os, sys; from pathlib import Path
os.environ['SOME_API_KEY'] = 'secret'
from iad_envs.bird.database import DatabaseClient
database = DatabaseClient(Path(sys.argv[1])); database.run('SELECT 1'); ours = database.pid
assert b'secret' not in Path(f'/proc/{ours}/environ').read_bytes()
child = os.fork()
if not child: os._exit(not (database.run('SELECT 2').rows == ((2,),) and database.pid != ours))
assert os.waitpid(child, 0)[1] == 0
assert database.run('SELECT 3').rows == ((3,),) and database.pid == ours
print(ours, flush=True)
os._exit(0)
"""


def test_a_worker_sees_no_environment_is_not_shared_by_a_fork_and_ends_with_its_process(path: Path) -> None:
    words = [sys.executable, "-c", FORKING, str(path)]
    assert has_ended(int(subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout))


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000, None])
def test_a_file_that_is_corrupt_or_not_there_is_an_error_in_words(content: bytes | None, tmp_path: Path) -> None:
    broken = tmp_path / "broken.sqlite"
    if content is not None:
        broken.write_bytes(content)
    with DatabaseClient(broken) as database, pytest.raises(WorkerFailed, match="expected an SQLite database"):
        database.run("SELECT 1")


@pytest.fixture(scope="module")
def scorer(path: Path) -> Iterator[QueryScorer]:
    with QueryScorer(path) as scorer:
        yield scorer


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
def test_a_refusal_says_what_is_not_allowed(sql: str, status: str, said: str, scorer: QueryScorer) -> None:
    result = scorer.database.run(sql)
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

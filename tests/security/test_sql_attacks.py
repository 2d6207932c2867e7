"""Queries that try to take all time, all memory, or the process: each ends in time, and the worker answers after it."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from iad_envs.bird.database import EXPLORING, MIB, DatabaseClient, QueryLimits
from iad_envs.bird.env import BirdEnv
from tests.iad_envs.bird.small_bird import make_database, make_folder
from tests.security.attacks import SQL

TAKING = SQL["taking"]
LIMIT_S = 0.1
SLACK_S = 2.0
"""What a machine with other tests on it may add. Without its limit an attack would take minutes, or never end."""
LIMITS = QueryLimits(seconds=LIMIT_S)
ROWS = "INSERT INTO n SELECT value FROM json_each('[{}]')".format(",".join(map(str, range(1000))))
IN, LIKE = "SELECT id FROM city WHERE name IN ({})", "SELECT id FROM city WHERE name "
UNPLEASANT = {
    "brackets": "SELECT " + "[" * 100_000,
    "quotes": "SELECT " + "'" * 99_999,
    "openings": "SELECT 1 " + "/*" * 50_000,
    "closings": "execute[" + "] " * 50_000 + "x",
    "fences": "```sql\n" + "``` " * 30_000 + "x",
    "many literals": IN.format(", ".join(f"'x{i}'" for i in range(1200))),
    "a long literal": f"{LIKE}= '{'Bern' * 2400}'",
    "a pattern of wildcards": f"{LIKE}LIKE '{'%B' * 120}'",
    "many comparisons": "SELECT id FROM city WHERE " + " OR ".join(["name = 'B'"] * 90),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("attacked") / "n.sqlite", ("CREATE TABLE n (n INTEGER)", ROWS))


@pytest.fixture(scope="module")
def database(path: Path) -> Iterator[DatabaseClient]:
    with DatabaseClient(path, LIMITS) as database:
        yield database


@pytest.mark.parametrize("attack", TAKING)
def test_an_attack_ends_in_time_and_the_next_query_is_answered_at_once(attack: str, database: DatabaseClient) -> None:
    started = time.monotonic()
    result = database.run(TAKING[attack])
    took = time.monotonic() - started
    assert took <= LIMIT_S + SLACK_S
    assert len(result.rows) <= LIMITS.rows
    if database.pid is not None:
        assert peak_mb(database.pid) < 512
    started = time.monotonic()
    assert database.run("SELECT count(*) FROM n").rows == ((1000,),)
    assert time.monotonic() - started < SLACK_S


def peak_mb(pid: int) -> float:
    """Peak resident memory of a process."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def test_a_worker_has_an_address_space_limit_and_can_write_no_file(database: DatabaseClient) -> None:
    database.run("SELECT 1")
    limits = Path(f"/proc/{database.pid}/limits").read_text()
    values = {line[:26].strip(): line[26:].split()[0] for line in limits.splitlines()[1:]}
    assert int(values["Max address space"]) == EXPLORING.address_space_bytes
    assert values["Max file size"] == values["Max core file size"] == "0"
    assert int(values["Max open files"]) <= 32


def test_what_can_not_be_interrupted_is_killed_and_replaced(path: Path) -> None:
    with DatabaseClient(path, QueryLimits(seconds=0.2)) as database:
        database.run("SELECT 1")
        first = database.pid
        result = database.run(TAKING["printf with a huge precision"])
        assert (result.status, result.rows) == ("timeout", ())
        assert database.run("SELECT 1").rows == ((1,),)
        assert database.pid != first
        assert database.n_started == 2


def test_a_result_is_cut_at_the_row_cap_and_at_the_byte_cap(path: Path) -> None:
    with DatabaseClient(path, QueryLimits(rows=100, result_bytes=MIB)) as database:
        by_rows = database.run("SELECT n FROM n")
        assert (len(by_rows.rows), by_rows.is_cut) == (100, True)
        exact = database.run("SELECT n FROM n LIMIT 100")
        assert (len(exact.rows), exact.is_cut) == (100, False)
        by_bytes = database.run("SELECT printf('%100000d', n) FROM n")
        assert by_bytes.is_cut
        assert sum(len(row[0]) for row in by_bytes.rows) <= MIB


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BirdEnv]:
    folder = make_folder(tmp_path_factory.mktemp("bird"))
    env = BirdEnv(data_dir=folder, time_limit_s=LIMIT_S, score_limit_s=2 * LIMIT_S)
    env.reset(seed=0)
    yield env
    env.close()


def test_the_environment_turns_an_endless_query_into_an_observation_and_goes_on(env: BirdEnv) -> None:
    env.reset(seed=0)
    for name in ("endless recursive count", "printf with a huge precision"):
        started = time.monotonic()
        observation, reward, terminated, _, info = env.step(f"execute[{TAKING[name].replace('FROM n', 'FROM city')}]")
        assert time.monotonic() - started <= LIMIT_S + SLACK_S
        assert f"timed out after {LIMIT_S} s" in observation
        assert (reward, terminated, info["invalid_action"], info["progress"]) == (0.0, False, False, 0.0)
        assert "Bern" in env.step("execute[SELECT name FROM city]")[0]
    started = time.monotonic()
    _, reward, terminated, _, info = env.step(f"submit[{TAKING['endless recursive count']}]")
    assert time.monotonic() - started <= 3 * LIMIT_S + SLACK_S
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert info["facts"]["findings"][0]["code"] == "timeout"


@pytest.mark.parametrize("name", UNPLEASANT)
def test_reading_an_unpleasant_text_takes_no_time_on_our_side_of_the_border(name: str, env: BirdEnv) -> None:
    env.reset(seed=0)
    action = UNPLEASANT[name]
    started = time.monotonic()
    env.action_key(action)
    env.simulate(env.snapshot(), action)
    env.step(f"execute[{action}]")
    assert time.monotonic() - started < 4.0

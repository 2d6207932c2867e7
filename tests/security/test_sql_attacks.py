"""Queries that try to take all time, all memory, or the process: each ends in time, and the worker answers after it."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from iad_envs.bird.database import EXPLORING, MIB, DatabaseClient, QueryLimits
from iad_envs.bird.env import BirdEnv
from tests.iad_envs.bird.small_bird import make_database, make_folder

LIMIT_S = 0.15
SLACK_S = 2.0
"""What a machine with other tests on it may add. Without its limit an attack would take minutes, or never end."""
LIMITS = QueryLimits(seconds=LIMIT_S)
ROWS = "INSERT INTO n SELECT value FROM json_each('[{}]')".format(",".join(map(str, range(1000))))
ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
DOUBLING = ", ".join(["a0 AS (SELECT 1 AS x)", *(f"a{i} AS (SELECT * FROM a{i - 1}, a{i - 1})" for i in range(1, 26))])
ATTACKS = {
    "endless recursive count": f"{ENDLESS} SELECT count(*) FROM c",
    "four-way cross join": "SELECT count(*) FROM n a, n b, n c, n d",
    "60-way join": f"SELECT count(*) FROM {', '.join(f'n t{i}' for i in range(60))}",
    "endless rows": f"{ENDLESS} SELECT n FROM c",
    "endless wide rows": f"{ENDLESS} SELECT n, hex(randomblob(16)), printf('%0500d', n) FROM c",
    "endless long texts": f"{ENDLESS} SELECT replace(printf('%900d', n), ' ', 'xxxxxxxxxx') || n FROM c",
    "endless sort": f"{ENDLESS} SELECT n FROM c ORDER BY -n",
    "endless distinct": f"{ENDLESS} SELECT DISTINCT n || 'padding to make it longer' FROM c",
    "endless group_concat": f"{ENDLESS} SELECT length(group_concat(n)) FROM c",
    "endless json array": f"{ENDLESS} SELECT length(json_group_array(n)) FROM c",
    "zeroblob of 1 GB": "SELECT length(zeroblob(1000000000))",
    "hex of a large blob": "SELECT length(hex(zeroblob(450000000)))",
    "randomblob of 1 GB": "SELECT length(randomblob(1000000000))",
    "randomblob in a loop": f"{ENDLESS} SELECT max(length(randomblob(100000000))) FROM c",
    "printf of 1 GB": "SELECT length(printf('%1000000000d', 1))",
    "printf with a huge precision": "SELECT length(printf('%.*c', 900000000, 'x'))",
    "format with a built format": "SELECT length(format('%.' || '*c', 900000000, 'x'))",
    "replace that grows": "SELECT length(replace(replace(replace(printf('%9000d', 1), ' ', printf('%9000d', 1)), ' ', "
    "printf('%9000d', 1)), ' ', printf('%9000d', 1)))",
    "doubling text in recursion": "WITH RECURSIVE c(s) AS (SELECT 'xxxxxxxx' UNION ALL SELECT s || s FROM c) "
    "SELECT max(length(s)) FROM c",
    "instr of a long needle": "SELECT instr(replace(printf('%999000d', 0), '0', ' '), "
    "replace(printf('%499000d', 0), '0', ' ') || 'y')",
    "instr in a loop": f"{ENDLESS} SELECT sum(instr(printf('%900000d', 0), printf('%400000d', 0) || n)) FROM c",
    "replace of a long needle": "SELECT length(replace(printf('%999000d', 0), printf('%499000d', 1), 'y'))",
    "doubling CTE at compile time": f"WITH {DOUBLING} SELECT count(*) FROM a25",
    "LIKE with many wildcards": f"SELECT count(*) FROM n WHERE printf('%900d', n) LIKE '{'%_' * 100}z'",
    "LIKE with a long pattern": f"SELECT count(*) FROM n WHERE n LIKE '{'%a' * 2000}'",
    "GLOB with many wildcards": f"SELECT count(*) FROM n WHERE printf('%900d', n) GLOB '{'*?' * 100}z'",
    "deep expression": f"SELECT {'- ' * 5000}1",
    "nested parentheses": f"SELECT {'(' * 5000}1{')' * 5000}",
    "3000 unions": " UNION ".join(["SELECT 1"] * 3000),
    "3000 columns": f"SELECT {', '.join(['1'] * 3000)}",
    "100 kB of SQL": f"SELECT {' + '.join(['1'] * 25_000)}",
    "1 MB of SQL": f"SELECT '{'x' * 1_000_000}'",
    "comment bomb": "/* " * 30_000 + "SELECT 1",
    "many comments": "/**/" * 20_000 + "SELECT 1",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("attacked") / "n.sqlite", ("CREATE TABLE n (n INTEGER)", ROWS))


@pytest.fixture(scope="module")
def database(path: Path) -> Iterator[DatabaseClient]:
    with DatabaseClient(path, LIMITS) as database:
        yield database


@pytest.mark.parametrize("sql", ATTACKS.values(), ids=list(ATTACKS))
def test_an_attack_ends_in_time_and_the_next_query_is_answered_at_once(sql: str, database: DatabaseClient) -> None:
    started = time.monotonic()
    result = database.run(sql)
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
        result = database.run(ATTACKS["printf with a huge precision"])
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
        observation, reward, terminated, _, info = env.step(f"execute[{ATTACKS[name].replace('FROM n', 'FROM city')}]")
        assert time.monotonic() - started <= LIMIT_S + SLACK_S
        assert f"timed out after {LIMIT_S} s" in observation
        assert (reward, terminated, info["invalid_action"], info["progress"]) == (0.0, False, False, 0.0)
        assert "Bern" in env.step("execute[SELECT name FROM city]")[0]
    started = time.monotonic()
    _, reward, terminated, _, info = env.step(f"submit[{ATTACKS['endless recursive count']}]")
    assert time.monotonic() - started <= 3 * LIMIT_S + SLACK_S
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert info["facts"]["findings"][0]["code"] == "timeout"


@pytest.mark.parametrize(
    "action",
    [
        pytest.param("SELECT " + "[" * 100_000, id="brackets"),
        pytest.param("SELECT " + "'" * 99_999, id="quotes"),
        pytest.param("SELECT 1 " + "/*" * 50_000, id="openings"),
        pytest.param("execute[" + "] " * 50_000 + "x", id="closings"),
        pytest.param("```sql\n" + "``` " * 30_000 + "x", id="fences"),
        pytest.param(
            "SELECT id FROM city WHERE name IN (" + ", ".join(f"'x{i}'" for i in range(1200)) + ")", id="many literals"
        ),
        pytest.param(f"SELECT id FROM city WHERE name = '{'Bern' * 2400}'", id="a long literal"),
        pytest.param(f"SELECT id FROM city WHERE name LIKE '{'%B' * 120}'", id="a pattern of wildcards"),
        pytest.param("SELECT id FROM city WHERE " + " OR ".join(["name = 'B'"] * 90), id="many comparisons"),
    ],
)
def test_reading_an_unpleasant_text_takes_no_time_on_our_side_of_the_border(action: str, env: BirdEnv) -> None:
    env.reset(seed=0)
    started = time.monotonic()
    env.action_key(action)
    env.simulate(env.snapshot(), action)
    env.step(f"execute[{action}]")
    assert time.monotonic() - started < 4.0

"""The worker process: its life, its death, and what crosses the border."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iad_envs.bird.database import DatabaseClient, WorkerFailed
from tests.iad_envs.bird.small_bird import make_database
from tests.waiting import until

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("towns") / "a name with ?#% in it.sqlite")


def has_ended(pid: int | None) -> bool:
    return until(lambda: not Path(f"/proc/{pid}").exists(), 5)


def test_every_kind_of_value_comes_back_as_sqlite3_gives_it_and_none_of_the_query_before(path: Path) -> None:
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


def test_a_worker_sees_no_environment_is_not_shared_by_a_fork_and_ends_with_its_process(path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "os.environ['SOME_API_KEY'] = 'secret'\n"
        "from iad_envs.bird.database import DatabaseClient\n"
        "database = DatabaseClient(Path(sys.argv[1])); database.run('SELECT 1'); ours = database.pid\n"
        "assert b'secret' not in Path(f'/proc/{ours}/environ').read_bytes()\n"
        "child = os.fork()\n"
        "if not child: os._exit(not (database.run('SELECT 2').rows == ((2,),) and database.pid != ours))\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert database.run('SELECT 3').rows == ((3,),) and database.pid == ours\n"
        "print(ours, flush=True)\n"
        "os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, cwd=ROOT)
    assert has_ended(int(done.stdout))


def test_threads_share_a_database_and_get_their_own_answers(path: Path) -> None:
    numbers = [start + number for number in range(40) for start in range(0, 4000, 1000)]
    with DatabaseClient(path) as database, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: database.run(f"SELECT {number}").rows, numbers))
    assert found == [((number,),) for number in numbers]


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000, None])
def test_a_file_that_is_corrupt_or_not_there_is_an_error_in_words(content: bytes | None, tmp_path: Path) -> None:
    broken = tmp_path / "broken.sqlite"
    if content is not None:
        broken.write_bytes(content)
    with DatabaseClient(broken) as database, pytest.raises(WorkerFailed, match="expected an SQLite database"):
        database.run("SELECT 1")

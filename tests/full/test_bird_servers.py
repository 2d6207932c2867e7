"""IAD/BIRD-v0 on a real PostgreSQL or MariaDB server, which a fixture starts.

`make test-postgres` and `make test-mysql` install one where they can; other tests are skipped with the reason.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from iad_envs.bird.data import load_data
from iad_envs.bird.database import EXPLORING, DatabaseClient, QueryLimits, WorkerFailed
from iad_envs.bird.env import BirdEnv
from iad_envs.bird.loader import GUARD, READER, load_database, make_users
from iad_envs.bird.mysql import MySqlDatabase, address
from iad_envs.bird.page import result_name
from iad_envs.bird.postgres import PostgresDatabase
from iad_envs.bird.strict_match import same_bag
from iad_envs.requirements.mysql import answers
from tests.contract.environments import COPYING, same
from tests.full.sql_attacks import QUICK_ATTACKS, REFUSED, SLOW_ATTACKS
from tests.full.sql_servers import DRIVERS, Dialect, missing, serving
from tests.iad_envs.bird.small_bird import QUESTIONS, make_folder
from tests.waiting import until

pytestmark = pytest.mark.slow
DATA = Path(__file__).parents[2] / "data" / "bird"
LIMIT_S, SLACK_S = 1.0, 2.0
LIMITS = QueryLimits(seconds=LIMIT_S)
GOLDS = {str(question["question_id"]): str(question["SQL"]) for question in QUESTIONS}
STUBBORN = """
CREATE FUNCTION public.stubborn() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN LOOP BEGIN PERFORM pg_sleep(60); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$;
GRANT EXECUTE ON FUNCTION public.stubborn() TO iad_reader"""
HUGE = f"SELECT /* huge */ {', '.join(['REPEAT(1, 16000000)'] * 8)}"
LONG = "REPEAT('x', 100000)"
MYSQL = pytest.mark.parametrize("server", ["mysql"], indirect=True, scope="module")


class Server(NamedTuple):
    """A server, with the addresses of its superuser and of the two users."""

    dialect: Dialect
    admin: str
    reader: str
    guard: str

    @property
    def is_mysql(self) -> bool:
        return self.dialect == "mysql"

    def opened(self, limits: QueryLimits = LIMITS, name: str = "bike_share") -> MySqlDatabase | PostgresDatabase:
        kind = MySqlDatabase if self.is_mysql else PostgresDatabase
        return kind(self.reader, name, limits, guard_dsn=self.guard)

    def administered(self, sql: str) -> Any:
        """Run a statement as the superuser, and return its rows."""
        driver: Any = import_module(DRIVERS[self.dialect][0])
        given = address(self.admin) if self.is_mysql else {"conninfo": self.admin}
        with closing(driver.connect(**given, autocommit=True)) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else ()


@pytest.fixture(scope="module", params=["postgresql", "mysql"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    dialect: Dialect = request.param
    if reason := missing(dialect):
        pytest.skip(reason)
    with serving(dialect) as admin:
        make_users(admin)
        for path in sorted(DATA.glob("dev_databases/*/*.sqlite")):
            load_database(admin, path)
        superuser = "root" if dialect == "mysql" else "postgres"
        made = Server(dialect, admin, *(admin.replace(superuser, user, 1) for user in (READER, GUARD)))
        if dialect == "postgresql":
            made.administered(STUBBORN)
        yield made


@pytest.fixture
def database(server: Server) -> Iterator[MySqlDatabase | PostgresDatabase]:
    with server.opened() as database:
        yield database


def answers_at_once(database: Any) -> bool:
    started = time.monotonic()
    rows = database.run("SELECT COUNT(*) FROM station").rows
    return len(rows) == 1 and rows[0][0] > 0 and time.monotonic() - started < SLACK_S


def each(*attacks: dict[str, dict[str, str]]) -> Any:
    """Run a test with the attacks on each server."""
    cases = [(dialect, name, sql) for kind in attacks for dialect, own in kind.items() for name, sql in own.items()]
    rows = [pytest.param(dialect, sql, id=f"{dialect}-{name}") for dialect, name, sql in cases]
    return pytest.mark.parametrize(("server", "sql"), rows, indirect=["server"], scope="module")


@each(SLOW_ATTACKS, QUICK_ATTACKS)
def test_a_query_that_takes_too_long_or_too_much_ends_in_time_and_within_the_caps(sql: str, database: Any) -> None:
    started = time.monotonic()
    result = database.run(sql)
    assert time.monotonic() - started <= LIMIT_S + SLACK_S
    assert answers_at_once(database)
    is_slow = sql in SLOW_ATTACKS["postgresql"].values() or sql in SLOW_ATTACKS["mysql"].values()
    assert result.status in ("limit", "timeout", *(() if is_slow else ("error",))) or (result.is_cut and not is_slow)
    assert len(result.rows) <= LIMITS.rows


@each(REFUSED)
def test_what_is_not_one_reading_query_is_refused_and_changes_nothing(sql: str, database: Any, server: Server) -> None:
    is_made = "(SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'mine')"
    state = f"SELECT COUNT(*), MIN(name), {is_made} FROM bike_share.station"
    before = server.administered(state)
    result = database.run(sql)
    assert (result.status, result.rows) == ("rejected", ())
    assert server.administered(state) == before
    assert answers_at_once(database)


def test_what_a_query_changes_does_not_hold_for_the_next(server: Server, database: Any) -> None:
    if server.is_mysql:
        ask = "SELECT @@max_statement_time, @@tx_read_only, @@max_session_mem_used, @@tmp_disk_table_size, DATABASE()"
        for _ in range(2):
            assert database.run(ask).rows == ((Decimal("1.000000"), 1, LIMITS.heap_bytes, 100 << 20, "bike_share"),)
            database.run("SET max_statement_time = 60")
        return
    for setting in ("statement_timeout", "search_path", "default_transaction_read_only", "work_mem"):
        ask = f"SELECT current_setting('{setting}')"
        before = database.run(ask).rows
        assert database.run(f"SELECT set_config('{setting}', '1000000', false)").status in ("ok", "error")
        database.run(f"SET {setting} = DEFAULT")
        assert database.run(ask).rows == before
        assert database.run("SELECT pg_sleep(60)", 0.2).status == "timeout"
    result = database.run(QUICK_ATTACKS["postgresql"]["large sort"], 20.0)
    assert (result.status, "temp_file_limit" in result.message) == ("limit", True)


@MYSQL
def test_one_query_is_run_in_every_form_and_always_at_the_same_time(database: Any) -> None:
    for sql in (" (SELECT 1)", "WITH a AS (SELECT 1) SELECT * FROM a", "VALUES (1)", "# a\n/* b */SELECT 1;"):
        assert database.run(sql).rows == ((1,),)
    for sql in ("SELECT 1; SELECT 2", "SELECT 1; DELETE FROM station", "SELECT 1;; KILL 1"):
        result = database.run(sql)
        assert (result.status, "error in your SQL syntax" in result.message) == ("error", True)
    assert database.run("SELECT LOAD_FILE('/etc/passwd')").rows == ((None,),)
    asked = "SELECT NOW(), CURDATE(), RAND(), RAND()"
    first = database.run(asked).rows
    assert first[0][:2] == (datetime(2024, 6, 27, 12), date(2024, 6, 27))
    assert first[0][2] != first[0][3]
    assert database.run(asked).rows == first


def test_what_goes_on_after_the_servers_limit_is_ended_through_the_second_connection(server: Server) -> None:
    # MariaDB looks at its limit, and at being ended, only between two rows.
    sql, ended = (HUGE, [(("Killed",),), ()]) if server.is_mysql else ("SELECT public.stubborn()", [[(0,)]])
    asking = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT public.stubborn%'"
    if server.is_mysql:
        asking = "SELECT command FROM information_schema.processlist WHERE info LIKE 'SELECT /* huge%'"
    with server.opened(QueryLimits(seconds=0.05, grace_s=0.05, result_bytes=1 << 40)) as database:
        result = database.run(sql)
        assert (result.status, result.message, result.rows) == ("timeout", "ended at the deadline", ())
        assert until(lambda: server.administered(asking) in ended)
        assert answers_at_once(database)


def test_a_second_connection_that_broke_is_replaced(server: Server) -> None:
    with server.opened(QueryLimits(seconds=0.2)) as database:
        database.run("SELECT 1")
        if isinstance(database, PostgresDatabase):
            sessions = f"FROM pg_stat_activity WHERE usename = '{GUARD}'"
            server.administered(f"SELECT pg_terminate_backend(pid, 1000) {sessions}")
            assert database.run("SELECT public.stubborn()").status == "timeout"
        else:
            sessions = "SELECT id FROM information_schema.processlist"
            gone = {row[0] for row in server.administered(f"{sessions} WHERE user = '{GUARD}'")}
            assert gone
            server.administered(f"KILL USER '{GUARD}'@localhost")
            with closing(database._session(60.0)) as session:
                gone.add(session.thread_id())
                database._end(session)
                assert until(lambda: not gone & {row[0] for row in server.administered(sessions)})
        assert answers_at_once(database)


def test_the_reader_has_no_right_but_to_read(server: Server, database: Any) -> None:
    if server.dialect == "postgresql":
        rights = ", ".join(f"has_database_privilege(current_database(), '{right}')" for right in ("TEMP", "CREATE"))
        rights += ", has_schema_privilege('public', 'CREATE'), has_schema_privilege('bike_share', 'CREATE')"
        rights += ", has_table_privilege('station', 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')"
        rights += ", has_table_privilege('station', 'SELECT'), current_setting('transaction_read_only')"
        assert database.run(f"SELECT {rights}").rows == ((False, False, False, False, False, True, "on"),)
        return
    first, *others = [row[0] for row in server.administered(f"SHOW GRANTS FOR {READER}@localhost")]
    assert first == f"GRANT USAGE ON *.* TO `{READER}`@`localhost`"
    assert [grant.startswith("GRANT SELECT ON `") for grant in others] == [True] * 4
    asked = "SELECT COUNT(DISTINCT table_schema) FROM information_schema.tables WHERE table_schema NOT LIKE '%schema'"
    assert database.run(asked).rows == ((4,),)


def test_values_come_as_the_official_evaluators_driver_gives_them(server: Server, database: Any) -> None:
    if server.is_mysql:
        more, last = "TIME '10:00:00', JSON_ARRAY(1), '0000-00-00'", (timedelta(hours=10), "[1]", "0000-00-00")
        blob, half, one_as_float, rounded = "X'00ff'", "0.5e0", "1e0", "docks + 0e0"
    else:
        more = "'infinity'::date, ARRAY[1, 2], '{\"a\": 1}'::json, INTERVAL '1 day'"
        last = ("infinity", "{1,2}", '{"a": 1}', "1 day")  # type: ignore[assignment]
        blob, half, one_as_float, rounded = "'\\x00ff'::bytea", "0.5::float8", "1::float8", "docks::float8"
    days = "DATE '2020-02-29', TIMESTAMP '2020-02-29 12:30:00'"
    row = (1, Decimal("2.50"), 0.5, True, None, "é", b"\0\xff", date(2020, 2, 29), datetime(2020, 2, 29, 12, 30))
    sql = f"SELECT 1, 2.50, {half}, TRUE, NULL, 'é', {blob}, {days}, {more}"
    assert database.run(sql).rows == ((*row, *last),)
    one, other = (database.run(f"SELECT AVG({sql}) FROM station").rows for sql in ("docks", rounded))
    assert isinstance(one[0][0], Decimal)
    assert isinstance(other[0][0], float)
    assert same_bag(one, other) or server.is_mysql  # which rounds averages
    assert not same_bag([(date(2020, 1, 1),)], [("2020-01-01",)])
    assert len({result_name(database.run(f"SELECT {sql}")) for sql in ("1", "1.00", one_as_float, "TRUE")}) == 1


def test_a_result_is_cut_at_the_row_cap_and_at_the_byte_cap(server: Server) -> None:
    series = {"postgresql": "generate_series(1, {})", "mysql": "seq_1_to_{}"}[server.dialect].format
    with server.opened(QueryLimits(rows=100, result_bytes=1 << 20)) as database:
        for what, n, expected in (("*", 101, (100, True)), ("*", 100, (100, False)), (LONG, 100, (10, True))):
            result = database.run(f"SELECT {what} FROM {series(n)}")
            assert (len(result.rows), result.is_cut) == expected
        assert database.run("SELECT REPEAT('x', 10000000)").status == "limit"


def test_a_server_that_is_not_there_is_said() -> None:
    for kind, driver, dsn, name in (
        (PostgresDatabase, "psycopg", "host=/nowhere user=nobody dbname=x", "PostgreSQL"),
        (MySqlDatabase, "pymysql", "mysql://nobody@localhost/?unix_socket=/nowhere", "MySQL or MariaDB"),
    ):
        pytest.importorskip(driver)
        with kind(dsn, "s") as database, pytest.raises(WorkerFailed, match=f"{name} server"):
            database.run("SELECT 1")


@MYSQL
def test_tables_of_a_dump_in_one_database_are_found_and_the_doctor_sees_a_server(server: Server) -> None:
    for sql in ("CREATE DATABASE bird", "CREATE TABLE bird.elsewhere AS SELECT 7 AS seven"):
        server.administered(sql)
    server.administered(f"GRANT SELECT ON bird.* TO {READER}@localhost")
    with MySqlDatabase(server.reader.replace("/?", "/bird?"), "financial", LIMITS) as database:
        assert database.run("SELECT seven FROM elsewhere").rows == ((7,),)
    with server.opened(name="financial") as database, pytest.raises(WorkerFailed, match="financial"):
        database.run("SELECT 1")
    server.administered("DROP DATABASE bird")
    nowhere, pymysql = {"unix_socket": "/nowhere"}, import_module("pymysql")
    there = {"unix_socket": str(address(server.admin)["unix_socket"]), "user": "nobody", "password": "x"}
    assert answers(pymysql, 1.0, [nowhere, there])  # whoever it lets in
    assert not answers(pymysql, 1.0, [nowhere])


def test_the_bundled_golds_that_are_valid_in_both_dialects_give_the_same_rows(server: Server) -> None:
    sqlite_only = ["strftime", "julianday", "date(", "datetime", "IIF", *(["||"] if server.is_mysql else [])]
    data = load_data(DATA, "dev")
    agreeing: list[str] = []
    different: list[str] = []
    for db_id in sorted({question.db_id for question in data.questions.values()}):
        golds = [data.golds[task_id] for task_id, question in data.questions.items() if question.db_id == db_id]
        with server.opened(EXPLORING, db_id) as database, DatabaseClient(data.database(db_id)) as sqlite:
            for gold in golds:
                if any(word in gold for word in sqlite_only) or (theirs := database.run(gold)).status != "ok":
                    continue
                rows = [tuple(str(cell) if isinstance(cell, date) else cell for cell in row) for row in theirs.rows]
                (agreeing if same_bag(rows, sqlite.run(gold).rows) else different).append(gold)
    assert len(agreeing) >= 150
    assert len(different) <= len(agreeing) / 20
    # Where the golds let NULL sort first: PostgreSQL puts it last, or first with DESC.
    assert server.is_mysql or all("ORDER BY" in gold for gold in different), different


@pytest.fixture
def towns(server: Server, tmp_path: Path) -> Iterator[BirdEnv]:
    folder = make_folder(tmp_path)
    load_database(server.admin, folder / "dev_databases" / "towns" / "towns.sqlite")
    users = {"dsn": server.reader, "guard_dsn": server.guard}
    env = BirdEnv(data_dir=folder, dialect=server.dialect, **users, time_limit_s=0.5, score_limit_s=0.5)
    yield env
    env.close()
    if server.is_mysql:
        server.administered(f"REVOKE SELECT ON towns.* FROM {READER}@localhost")
    server.administered("DROP DATABASE towns" if server.is_mysql else "DROP SCHEMA towns CASCADE")


def test_a_copy_of_the_environment_has_a_connection_of_its_own(towns: BirdEnv) -> None:
    towns.reset(options={"task_id": "7"})
    towns.step("execute[SELECT name, founded FROM city ORDER BY id]")
    others = [copied(towns) for copied in COPYING.values()]
    towns.close()
    steps = ["execute[SELECT count(*) FROM shop]", "execute[SELECT nothing]", f"submit[{GOLDS['7']}]"]
    mine, *theirs = [[one.step(action) for action in steps] for one in (towns, *others)]
    assert [same(mine, steps) for steps in theirs] == [True] * len(COPYING)
    assert mine[-1][1] == 1.0
    for one in others:
        one.close()


def test_the_environment_shows_the_servers_schema_and_its_golds_score_one(towns: BirdEnv, server: Server) -> None:
    for task_id, sql in GOLDS.items():
        gold = sql.replace('"', "`") if server.is_mysql else sql
        towns.reset(options={"task_id": task_id})
        assert towns.step(f"submit[{gold}]")[1] == 1.0, gold
        towns.reset(options={"task_id": task_id})
        _, reward, terminated, _, info = towns.step("submit[DELETE FROM shop]")
        assert (reward, terminated, info["reward_parts"]["rejected"]) == (0.0, True, 1.0)
    observation, info = towns.reset(options={"task_id": "7"})
    words = ("PostgreSQL's dialect", "sales double precision", 'CREATE TABLE "order item" (')
    if server.is_mysql:
        words = ("MySQL's dialect", "sales double", "CREATE TABLE `order item` (")
    assert [word in observation for word in words] == [True] * 3
    tables = {table["name"]: table for table in info["page"]["tables"]}
    assert list(tables) == ["city", "shop", "order item"]
    assert tables["shop"]["foreign_keys"][0]["to_table"] == "city"
    assert towns.database_versions == {"towns": "server"}


FINDINGS = [
    ("SELECT nam FROM city", "unknown_column", "near: city.name"),
    ("SELECT c.nam FROM city c", "unknown_column", "near: city.name"),
    ("SELECT T1.country FROM shop AS T1", "unknown_column", "1 is shop with id, city_id, name, sales, staff"),
    ("SELECT 1 FROM citty", "unknown_table", "near: city"),
    ("SELECT name FROM shop ORDER BY id LIMIT 1", "limit_unasked", "LIMIT 1 drops rows"),
    ("SELECT 1.0 * staff FROM shop", "some_null", "1 of 4 cells"),
    ("SELECT strftime('%Y', founded) FROM city", "unknown_function", "strftime"),
    ("SELECT name FROM city JOIN shop ON city_id = city.id", "ambiguous_column", "name"),
    ("SELECT name FROM city WHERE", "syntax", "syntax"),
    ("SELECT name FROM city WHERE name = 'Berne'", "literal_not_found", "near: 'Bern'"),
]


def test_findings_are_in_words_that_help(towns: BirdEnv, server: Server) -> None:
    sleep, limit = ("SLEEP", "max_statement_time") if server.is_mysql else ("pg_sleep", "statement_timeout")
    divide = "SELECT staff / id FROM shop"
    own = [(f"SELECT {sleep}(60)", "timeout", "timed out"), (f"SET {limit} = 0", "rejected", "SET")]
    own.append((divide, "integer_division", "CAST"))
    for sql, code, said in [*FINDINGS, *own]:
        towns.reset(options={"task_id": "7"})
        observation, _, terminated, _, info = towns.step(f"execute[{sql}]")
        found = {finding["code"]: finding["message"] for finding in info["facts"]["findings"]}
        if server.is_mysql and sql == divide:  # where it gives a fraction
            assert code not in found
            continue
        assert said in found[code], sql
        assert (terminated, "Question:" in observation) == (False, True)
        assert towns.step("execute[SELECT 1]")[4]["page"]["rows"] == ((1,),)

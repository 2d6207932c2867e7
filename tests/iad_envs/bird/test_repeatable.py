"""A query has one result: time and chance are the same in every execution. Functions that only read are allowed."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from iad_envs.bird.database import EXPLORING, SCORING, DatabaseClient, QueryLimits
from iad_envs.bird.scoring import QueryScorer
from iad_envs.bird.worker import NOW

DAY, TIME = NOW.split()


@pytest.fixture(scope="module", params=[EXPLORING, SCORING], ids=["exploring", "scoring"])
def database(database_file: Path, request: pytest.FixtureRequest) -> Iterator[DatabaseClient]:
    limits: QueryLimits = request.param
    with DatabaseClient(database_file, limits) as client:
        yield client


def test_tables_of_json_can_be_read_and_no_others_and_json_opens_no_way_to_write(database: DatabaseClient) -> None:
    for sql, rows in (
        ("SELECT value FROM json_each('[1, 2]')", ((1,), (2,))),
        ("SELECT key, value FROM json_each('{\"a\": 1}')", (("a", 1),)),
        ("SELECT fullkey FROM json_tree('[[7]]') WHERE atom = 7", (("$[0][0]",),)),
        ("SELECT count(*) FROM city, json_each('[1, 2]') WHERE city.id = 1", ((2,),)),
        ("WITH one AS (SELECT value FROM json_each('[3]')) SELECT * FROM one", ((3,),)),
    ):
        for result in (database.run(sql), database.run(sql, fresh=True)):
            assert (result.status, result.rows) == ("ok", rows), result.message
    for sql in ("SELECT * FROM pragma_table_info('city')", "SELECT * FROM pragma_database_list"):
        result = database.run(sql)
        assert (result.status, "a table-valued function other than" in result.message) == ("rejected", True)
    for sql in (
        "INSERT INTO city SELECT value, 'x', 1 FROM json_each('[99]')", "UPDATE sqlite_master SET sql = ''",
        "UPDATE city SET name = (SELECT value FROM json_each('[1]'))", "CREATE VIRTUAL TABLE more USING json_each",
        "CREATE TABLE more AS SELECT value FROM json_each('[1]')",
    ):  # fmt: skip
        assert database.run(sql).status in ("rejected", "error")


def test_chance_falls_the_same_in_every_execution(database_file: Path, database: DatabaseClient) -> None:
    for sql in (
        "SELECT random(), random()", "SELECT name FROM city ORDER BY RANDOM() LIMIT 1",
        "SELECT abs(random()) % 7 FROM city", "SELECT julianday('now'), random() FROM city",
    ):  # fmt: skip
        first = database.run(sql)
        assert first.status == "ok"
        database.run("SELECT random() FROM city")
        with DatabaseClient(database_file) as other:
            for again in (database.run(sql), database.run(sql, fresh=True), other.run(sql)):
                assert again.rows == first.rows
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) SELECT random() FROM n"
    drawn = [row[0] for row in database.run(many).rows]
    assert len(set(drawn)) == 4000
    assert 1850 < sum(number < 0 for number in drawn) < 2150
    assert min(drawn) < -(2**62) < 2**62 < max(drawn) < 2**63


TIMES = {
    "CURRENT_DATE": DAY, "current_time": TIME, "CURRENT_TIMESTAMP": NOW, "date()": DAY, "date('now')": DAY,
    "time('NOW')": TIME, "datetime('now', '-1 day')": "2024-06-26 12:00:00", "date(lower('NOW'))": DAY,
    "date('no' || 'w')": DAY, "strftime('%Y')": "2024", "strftime('%Y-%m', 'now', 'start of year')": "2024-01",
    "strftime('%Y', CURRENT_TIMESTAMP) - strftime('%Y', '2000-05-01')": 24,
    "julianday('now') - julianday(CURRENT_DATE)": 0.5, "(SELECT date(word) FROM (SELECT 'now' AS word))": DAY,
}  # fmt: skip


def test_it_is_always_the_same_time_and_given_dates_are_what_sqlite_makes_of_them(database: DatabaseClient) -> None:
    for sql, expected in TIMES.items():
        result = database.run(f"SELECT {sql}")
        assert (result.status, result.rows) == ("ok", ((expected,),)), (sql, result.message)
    for arguments in (
        "date('2020-01-31', '+1 month')", "date('nonsense')", "date(NULL)", "date('now ', '+1 day')", "date(2459580.5)",
        "datetime(1092941466, 'unixepoch')", "strftime('%W %j', '2021-07-04')", "strftime(NULL, '2021-07-04')",
        "julianday('2021-07-04 10:11')", "time(x'313a32')", "time('25:00')", "date('2021-07-04', 'bad modifier')",
    ):  # fmt: skip
        (plain,) = sqlite3.connect(":memory:").execute(f"SELECT {arguments}")
        for also in ("", ", random()", ", CURRENT_DATE"):  # with the functions of time and chance, and without
            assert database.run(f"SELECT {arguments}{also}").rows[0][0] == plain[0], arguments


def test_gold_and_prediction_have_the_same_time_and_may_read_json(database_file: Path) -> None:
    with QueryScorer(database_file) as scorer:
        score = scorer.score("SELECT value FROM json_each('[1]')", "SELECT 1")
        assert (score.ex, score.sound, score.verdict) == (1.0, 1.0, "right")
        assert scorer.score("SELECT date('now')", "SELECT CURRENT_DATE").verdict == "right"
        replicated = scorer.score("UPDATE city SET name = CURRENT_DATE", "SELECT 1 WHERE CURRENT_DATE <> date('now')")
        assert (replicated.ex, replicated.verdict) == (1.0, "rejected")

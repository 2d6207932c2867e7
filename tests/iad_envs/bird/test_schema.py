"""Schemas in their renderings, and findings about queries."""

from collections.abc import Callable
from pathlib import Path

import pytest

from iad_envs.bird.data import Question, load_data
from iad_envs.bird.database import DatabaseClient
from iad_envs.bird.findings import QueryFinding, findings, values_of
from iad_envs.bird.schema import RENDERERS, Schema, schema_of
from tests.iad_envs.bird.small_bird import make_folder

Find = Callable[..., dict[str, QueryFinding]]


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    return schema_of(load_data(make_folder(tmp_path), "dev"), "towns")


@pytest.fixture
def find(tmp_path: Path, schema: Schema) -> Find:
    database = DatabaseClient(tmp_path / "dev_databases" / "towns" / "towns.sqlite")
    values = values_of(database)

    def find(sql: str, question: str = "Which?", evidence: str = "") -> dict[str, QueryFinding]:
        asked = Question("1", "towns", question, evidence, "")
        return {one.code: one for one in findings(sql, database.run(sql), asked, schema, values)}

    return find


def test_a_schema_joins_the_database_its_descriptions_and_the_tables_file(schema: Schema) -> None:
    city, shop, items = schema.tables
    assert [column.name for column in city.columns] == ["id", "name", "country", "founded"]
    assert city.columns[0].is_key
    assert city.columns[1].described.description == "the name of the city"
    assert shop.columns[3].described == ("yearly sales", "sales in millions of €", "half: 0.5 none: NULL")
    assert items.columns[1].values == ("tea", "bun")
    assert ("shop", "city_id", "city", "id") in schema.foreign_keys
    assert ("order item", "shop id", "shop", "id") in schema.foreign_keys


def test_ddl_is_the_databases_own_text(schema: Schema) -> None:
    text = RENDERERS["ddl"](schema)
    assert "CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, country TEXT, founded TEXT);" in text
    assert "yearly" not in text


def test_ddl_with_samples_describes_every_column(schema: Schema) -> None:
    text = RENDERERS["ddl+samples"](schema)
    assert "    name TEXT, -- city name; the name of the city; values: 'Bern', 'Basel', 'Lyon'" in text
    assert '    "shop id" INTEGER, -- values: 1, 2' in text
    assert '    FOREIGN KEY ("shop id") REFERENCES shop (id),' in text


def test_m_schema_has_a_tuple_a_column_and_the_keys_at_the_end(schema: Schema) -> None:
    lines = RENDERERS["m-schema"](schema).splitlines()
    assert lines[0] == "【DB_ID】 towns"
    assert "# Table: city" in lines
    assert "(id:INTEGER, the number, Primary Key, Examples: [1, 2, 3])," in lines
    assert lines[-2:] == ["shop.city_id=city.id", "order item.shop id=shop.id"]


@pytest.mark.parametrize(
    ("sql", "code", "said"),
    [
        ("SELEC 1", "syntax", "syntax error"),
        ("SELECT (1", "syntax", "incomplete input"),
        ("SELECT nam FROM city", "unknown_column", "near: city.name"),
        ("SELECT c.nam FROM city c", "unknown_column", "near: city.name"),
        ("SELECT * FROM citys", "unknown_table", "near: city"),
        ("SELECT foo(1)", "unknown_function", "no such function: foo"),
        ("SELECT id FROM city, shop", "ambiguous_column", "ambiguous"),
        ("DELETE FROM city", "rejected", "expected one SELECT, got DELETE"),
        ("SELECT zeroblob(9)", "rejected", "not allowed: the function zeroblob"),
        ("", "rejected", "blank"),
        ("SELECT 1; SELECT 2", "error", "one statement"),
        (f"SELECT {'- ' * 3000}1", "limit", "over a limit"),
    ],
)
def test_a_query_that_fails_has_one_finding_with_the_reason(find: Find, sql: str, code: str, said: str) -> None:
    (finding,) = find(sql).values()
    assert (finding.code, finding.severity) == (code, "error")
    assert said in finding.message


@pytest.mark.parametrize(
    ("sql", "code", "said"),
    [
        ("SELECT id FROM city WHERE id > 99", "empty", "no rows"),
        ("SELECT founded FROM city WHERE id = 4", "all_null", "only NULL"),
        ("SELECT founded FROM city", "some_null", "NULL"),
        ("SELECT COUNT(*) FROM city WHERE id > 99", "single_zero", "zero"),
        ("SELECT country FROM city", "duplicates", "more than once"),
        ("SELECT id FROM city WHERE name = 'Brn'", "literal_not_found", "'Brn' is no value of city.name; near: 'Bern'"),
        ("SELECT id FROM city T1 WHERE T1.name IN ('Bern', 'Bsel')", "literal_not_found", "'Bsel' is no value"),
        ("SELECT id FROM city WHERE name NOT LIKE '%zzz%'", "literal_not_found", "'%zzz%'"),
        ('SELECT id FROM city WHERE name = "Bern"', "quoted_literal", '"Bern"'),
        ("SELECT c.id FROM city c JOIN shop s ON s.staff = c.id", "fan_out", "shop.staff = city.id is no declared key"),
        ("SELECT staff / id FROM shop", "integer_division", "CAST"),
        ("SELECT id FROM city WHERE founded > 1000", "text_as_number", "city.founded is text"),
        ("SELECT name FROM city ORDER BY founded LIMIT 1", "order_nulls", "NULL first"),
        ("SELECT name FROM shop ORDER BY sales DESC LIMIT 1", "tied_limit", "LIMIT 1 drops rows that tie"),
        ("SELECT name, sales AS s FROM shop ORDER BY s DESC LIMIT 1;", "tied_limit", "LIMIT 1"),
        ("SELECT country FROM city GROUP BY country ORDER BY COUNT(*) LIMIT 1", "tied_limit", "LIMIT 1"),
    ],
)
def test_an_odd_query_is_told_what_is_odd(find: Find, sql: str, code: str, said: str) -> None:
    found = find(sql)
    assert code in found
    assert said in found[code].message


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM city WHERE name = 'Bern'",
        "SELECT id FROM city WHERE name LIKE 'b%n'",
        "SELECT c.name FROM city AS c JOIN shop AS s ON s.city_id = c.id WHERE s.name = 'Anna''s'",
        'SELECT s.name FROM shop s JOIN "order item" o ON o."shop id" = s.id WHERE o.what = \'bun\'',
        "SELECT CAST(staff AS REAL) / id FROM shop WHERE staff > 0",
        "SELECT name FROM city WHERE founded IS NOT NULL ORDER BY founded LIMIT 1",
        'SELECT name AS "the name" FROM city WHERE id = 1',
        "SELECT name FROM shop ORDER BY sales DESC LIMIT 2",
        "SELECT name FROM shop ORDER BY sales DESC, id DESC LIMIT 1",
        "SELECT DISTINCT name FROM shop ORDER BY sales DESC LIMIT 1",
    ],
)
def test_a_plain_query_has_no_findings(find: Find, sql: str) -> None:
    assert not find(sql)


def test_a_question_for_a_number_wants_one(find: Find) -> None:
    assert "shape" in find("SELECT name FROM city", "How many cities are there?")
    assert "shape" not in find("SELECT COUNT(*) FROM city", "How many cities are there?")
    assert "shape" not in find("SELECT country, COUNT(*) FROM city GROUP BY 1", "How many cities has each country?")


def test_evidence_that_a_query_leaves_aside_is_said(find: Find) -> None:
    evidence = "in refers to city; Bern refers to name = 'Bern'; shop is a place"
    found = find("SELECT COUNT(*) FROM shop WHERE staff = 3", evidence=evidence)
    assert found["evidence_unused"].message == "the evidence names name, and the query does not"
    assert "'Bern'" in found["evidence_literal_unused"].message
    used = "SELECT COUNT(*) FROM shop s JOIN city c ON s.city_id = c.id WHERE c.name = 'Bern'"
    assert "evidence_unused" in find("SELECT 1", evidence="belongs to refers to city_id")
    assert not find(used, evidence=evidence)

"""Schemas in their renderings."""

import pytest

from iad_envs.bird.data import ColumnDescription
from iad_envs.bird.database import Dialect
from iad_envs.bird.schema import RENDERERS, Column, ForeignKey, Schema, Table, quoted_if_needed


def test_a_schema_joins_the_database_its_descriptions_and_the_tables_file(schema: Schema) -> None:
    city, shop, items = schema.tables
    assert [column.name for column in city.columns] == ["id", "name", "country", "founded"]
    assert city.columns[0].is_key
    assert city.columns[1].described.description == "the name of the city"
    assert shop.columns[3].described == ("yearly sales", "sales in millions of €", "half: 0.5 none: NULL")
    assert items.columns[1].values == ("tea", "bun")
    assert ("shop", "city_id", "city", "id") in schema.foreign_keys
    assert ("order item", "shop id", "shop", "id") in schema.foreign_keys


def test_each_form_says_what_it_has_to(schema: Schema) -> None:
    for form, has in (
        ("ddl", "CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, country TEXT, founded TEXT);"),
        ("ddl+samples", "\n    name TEXT, -- city name; the name of the city; values: 'Bern', 'Basel', 'Lyon'\n"),
        ("ddl+samples", '\n    "shop id" INTEGER, -- values: 1, 2\n'),
        ("ddl+samples", '\n    FOREIGN KEY ("shop id") REFERENCES shop (id),\n'),
        ("m-schema", "【DB_ID】 towns\n【Schema】\n# Table: city\n[\n"),
        ("m-schema", "\n(id:INTEGER, the number, Primary Key, Examples: [1, 2, 3]),\n"),
        ("m-schema", "\nshop.city_id=city.id\norder item.shop id=shop.id"),
    ):
        assert has in RENDERERS[form](schema, False)
    assert "yearly" not in RENDERERS["ddl"](schema, False)
    names = [quoted_if_needed(name, "mysql") for name in ("city", "order item", "a`b")]
    assert names == ["city", "`order item`", "`a``b`"]


@pytest.mark.parametrize(("dialect", "key"), [("sqlite", '"a key"'), ("mysql", "`a key`")])
def test_a_key_of_several_columns_is_declared_once_where_sql_is_wanted(dialect: Dialect, key: str) -> None:
    plain = ColumnDescription("", "", "")
    columns = (Column("a key", "INTEGER", True, plain, (1, 2)), Column("month", "TEXT", True, plain, ()))
    other = Column("n", "INTEGER", False, ColumnDescription("", "not PRIMARY KEY, as it says", ""), ())
    keys = (ForeignKey("two", "n", "other", "id"),)
    one = Schema("db", (Table("two", "", (*columns, other)), Table("one", "", columns[:1])), keys, dialect)
    assert RENDERERS["ddl+samples"](one, True) == (
        f"CREATE TABLE two (\n    {key} INTEGER, -- values: 1, 2\n    month TEXT,\n"
        "    n INTEGER, -- not PRIMARY KEY, as it says\n    FOREIGN KEY (n) REFERENCES other (id),\n"
        f"    PRIMARY KEY ({key}, month),\n);\n\nCREATE TABLE one (\n    {key} INTEGER PRIMARY KEY, -- values: 1, 2\n);"
    )
    apart = RENDERERS["ddl+samples"](one, False)
    assert f"    {key} INTEGER PRIMARY KEY, -- values: 1, 2\n    month TEXT PRIMARY KEY,\n" in apart

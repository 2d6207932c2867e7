"""What no recorded episode shows of a schema: keys of several columns, and names in another dialect."""

import pytest

from iad_envs.bird.data import ColumnDescription
from iad_envs.bird.database import Dialect
from iad_envs.bird.schema import RENDERERS, Column, ForeignKey, Schema, Table, quoted_if_needed


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
    names = [quoted_if_needed(name, "mysql") for name in ("city", "order item", "a`b")]
    assert names == ["city", "`order item`", "`a``b`"]

"""A database's schema as data, and its renderings for prompts: ddl, ddl+samples, m-schema."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from iad_envs.bird.data import BirdData, ColumnDescription, read_descriptions
from iad_envs.bird.database import Dialect, WorkerFailed

SAMPLED_ROWS = 40
NOTHING_DESCRIBED = ColumnDescription("", "", "")


class Column(NamedTuple):
    """A column: its declaration, its description and some of its values (numbers and short texts, no NULL)."""

    name: str
    type: str
    is_key: bool
    described: ColumnDescription
    values: tuple[Any, ...]


class Table(NamedTuple):
    """A table or view."""

    name: str
    ddl: str
    columns: tuple[Column, ...]


class ForeignKey(NamedTuple):
    """A declared reference from one column to another."""

    table: str
    column: str
    to_table: str
    to_column: str


class Schema(NamedTuple):
    """The part of a database's schema that agents may know."""

    db_id: str
    tables: tuple[Table, ...]
    foreign_keys: tuple[ForeignKey, ...]
    dialect: Dialect = "sqlite"

    def public(self) -> tuple[Mapping[str, Any], ...]:
        """The tables as plain data."""
        return tuple(
            {
                "name": table.name,
                "columns": tuple(
                    {
                        "name": column.name,
                        "type": column.type,
                        "is_key": column.is_key,
                        "full_name": column.described.name,
                        "description": column.described.description,
                        "value_description": column.described.values,
                        "values": column.values,
                    }
                    for column in table.columns
                ),
                "foreign_keys": tuple(key._asdict() for key in self.foreign_keys if key.table == table.name),
            }
            for table in self.tables
        )


@lru_cache(maxsize=64)
def load_schema(path: Path, foreign_keys: tuple[ForeignKey, ...] = ()) -> Schema:
    """Read a database's schema and its CSV descriptions, once per process.

    Args:
        path: The SQLite file.
        foreign_keys: Keys that the database itself may not declare.

    Raises:
        WorkerFailed: The file is not an SQLite database.
    """
    described = read_descriptions(path.parent / "database_description")
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)
        try:
            tables, keys = _read(connection, described)
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
            connection.text_factory = lambda text: text.decode("utf-8", "replace")  # slower, so only if needed
            tables, keys = _read(connection, described)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise WorkerFailed(f"expected an SQLite database in {path}, got: {error}; download the file again") from error
    return Schema(path.stem, tables, tuple(dict.fromkeys([*keys, *foreign_keys])))


def declared_in(data: BirdData, db_id: str) -> tuple[ForeignKey, ...]:
    """Return the foreign keys of a database in the tables file."""
    record = data.tables.get(db_id, {})
    tables = record.get("table_names_original", ())
    columns = record.get("column_names_original", ())
    found = []
    for start, end in record.get("foreign_keys", ()):
        (table, column), (to_table, to_column) = columns[start], columns[end]
        found.append(ForeignKey(tables[table], column, tables[to_table], to_column))
    return tuple(found)


def schema_of(data: BirdData, db_id: str) -> Schema:
    """Return a database's schema."""
    return load_schema(data.database(db_id), declared_in(data, db_id))


def quoted(name: str, dialect: Dialect = "sqlite") -> str:
    """Return a name as an SQL identifier."""
    mark = "`" if dialect == "mysql" else '"'  # in MySQL, double quotes are of texts
    return mark + name.replace(mark, mark * 2) + mark


def _read(
    connection: sqlite3.Connection, described: Mapping[tuple[str, str], ColumnDescription]
) -> tuple[tuple[Table, ...], list[ForeignKey]]:
    listed = (
        "FROM sqlite_master AS m, {} AS p WHERE m.type IN ('table', 'view') AND m.sql IS NOT NULL "
        "AND m.name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY m.rowid, p.{}"
    )
    of_columns = listed.format("pragma_table_info(m.name)", "cid")
    declared: dict[str, tuple[str, list[tuple[str, str, bool]]]] = {}
    for name, ddl, column, kind, key in connection.execute(f"SELECT m.name, m.sql, p.name, p.type, p.pk {of_columns}"):
        declared.setdefault(name, (ddl, []))[1].append((column, kind, bool(key)))
    tables = []
    for name, (ddl, columns) in declared.items():
        rows = connection.execute(f"SELECT * FROM {quoted(name)} LIMIT {SAMPLED_ROWS}").fetchall()
        cells = zip(*rows, strict=True) if rows else ((),) * len(columns)
        found = [
            Column(
                column, kind, is_key, described.get(column_key(name, column), NOTHING_DESCRIBED), shown_values(values)
            )
            for (column, kind, is_key), values in zip(columns, cells, strict=True)
        ]
        tables.append(Table(name, ddl, tuple(found)))
    named = {table.name.lower(): table for table in tables}
    of_keys = listed.format("pragma_foreign_key_list(m.name)", "id")
    keys = []
    for name, column, other, to_column in connection.execute(f'SELECT m.name, p."from", p."table", p."to" {of_keys}'):
        target = named.get(other.lower())
        if target is not None:
            primary = [one.name for one in target.columns if one.is_key]
            keys.append(ForeignKey(name, column, target.name, to_column or (primary[0] if primary else "")))
    return tuple(tables), keys


def column_key(table: str, column: str) -> tuple[str, str]:
    """Return the key of a column in the result of `read_descriptions`."""
    return table.strip().lower(), column.strip().lower()


def shown_values(cells: Iterable[Any]) -> tuple[Any, ...]:
    """Return the first few distinct values that can be shown."""
    found: dict[Any, None] = {}
    for cell in cells:
        if cell is None or cell == "" or isinstance(cell, bytes):
            continue
        found[cell[:40] if isinstance(cell, str) else cell] = None
        if len(found) == 3:
            break
    return tuple(found)


def render_ddl(schema: Schema, is_sql: bool = False) -> str:
    """Render the database's CREATE statements (BIRD's baseline prompt)."""
    return "\n\n".join(f"{table.ddl.strip().rstrip(';')};" for table in schema.tables)


def render_ddl_with_samples(schema: Schema, is_sql: bool = False) -> str:
    """Render CREATE statements with descriptions and sample values as comments (CHESS's format).

    With `is_sql`, a key of several columns is declared once. Else each of its columns is declared a key.
    """
    blocks = []
    named = partial(quoted_if_needed, dialect=schema.dialect)
    for table in schema.tables:
        primary = [named(column.name) for column in table.columns if column.is_key]
        is_joint = is_sql and len(primary) > 1
        lines = [_column_line(column, schema.dialect, column.is_key and not is_joint) for column in table.columns]
        lines += [
            f"    FOREIGN KEY ({named(key.column)}) REFERENCES {named(key.to_table)} ({named(key.to_column)}),"
            for key in schema.foreign_keys
            if key.table == table.name
        ]
        lines += [f"    PRIMARY KEY ({', '.join(primary)}),"] if is_joint else []
        blocks.append(f"CREATE TABLE {named(table.name)} (\n" + "\n".join(lines) + "\n);")
    return "\n\n".join(blocks)


def quoted_if_needed(name: str, dialect: Dialect = "sqlite") -> str:
    """Return a name as SQL, quoted unless it is a plain word."""
    return name if name.isidentifier() and name.isascii() else quoted(name, dialect)


def _column_line(column: Column, dialect: Dialect, is_key: bool) -> str:
    descriptions = [column.described.name if column.described.name.lower() != column.name.lower() else ""]
    descriptions += [column.described.description, column.described.values]
    words = [_clipped(text) for text in dict.fromkeys(descriptions) if text]
    if column.values:
        words.append("values: " + ", ".join(repr(value) for value in column.values))
    key = " PRIMARY KEY" if is_key else ""
    comment = f" -- {'; '.join(words)}" if words else ""
    return f"    {quoted_if_needed(column.name, dialect)} {column.type}".rstrip() + f"{key},{comment}"


def _clipped(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:160]}..."


def render_m_schema(schema: Schema, is_sql: bool = False) -> str:
    """Render M-schema (XiYan-SQL): one tuple per column, foreign keys after the tables."""
    lines = [f"【DB_ID】 {schema.db_id}", "【Schema】"]
    for table in schema.tables:
        columns = []
        for column in table.columns:
            parts = [f"{column.name}:{column.type.upper()}"]
            described = column.described.description or column.described.name
            parts += [_clipped(described)] if described else []
            parts += ["Primary Key"] if column.is_key else []
            parts += ["Examples: [" + ", ".join(map(str, column.values)) + "]"] if column.values else []
            columns.append(f"({', '.join(parts)})")
        lines += [f"# Table: {table.name}", "[", ",\n".join(columns), "]"]
    if schema.foreign_keys:
        lines.append("【Foreign keys】")
        lines += [f"{key.table}.{key.column}={key.to_table}.{key.to_column}" for key in schema.foreign_keys]
    return "\n".join(lines)


RENDERERS: Mapping[str, Callable[[Schema, bool], str]] = {
    "ddl": render_ddl,
    "ddl+samples": render_ddl_with_samples,
    "m-schema": render_m_schema,
}
"""Form -> its renderer, of a schema and whether it is to be valid SQL."""

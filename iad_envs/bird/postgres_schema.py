"""Reads a PostgreSQL schema from the server's catalogue, with a role that may only SELECT."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iad_envs.bird.data import LAYOUTS, BirdData, read_descriptions
from iad_envs.bird.database import Queried, QueryResult, WorkerFailed
from iad_envs.bird.schema import (
    NOTHING_DESCRIBED,
    SAMPLED_ROWS,
    Column,
    ForeignKey,
    Schema,
    Table,
    column_key,
    quoted,
    quoted_if_needed,
    shown_values,
    source_of,
)

VISIBLE = "n.nspname IN ('{name}', 'public') AND pg_catalog.pg_table_is_visible(c.oid)"
COLUMNS = (
    "SELECT c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), "
    "EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p' "
    "AND a.attnum = ANY (k.conkey)), n.nspname "
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    f"WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND {VISIBLE} "
    "AND pg_catalog.has_table_privilege(c.oid, 'SELECT') ORDER BY c.oid, a.attnum"
)
KEYS = (
    "SELECT c.relname, a.attname, t.relname, b.attname FROM pg_catalog.pg_constraint k "
    "CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS pair(start, stop) "
    "JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "JOIN pg_catalog.pg_class t ON t.oid = k.confrelid "
    "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = pair.start "
    "JOIN pg_catalog.pg_attribute b ON b.attrelid = t.oid AND b.attnum = pair.stop "
    f"WHERE k.contype = 'f' AND {VISIBLE} ORDER BY k.oid, pair.start"
)


def postgres_schema(database: Queried, data: BirdData, db_id: str) -> Schema:
    """Read the schema with the database's name or, for BIRD's own dump, its tables in `public`.

    Raises:
        WorkerFailed: There are no readable tables.
    """
    name = db_id.replace("'", "''")
    rows = _asked(database, COLUMNS.format(name=name), db_id)
    if not any(row[4] == db_id for row in rows):
        listed = {str(table).lower() for table in data.tables.get(db_id, {}).get("table_names_original", ())}
        rows = tuple(row for row in rows if row[0].lower() in listed)
    else:
        rows = tuple(row for row in rows if row[4] == db_id)
    if not rows:
        raise WorkerFailed(
            f"expected tables of {db_id} in the schema {db_id} or in public, got none that may be read; load them and "
            "GRANT USAGE and SELECT on them"
        )
    declared: dict[str, list[tuple[str, str, bool]]] = {}
    for table, column, kind, is_key, _ in rows:
        declared.setdefault(table, []).append((column, kind, is_key))
    described = read_descriptions(_folder(data, db_id))
    tables = tuple(_table(database, table, columns, described) for table, columns in declared.items())
    found = [ForeignKey(*row) for row in _asked(database, KEYS.format(name=name), db_id) if row[0] in declared]
    return Schema(db_id, tables, tuple(dict.fromkeys([*found, *source_of(data, db_id).foreign_keys])))


def _table(
    database: Queried, name: str, columns: list[tuple[str, str, bool]], described: Mapping[tuple[str, str], Any]
) -> Table:
    sampled = _asked(database, f"SELECT * FROM {quoted(name)} LIMIT {SAMPLED_ROWS}", name)
    found = tuple(
        Column(
            column,
            kind,
            is_key,
            described.get(column_key(name, column), NOTHING_DESCRIBED),
            shown_values(_plain(row[place]) for row in sampled),
        )
        for place, (column, kind, is_key) in enumerate(columns)
    )
    lines = [f"    {quoted_if_needed(column.name)} {column.type}" for column in found]
    keys = [quoted_if_needed(column.name) for column in found if column.is_key]
    lines += [f"    PRIMARY KEY ({', '.join(keys)})"] if keys else []
    return Table(name, f"CREATE TABLE {quoted_if_needed(name)} (\n" + ",\n".join(lines) + "\n)", found)


def _plain(cell: Any) -> Any:
    return cell if cell is None or isinstance(cell, int | float | str | bytes) else str(cell)


def _asked(database: Queried, sql: str, name: str) -> tuple[tuple[Any, ...], ...]:
    result: QueryResult = database.run(sql)
    if result.status != "ok":
        raise WorkerFailed(f"expected the tables of {name}, got: {result.message}; look at the role's privileges")
    return result.rows


def _folder(data: BirdData, db_id: str) -> Path:
    """Return the folder of a database's descriptions. It may be missing."""
    places = [data.folder / name / db_id / "database_description" for name in LAYOUTS[data.split].databases]
    return next((place for place in places if place.is_dir()), places[0])

"""Reads the schema of a database on a server, of any dialect, with a role that may only SELECT."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from iad_envs.bird.data import LAYOUTS, BirdData, read_descriptions
from iad_envs.bird.database import WorkerFailed
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
from iad_envs.bird.server import ServerDatabase


class DeclaredColumn(NamedTuple):
    """A column as the server's catalogue has it. `place` is the schema or database of its table."""

    table: str
    column: str
    kind: str
    is_key: bool
    place: str


def server_schema(database: ServerDatabase, data: BirdData, db_id: str) -> Schema:
    """Return the schema of the database's own place or, for BIRD's own dump, of its tables in the common place.

    Tables come in the order in which they were created. If the server does not know it, they come in the order of the
    tables file, others after them by name.

    Args:
        database: The server.
        data: The split, for descriptions and keys that a server may not have.
        db_id: Id of the database, and the name of its own place.

    Raises:
        WorkerFailed: There are no readable tables.
    """
    catalogue, dialect, name = database.catalogue, database.dialect, db_id.replace("'", "''")
    columns = [DeclaredColumn(*row) for row in _asked(database, catalogue.columns.format(name=name), db_id)]
    keys = _asked(database, catalogue.keys.format(name=name), db_id)
    listed = [str(table).lower() for table in data.tables.get(db_id, {}).get("table_names_original", ())]
    if not catalogue.is_ordered:
        columns.sort(key=lambda one: listed.index(one.table.lower()) if one.table.lower() in listed else len(listed))
    own = [one for one in columns if one.place == db_id]
    found = own or [one for one in columns if one.table.lower() in listed]
    if not found:
        raise WorkerFailed(
            f"expected tables of {db_id} in the schema {db_id} or in {catalogue.common_place}, got none that may be "
            "read; load them and GRANT SELECT on them"
        )
    declared: dict[str, list[DeclaredColumn]] = {}
    for one in found:
        declared.setdefault(one.table, []).append(one)
    described = read_descriptions(_folder(data, db_id))
    tables = tuple(_table(database, table, parts, described) for table, parts in declared.items())
    declared_keys = [ForeignKey(*row) for row in keys if row[0] in declared]
    return Schema(db_id, tables, tuple(dict.fromkeys([*declared_keys, *source_of(data, db_id).foreign_keys])), dialect)


def _asked(database: ServerDatabase, sql: str, name: str) -> tuple[tuple[Any, ...], ...]:
    """Return the rows of a query about a database or table.

    Raises:
        WorkerFailed: The query fails.
    """
    result = database.run(sql)
    if result.status != "ok":
        raise WorkerFailed(f"expected the tables of {name}, got: {result.message}; look at the role's privileges")
    return result.rows


def _table(
    database: ServerDatabase, name: str, columns: Sequence[DeclaredColumn], described: Mapping[tuple[str, str], Any]
) -> Table:
    dialect = database.dialect
    sampled = _asked(database, f"SELECT * FROM {quoted(name, dialect)} LIMIT {SAMPLED_ROWS}", name)
    found = tuple(
        Column(
            one.column,
            one.kind,
            bool(one.is_key),
            described.get(column_key(name, one.column), NOTHING_DESCRIBED),
            shown_values(_plain(row[place]) for row in sampled),
        )
        for place, one in enumerate(columns)
    )
    lines = [f"    {quoted_if_needed(column.name, dialect)} {column.type}" for column in found]
    keys = [quoted_if_needed(column.name, dialect) for column in found if column.is_key]
    lines += [f"    PRIMARY KEY ({', '.join(keys)})"] if keys else []
    return Table(name, f"CREATE TABLE {quoted_if_needed(name, dialect)} (\n" + ",\n".join(lines) + "\n)", found)


def _plain(cell: Any) -> Any:
    return cell if cell is None or isinstance(cell, int | float | str | bytes) else str(cell)


def _folder(data: BirdData, db_id: str) -> Path:
    """Return the folder of a database's descriptions. It may be missing."""
    places = [data.folder / name / db_id / "database_description" for name in LAYOUTS[data.split].databases]
    return next((place for place in places if place.is_dir()), places[0])

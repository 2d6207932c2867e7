"""Copies databases in BIRD's layout to PostgreSQL, one schema each, and creates the two roles that use them.

For tests and local runs. A superuser runs it on a database that contains nothing else.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from iad_envs.bird.postgres import psycopg
from iad_envs.bird.schema import quoted

READER = "iad_reader"
GUARD = "iad_guard"
TEMP_FILES = "100MB"
ALLOWED_NAMES = re.compile(r"[a-z_][a-z0-9_]*\Z")
CLOSED_FUNCTIONS = (
    "pg_advisory%",
    "pg_try_advisory%",
    r"lo\_%",
    "lowrite",
    "loread",
    "pg_notify",
    "pg_terminate_backend",
    "pg_cancel_backend",
    "pg_stat_get_activity",
    "pg_stat_get_backend_activity",
    "pg_export_snapshot",
    "pg_logical_emit_message",
)
"""Functions open to all roles by default: locks, large objects, messages, and other sessions with their queries."""
CLOSE_FUNCTIONS = """
DO $$
DECLARE f regprocedure;
BEGIN
  FOR f IN SELECT oid::regprocedure FROM pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace AND proname LIKE ANY ({patterns})
  LOOP EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f); END LOOP;
END $$"""
ROLES = """
CREATE ROLE {reader} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION;
ALTER ROLE {reader} SET temp_file_limit = '{temp_files}';
ALTER ROLE {reader} SET default_transaction_read_only = on;
CREATE ROLE {guard} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE IN ROLE pg_signal_backend;
REVOKE ALL ON DATABASE {database} FROM PUBLIC;
GRANT CONNECT ON DATABASE {database} TO {reader}, {guard};
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO {reader};
REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC;
REVOKE SELECT ON pg_catalog.pg_stat_activity FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_catalog.pg_terminate_backend(int, bigint) TO {guard}
"""


def make_roles(admin_dsn: str, *, reader: str = READER, guard: str = GUARD) -> None:
    """Create a role that may only SELECT and one that may only end its sessions. Revoke functions open to all roles.

    If the server requires passwords, set them with `ALTER ROLE ... PASSWORD`.

    Raises:
        ModuleNotFoundError: The driver is not installed.
        ValueError: A role's name is not a plain word.
    """
    for name in (reader, guard):
        if not ALLOWED_NAMES.match(name):
            raise ValueError(f"expected a role's name in lower case letters, digits and _, got {name!r}; change it")
    with psycopg().connect(admin_dsn) as connection:
        database = quoted(connection.info.dbname)
        patterns = ", ".join(f"'{pattern}'" for pattern in CLOSED_FUNCTIONS)
        connection.execute(CLOSE_FUNCTIONS.format(patterns=f"ARRAY[{patterns}]"))
        connection.execute(ROLES.format(reader=reader, guard=guard, database=database, temp_files=TEMP_FILES))


def load_database(admin_dsn: str, path: Path, *, schema: str = "", reader: str = READER) -> dict[str, int]:
    """Copy an SQLite database into a new schema, and give the reader access to it.

    A column is `bigint`, `double precision`, `date` or `timestamp` as declared if all its values fit, else `text`.

    Args:
        admin_dsn: Connection string of a role that may create schemas.
        path: The SQLite file.
        schema: Name of the schema. Default: the file's name.
        reader: Name of the role that may read the schema.

    Returns:
        Number of copied rows, by table.
    """
    name = quoted(schema or path.stem)
    source = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)
    with closing(source), psycopg().connect(admin_dsn) as target:
        target.execute(f"CREATE SCHEMA {name}")
        tables = [
            str(table)
            for (table,) in source.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' "
                "ORDER BY rowid"
            )
        ]
        counts = {table: _copied(source, target, name, table) for table in tables}
        for table in tables:
            _keyed(source, target, name, table)
        target.execute(f"GRANT USAGE ON SCHEMA {name} TO {quoted(reader)}")
        target.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {quoted(reader)}")
    with psycopg().connect(admin_dsn, autocommit=True) as target:
        for table in tables:
            target.execute(f"ANALYZE {name}.{quoted(table)}")
    return counts


def _copied(source: sqlite3.Connection, target: Any, schema: str, table: str) -> int:
    columns = source.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', [table]).fetchall()
    rows = source.execute(f"SELECT * FROM {quoted(table)}").fetchall()
    kinds = [_kind(declared, [row[place] for row in rows]) for place, (_, declared, *_) in enumerate(columns)]
    lines = [
        f"{quoted(name)} {kind}{' NOT NULL' if is_filled else ''}"
        for (name, _, is_filled, _), kind in zip(columns, kinds, strict=True)
    ]
    keys = [quoted(name) for name, _, _, place in sorted(columns, key=lambda column: column[3]) if place]
    if keys:
        lines.append(f"PRIMARY KEY ({', '.join(keys)})")
    target.execute(f"CREATE TABLE {schema}.{quoted(table)} ({', '.join(lines)})")
    with target.cursor().copy(f"COPY {schema}.{quoted(table)} FROM STDIN") as copy:
        for row in rows:
            copy.write_row([_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)])
    return len(rows)


def _keyed(source: sqlite3.Connection, target: Any, schema: str, table: str) -> None:
    """Declare foreign keys without checking them, because SQLite did not check them either."""
    keys: dict[int, list[tuple[str, str, str]]] = {}
    for number, other, start, end in source.execute(
        'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq', [table]
    ):
        keys.setdefault(number, []).append((other, start, end))
    for parts in keys.values():
        starts = ", ".join(quoted(start) for _, start, _ in parts)
        ends = ", ".join(quoted(end) for _, _, end in parts if end)
        to = f"{schema}.{quoted(parts[0][0])}" + (f" ({ends})" if ends else "")
        try:
            with target.transaction():
                target.execute(
                    f"ALTER TABLE {schema}.{quoted(table)} ADD FOREIGN KEY ({starts}) REFERENCES {to} NOT VALID"
                )
        except psycopg().DatabaseError:
            continue  # PostgreSQL refuses keys between these types or names; the tables file still has them


def _kind(declared: str, cells: Sequence[Any]) -> str:
    """Return a column's type: the declared type by SQLite's rules if all values fit, else text."""
    word = declared.upper()
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(cell, bytes) for cell in given):
        return "bytea"
    if "DATE" in word or "TIMESTAMP" in word:
        kinds: Mapping[str, Any] = {"date": date.fromisoformat, "timestamp": datetime.fromisoformat}
        return next((kind for kind, read in kinds.items() if all(_reads(read, cell) for cell in given)), "text")
    if "INT" in word and all(isinstance(cell, int) for cell in given):
        return "bigint"
    is_number = any(part in word for part in ("INT", "REAL", "FLOA", "DOUB", "NUM", "DEC"))
    if is_number and all(isinstance(cell, int | float) for cell in given):
        return "double precision"
    return "text"


def _reads(read: Any, cell: Any) -> bool:
    try:
        read(cell)
    except (TypeError, ValueError):
        return False
    return True


def _cell(cell: Any, kind: str) -> Any:
    """Convert a cell for COPY. Null characters are removed, because PostgreSQL's texts can't contain them."""
    if cell is None or kind == "bytea":
        return cell
    if kind == "text":
        return (cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)).replace("\0", "")
    return cell

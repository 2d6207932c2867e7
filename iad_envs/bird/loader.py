"""Copies databases in BIRD's layout to a server, and creates the two users for it. For tests and local runs.

A superuser runs it. On PostgreSQL a database is a schema, and the server's database should contain nothing else. On
MariaDB or MySQL it is a database. An address that begins with `mysql://` or `mariadb://` is of the latter.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from iad_envs.bird.database import Dialect
from iad_envs.bird.mysql import address, pymysql
from iad_envs.bird.postgres import psycopg
from iad_envs.bird.schema import quoted

READER = "iad_reader"
GUARD = "iad_guard"
ColumnKind = Literal["bytes", "date", "timestamp", "integer", "number", "text", "long text"]
INDEXED_CHARS = 255
"""Longest text that has a type which MySQL can index. Longer ones can't be keys there."""
TYPES: Mapping[ColumnKind, tuple[str, str]] = {
    "bytes": ("bytea", "longblob"),
    "date": ("date", "date"),
    "timestamp": ("timestamp", "datetime"),
    "integer": ("bigint", "bigint"),
    "number": ("double precision", "double"),
    "text": ("text", f"varchar({INDEXED_CHARS})"),
    "long text": ("text", "longtext"),
}
"""Kind of a column -> its type on PostgreSQL, and on MySQL."""
CLOSE_FUNCTIONS = r"""
DO $$
DECLARE f regprocedure;
BEGIN
  FOR f IN SELECT oid::regprocedure FROM pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace AND proname LIKE ANY (ARRAY[
      'pg_advisory%', 'pg_try_advisory%', 'lo\_%', 'lowrite', 'loread', 'pg_notify', 'pg_terminate_backend',
      'pg_cancel_backend', 'pg_stat_get_activity', 'pg_stat_get_backend_activity', 'pg_export_snapshot',
      'pg_logical_emit_message'])
  LOOP EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f); END LOOP;
END $$"""
"""Closes functions open to all roles by default: locks, large objects, messages, and other sessions' queries."""
ROLES = """
CREATE ROLE {reader} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION;
ALTER ROLE {reader} SET temp_file_limit = '100MB';
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


def make_users(admin_dsn: str, *, host: str = "localhost") -> None:
    """Create the user `READER`, who may only SELECT what it is granted, and `GUARD`, who may only end its sessions.

    On PostgreSQL, functions that are open to all roles are closed. On MySQL, name as `host` where the users connect
    from (`%` for anywhere). If the server asks for passwords, set them with `ALTER ROLE` or `ALTER USER`.

    Raises:
        ModuleNotFoundError: The driver is not installed.
    """
    if not _is_mysql(admin_dsn):
        with psycopg().connect(admin_dsn) as connection:
            connection.execute(CLOSE_FUNCTIONS)
            database = quoted(connection.info.dbname)
            connection.execute(ROLES.format(reader=READER, guard=GUARD, database=database))
        return
    with _mysql(admin_dsn) as cursor:
        cursor.execute("SELECT VERSION()")
        right = "CONNECTION ADMIN" if "MariaDB" in cursor.fetchone()[0] else "CONNECTION_ADMIN"
        cursor.execute("CREATE USER %s@%s", [READER, host])
        cursor.execute("CREATE USER %s@%s", [GUARD, host])
        cursor.execute(f"GRANT {right} ON *.* TO %s@%s", [GUARD, host])


def load_database(admin_dsn: str, path: Path, *, host: str = "localhost") -> dict[str, int]:
    """Copy an SQLite database into a new schema or database of the file's name, and give `READER` access to it.

    A column is of whole numbers, numbers, dates or times as declared if all its values fit, else of texts.

    Args:
        admin_dsn: Address with a user that may create schemas or databases.
        path: The SQLite file.
        host: On MySQL, where that user connects from, as in `make_users`.

    Returns:
        Number of copied rows, by table.
    """
    dialect: Dialect = "mysql" if _is_mysql(admin_dsn) else "postgresql"
    place = quoted(path.stem, dialect)
    with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)) as source:
        listed = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        tables = [_read_table(source, str(name)) for (name,) in source.execute(f"{listed} ORDER BY rowid")]
    keys = [sql for table in tables for sql in table.key_additions(place, dialect)]
    if dialect == "mysql":
        with _mysql(admin_dsn) as cursor:
            # Texts are compared with their case and accents, as in SQLite. MySQL's own default ignores both.
            cursor.execute(f"CREATE DATABASE {place} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
            cursor.execute("SET foreign_key_checks = 0")
            for table in tables:
                cursor.execute(table.creation(place, dialect))
                values = ", ".join(["%s"] * len(table.columns))
                into = f"{place}.{quoted(table.name, dialect).replace('%', '%%')}"
                cursor.executemany(f"INSERT INTO {into} VALUES ({values})", table.rows)
            for sql in keys:
                with suppress(pymysql().err.Error):  # keys between some types, and to columns without an index
                    cursor.execute(sql)
            cursor.execute(f"GRANT SELECT ON {place}.* TO %s@%s", [READER, host])
    else:
        with psycopg().connect(admin_dsn) as target:
            target.execute(f"CREATE SCHEMA {place}")
            for table in tables:
                target.execute(table.creation(place, dialect))
                with target.cursor().copy(f"COPY {place}.{quoted(table.name)} FROM STDIN") as copy:
                    for row in table.rows:
                        copy.write_row(row)
            for sql in keys:
                # It refuses keys between some types. SQLite did not check the rows, so this does not either.
                with suppress(psycopg().DatabaseError), target.transaction():
                    target.execute(f"{sql} NOT VALID")
            target.execute(f"GRANT USAGE ON SCHEMA {place} TO {READER}")
            target.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {place} TO {READER}")
        with psycopg().connect(admin_dsn, autocommit=True) as target:
            for table in tables:
                target.execute(f"ANALYZE {place}.{quoted(table.name)}")
    return {table.name: len(table.rows) for table in tables}


def _is_mysql(dsn: str) -> bool:
    return dsn.startswith(("mysql:", "mariadb:"))


@contextmanager
def _mysql(dsn: str) -> Iterator[Any]:
    """Connect with a cursor, and commit each statement."""
    with (
        closing(pymysql().connect(**address(dsn), charset="utf8mb4", autocommit=True)) as connection,
        connection.cursor() as cursor,
    ):
        yield cursor


class SourceColumn(NamedTuple):
    """A column to copy. `kind` is the declared type by SQLite's rules if all values fit, else a text."""

    name: str
    kind: ColumnKind
    is_filled: bool


class SourceKey(NamedTuple):
    """A foreign key. `to_columns` is empty for the other table's primary key."""

    columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]


class SourceTable(NamedTuple):
    """A table to copy, with the values of its rows as a server takes them."""

    name: str
    columns: tuple[SourceColumn, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[SourceKey, ...]
    rows: Sequence[tuple[Any, ...]]

    def creation(self, place: str, dialect: Dialect) -> str:
        """Return the statement that creates the table in a schema or database, without its foreign keys."""
        kinds = {one.name: TYPES[one.kind][dialect == "mysql"] for one in self.columns}
        lines = [
            f"{quoted(one.name, dialect)} {kinds[one.name]}{' NOT NULL' if one.is_filled else ''}"
            for one in self.columns
        ]
        # MySQL's long types can't be keys.
        if self.primary_key and not any(kinds[key].startswith("long") for key in self.primary_key):
            lines.append(f"PRIMARY KEY ({_listed(self.primary_key, dialect)})")
        return f"CREATE TABLE {place}.{quoted(self.name, dialect)} ({', '.join(lines)})"

    def key_additions(self, place: str, dialect: Dialect) -> Iterator[str]:
        """Yield the statements that add the foreign keys. A server may refuse some; the tables file still has them."""
        for key in self.foreign_keys:
            ends = key.to_columns or (key.columns if dialect == "mysql" else ())
            to = f"{place}.{quoted(key.to_table, dialect)}" + (f" ({_listed(ends, dialect)})" if ends else "")
            table = f"{place}.{quoted(self.name, dialect)}"
            yield f"ALTER TABLE {table} ADD FOREIGN KEY ({_listed(key.columns, dialect)}) REFERENCES {to}"


def _listed(names: Sequence[str], dialect: Dialect) -> str:
    return ", ".join(quoted(name, dialect) for name in names)


def _read_table(source: sqlite3.Connection, name: str) -> SourceTable:
    declared = source.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', [name]).fetchall()
    cells = [*zip(*source.execute(f"SELECT * FROM {quoted(name)}"), strict=True)] or [()] * len(declared)
    columns = tuple(
        SourceColumn(column, _kind(kind, [cell for cell in own if cell is not None]), bool(is_filled))
        for (column, kind, is_filled, _), own in zip(declared, cells, strict=True)
    )
    primary = tuple(column for column, _, _, place in sorted(declared, key=lambda one: one[3]) if place)
    keys: dict[int, list[tuple[str, str, str | None]]] = {}
    for number, other, start, end in source.execute(
        'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq', [name]
    ):
        keys.setdefault(number, []).append((other, start, end))
    foreign = tuple(
        SourceKey(tuple(start for _, start, _ in parts), parts[0][0], tuple(end for _, _, end in parts if end))
        for parts in keys.values()
    )
    # Not all servers' texts have null characters.
    for place, one in enumerate(columns):
        if "text" in one.kind:
            texts = (cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for cell in cells[place])
            cells[place] = tuple(None if cell is None else str(cell).replace("\0", "") for cell in texts)
    return SourceTable(name, columns, primary, foreign, [*zip(*cells, strict=True)])


def _kind(declared: str, given: Sequence[Any]) -> ColumnKind:
    """Return what a column holds, by its declared type and its values."""
    word = declared.upper()
    if given and all(isinstance(cell, bytes) for cell in given):
        return "bytes"
    if "DATE" in word or "TIMESTAMP" in word:
        days: Mapping[ColumnKind, Callable[[Any], Any]] = {
            "date": date.fromisoformat,
            "timestamp": datetime.fromisoformat,
        }
        for kind, read in days.items():
            with suppress(TypeError, ValueError):
                for cell in given:
                    read(cell)
                return kind
    elif "INT" in word and all(isinstance(cell, int) for cell in given):
        return "integer"
    elif any(part in word for part in ("INT", "REAL", "FLOA", "DOUB", "NUM", "DEC")) and all(
        isinstance(cell, int | float) for cell in given
    ):
        return "number"
    return "text" if all(len(str(cell)) <= INDEXED_CHARS for cell in given) else "long text"

"""Copies databases in BIRD's layout to PostgreSQL, one schema each, and creates the two roles that use them.

For tests and local runs. A superuser runs it on a database that contains nothing else.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from iad_envs.bird.postgres import psycopg
from iad_envs.bird.schema import quoted
from iad_envs.bird.sqlite_source import GUARD, READER, ColumnKind, check_names, opened, read_table, table_names

TEMP_FILES = "100MB"
TYPES: Mapping[ColumnKind, str] = {
    "bytes": "bytea",
    "date": "date",
    "timestamp": "timestamp",
    "integer": "bigint",
    "number": "double precision",
    "text": "text",
    "long text": "text",
}
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
    check_names(reader, guard)
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
    place = schema or path.stem
    name = quoted(place)
    with opened(path) as source, psycopg().connect(admin_dsn) as target:
        target.execute(f"CREATE SCHEMA {name}")
        tables = [read_table(source, table) for table in table_names(source)]
        for table in tables:
            target.execute(table.creation(place, "postgresql", TYPES))
            with target.cursor().copy(f"COPY {name}.{quoted(table.name)} FROM STDIN") as copy:
                for row in table.rows:
                    copy.write_row(table.cells(row))
        for table in tables:
            for sql in table.key_additions(place, "postgresql"):
                # PostgreSQL refuses keys between some types. SQLite did not check the rows, so this does not either.
                with suppress(psycopg().DatabaseError), target.transaction():
                    target.execute(f"{sql} NOT VALID")
        target.execute(f"GRANT USAGE ON SCHEMA {name} TO {quoted(reader)}")
        target.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {quoted(reader)}")
    with psycopg().connect(admin_dsn, autocommit=True) as target:
        for table in tables:
            target.execute(f"ANALYZE {name}.{quoted(table.name)}")
    return {table.name: len(table.rows) for table in tables}

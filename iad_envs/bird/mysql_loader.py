"""Copies databases in BIRD's layout to a MariaDB or MySQL server, one database each, and creates the users for them.

For tests and local runs. A superuser runs it.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from iad_envs.bird.mysql import address, pymysql
from iad_envs.bird.schema import quoted
from iad_envs.bird.sqlite_source import (
    GUARD,
    INDEXED_CHARS,
    READER,
    ColumnKind,
    check_names,
    opened,
    read_table,
    table_names,
)

TYPES: Mapping[ColumnKind, str] = {
    "bytes": "longblob",
    "date": "date",
    "timestamp": "datetime",
    "integer": "bigint",
    "number": "double",
    "text": f"varchar({INDEXED_CHARS})",
    "long text": "longtext",
}
COLLATION = "utf8mb4_bin"
"""Texts are compared with their case and accents, as in SQLite and PostgreSQL. MySQL's own default ignores both."""


def make_users(admin_dsn: str, *, reader: str = READER, guard: str = GUARD, host: str = "localhost") -> None:
    """Create a user that may only SELECT what it is granted, and one that may only end its sessions.

    If they connect from other machines, name those as `host` (`%` for any), and set passwords with `ALTER USER ...
    IDENTIFIED BY`.

    Raises:
        ModuleNotFoundError: The driver is not installed.
        ValueError: A user's name is not a plain word.
    """
    check_names(reader, guard)
    with _admin(admin_dsn) as target:
        is_mariadb = "MariaDB" in target.get_server_info()
        _execute(target, "CREATE USER %s@%s", [reader, host])
        _execute(target, "CREATE USER %s@%s", [guard, host])
        right = "CONNECTION ADMIN" if is_mariadb else "CONNECTION_ADMIN"
        _execute(target, f"GRANT {right} ON *.* TO %s@%s", [guard, host])


def load_database(
    admin_dsn: str, path: Path, *, schema: str = "", reader: str = READER, host: str = "localhost"
) -> dict[str, int]:
    """Copy an SQLite database into a new one on the server, and give the reader access to it.

    A column is `bigint`, `double`, `date` or `datetime` as declared if all its values fit, else text.

    Args:
        admin_dsn: Address with a user that may create databases.
        path: The SQLite file.
        schema: Name of the new database. Default: the file's name.
        reader: Name of the user that may read it.
        host: Where that user connects from, as in `make_users`.

    Returns:
        Number of copied rows, by table.
    """
    place = schema or path.stem
    name = quoted(place, "mysql")
    with opened(path) as source, _admin(admin_dsn) as target:
        _execute(target, f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE {COLLATION}")
        tables = [read_table(source, table) for table in table_names(source)]
        _execute(target, "SET foreign_key_checks = 0")
        for table in tables:
            _execute(target, table.creation(place, "mysql", TYPES))
            rows = [table.cells(row) for row in table.rows]
            values = ", ".join(["%s"] * len(table.columns))
            with target.cursor() as cursor:
                into = f"{name}.{quoted(table.name, 'mysql').replace('%', '%%')}"
                cursor.executemany(f"INSERT INTO {into} VALUES ({values})", rows)
        for table in tables:
            for sql in table.key_additions(place, "mysql"):
                # MySQL refuses keys between some types, and to columns without an index.
                with suppress(pymysql().err.Error):
                    _execute(target, sql)
        _execute(target, f"GRANT SELECT ON {name}.* TO %s@%s", [reader, host])
    return {table.name: len(table.rows) for table in tables}


def _admin(dsn: str) -> Any:
    return closing(pymysql().connect(**address(dsn), charset="utf8mb4", autocommit=True))


def _execute(target: Any, sql: str, values: Sequence[Any] = ()) -> None:
    with target.cursor() as cursor:
        cursor.execute(sql, values or None)

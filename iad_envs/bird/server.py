"""Queries a database of a server: what is the same on all servers. `postgres.py` and `mysql.py` have the rest."""

import time
from abc import abstractmethod
from collections.abc import Generator
from contextlib import closing
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from iad_envs.bird.data import LAYOUTS, BirdData, read_descriptions
from iad_envs.bird.database import (
    EXPLORING,
    Dialect,
    Queried,
    QueryLimits,
    QueryResult,
    Status,
    WorkerFailed,
    failed,
)
from iad_envs.bird.schema import (
    NOTHING_DESCRIBED,
    SAMPLED_ROWS,
    Column,
    ForeignKey,
    Schema,
    Table,
    column_key,
    declared_in,
    quoted,
    quoted_if_needed,
    shown_values,
)
from webshop_server.extras import extra_command

CONNECT_LIMIT_S = 5
GUARD_LIMIT_S = 0.1
PIECE = 1 << 16
TOO_LARGE = "a row is larger than a result may be"

Fetched = Generator[tuple[int, tuple[Any, ...]], None, None]
"""First the names of the columns, then the rows one by one, each with its size in bytes."""


class PastDeadline(Exception):
    """A server did not end a query in time, nor within the grace period."""


class QueryFailed(Exception):
    """A query has no result. The arguments are status and message."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message


class DeclaredColumn(NamedTuple):
    """A column as the server's catalogue has it. `place` is the schema or database of its table."""

    table: str
    column: str
    kind: str
    is_key: bool
    place: str


class ServerDatabase(Queried):
    """One database of a server, or a schema of one.

    Thread-safe: queries run one at a time. Every query has a session of its own. One that the server does not end in
    time is ended through a second connection, the guard.

    Args:
        dsn: Address of the server with a role or user that may only SELECT.
        schema: Name of the schema or database.
        limits: Limits of every query: seconds, grace, rows, bytes of result and query.
        guard_dsn: Address with a role or user that may end the sessions of `dsn`. Default: `dsn`.

    Raises:
        ModuleNotFoundError: The driver is not installed.
        ValueError: An address can't be read.
    """

    dialect: ClassVar[Dialect]
    columns: ClassVar[str]
    """Query for the columns of all readable tables, as the fields of `DeclaredColumn`. `{name}` is the database."""
    keys: ClassVar[str]
    """Query for the declared foreign keys, as the fields of `ForeignKey`."""
    is_ordered: ClassVar[bool]
    """Whether the catalogue has tables in the order in which they were created."""
    common_place: ClassVar[str]
    """Where BIRD's own dump has the tables of all databases."""

    def __init__(self, dsn: str, schema: str, limits: QueryLimits = EXPLORING, *, guard_dsn: str | None = None) -> None:
        super().__init__(limits)
        self.schema = schema
        self._guard: Any = None
        self._connects_to(dsn, guard_dsn or dsn)

    def _run(self, sql: str, seconds: float, fresh: bool) -> QueryResult:
        limits = self.limits
        if reason := self._refused(sql):
            return failed("rejected", f"not allowed: {reason}")
        with self._lock:
            if self._guard is None:
                self._guard = self._new_guard()
            session = self._session(seconds)
            self.n_started += 1
            started = time.perf_counter()
            rows: list[tuple[Any, ...]] = []
            n_bytes, is_cut = 0, False
            try:
                with closing(self._fetched(session, sql, started, seconds)) as fetched:
                    columns = next(fetched, (0, ()))[1]
                    for n_row, row in fetched:
                        n_bytes += n_row
                        is_cut = len(rows) == limits.rows or n_bytes > limits.result_bytes
                        if is_cut:
                            break
                        rows.append(row)
                    spent = time.perf_counter() - started
            except QueryFailed as error:
                return failed(error.status, error.message, time.perf_counter() - started)
            except PastDeadline:
                self._end(session)
                return failed("timeout", "ended at the deadline", seconds + limits.grace_s)
            finally:
                self._leave(session)
        return QueryResult("ok", "", columns, tuple(rows), is_cut, spent, False)

    def read_schema(self, data: BirdData) -> Schema:
        """Return the schema of the database's own place or, for BIRD's own dump, of its tables in the common place.

        Tables come in the order in which they were created. If the server does not know it, they come in the order of
        the tables file, others after them by name. `data` has descriptions, and keys that a server may not have.

        Raises:
            WorkerFailed: There are no readable tables.
        """
        db_id, name = self.schema, self.schema.replace("'", "''")
        columns = [DeclaredColumn(*row) for row in self._asked(self.columns.format(name=name), db_id)]
        keys = self._asked(self.keys.format(name=name), db_id)
        listed = [str(table).lower() for table in data.tables.get(db_id, {}).get("table_names_original", ())]
        if not self.is_ordered:
            columns.sort(
                key=lambda one: listed.index(one.table.lower()) if one.table.lower() in listed else len(listed)
            )
        own = [one for one in columns if one.place == db_id]
        declared: dict[str, list[DeclaredColumn]] = {}
        for one in own or [one for one in columns if one.table.lower() in listed]:
            declared.setdefault(one.table, []).append(one)
        if not declared:
            raise WorkerFailed(
                f"expected tables of {db_id} in the schema {db_id} or in {self.common_place}, got none that may be "
                "read; load them and GRANT SELECT on them"
            )
        places = [data.folder / name / db_id / "database_description" for name in LAYOUTS[data.split].databases]
        described = read_descriptions(next((place for place in places if place.is_dir()), places[0]))
        tables = []
        for table, parts in declared.items():
            sampled = self._asked(f"SELECT * FROM {quoted(table, self.dialect)} LIMIT {SAMPLED_ROWS}", table)
            plain = [
                [cell if isinstance(cell, int | float | str | bytes | None) else str(cell) for cell in row]
                for row in sampled
            ]
            found = tuple(
                Column(
                    one.column,
                    one.kind,
                    bool(one.is_key),
                    described.get(column_key(table, one.column), NOTHING_DESCRIBED),
                    shown_values(row[place] for row in plain),
                )
                for place, one in enumerate(parts)
            )
            lines = [f"    {quoted_if_needed(one.name, self.dialect)} {one.type}" for one in found]
            primary = ", ".join(quoted_if_needed(one.name, self.dialect) for one in found if one.is_key)
            ddl = ",\n".join([*lines, *([f"    PRIMARY KEY ({primary})"] if primary else [])])
            tables.append(Table(table, f"CREATE TABLE {quoted_if_needed(table, self.dialect)} (\n{ddl}\n)", found))
        declared_keys = [ForeignKey(*row) for row in keys if row[0] in declared]
        all_keys = dict.fromkeys([*declared_keys, *declared_in(data, db_id)])
        return Schema(db_id, tuple(tables), tuple(all_keys), self.dialect)

    def _asked(self, sql: str, name: str) -> tuple[tuple[Any, ...], ...]:
        """Return the rows of a query about a database or table.

        Raises:
            WorkerFailed: The query fails.
        """
        result = self.run(sql)
        if result.status != "ok":
            raise WorkerFailed(f"expected the tables of {name}, got: {result.message}; look at the role's privileges")
        return result.rows

    def _drop(self) -> None:
        if self._guard is not None:
            self._leave(self._guard)
            self._guard = None

    def _end(self, session: Any) -> None:
        """End a session through the second connection, which is opened again if it is broken."""
        for _ in range(2):
            if self._is_ended(session):
                return
            self._drop()
            self._guard = self._new_guard()

    def _refused(self, sql: str) -> str:
        """Return why a text is not sent; "" if it is."""
        return ""

    @abstractmethod
    def _connects_to(self, dsn: str, guard_dsn: str) -> None:
        """Import the driver and keep the addresses. Nothing is opened yet."""

    @abstractmethod
    def _new_guard(self) -> Any:
        """Return a new second connection."""

    @abstractmethod
    def _session(self, seconds: float) -> Any:
        """Return a new session, whose server ends a query after so many seconds."""

    @abstractmethod
    def _fetched(self, session: Any, sql: str, started: float, seconds: float) -> Fetched:
        """Execute a statement in a session, and yield its columns and rows.

        Raises:
            QueryFailed: It has no result.
            PastDeadline: It did not end within the time limit and the grace period.
        """

    @abstractmethod
    def _is_ended(self, session: Any) -> bool:
        """Tell the server by the second connection to end a session. Whether it was told, or need not be."""

    @abstractmethod
    def _leave(self, session: Any) -> None:
        """Close a session or the second connection, be it broken."""


def driver(module: str, extra: str, package: str) -> Any:
    """Return a server's driver.

    Raises:
        ModuleNotFoundError: The driver is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"expected the package {package}, got: {error}; to fix it: {extra_command(extra)}"
        ) from error

"""Queries a database of a server: what is the same on all servers. `postgres.py` and `mysql.py` have the rest."""

import time
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import closing
from threading import Lock
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self

from iad_envs.bird.database import EXPLORING, Dialect, QueryLimits, QueryResult, Status, failed, unsendable

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


class CatalogueQueries(NamedTuple):
    """How a server lists its tables.

    Attributes:
        columns: Query for the columns of all readable tables: table, column, type, whether it is of the primary key,
            and the schema or database of the table. `{name}` is the name of the database.
        keys: Query for the declared foreign keys, as the fields of `ForeignKey`.
        is_ordered: Whether tables come in the order in which they were created.
        common_place: Where BIRD's own dump has the tables of all databases.
    """

    columns: str
    keys: str
    is_ordered: bool
    common_place: str


class ServerDatabase(ABC):
    """One database of a server, or a schema of one, with the interface of the SQLite worker.

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
    catalogue: ClassVar[CatalogueQueries]

    def __init__(self, dsn: str, schema: str, limits: QueryLimits = EXPLORING, *, guard_dsn: str | None = None) -> None:
        self.schema = schema
        self.limits = limits
        self.n_started = 0
        self._guard: Any = None
        self._lock = Lock()
        self._connects_to(dsn, guard_dsn or dsn)

    def run(self, sql: str, limit_s: float | None = None, *, fresh: bool = False) -> QueryResult:
        """Execute one statement, in a new session.

        Args:
            sql: Any text.
            limit_s: Time limit in seconds that overrides `limits.seconds`.
            fresh: Ignored, because every session is new.

        Raises:
            WorkerFailed: The server refuses the connection.
        """
        limits = self.limits
        seconds = limits.seconds if limit_s is None else limit_s
        if (unsent := unsendable(sql, limits)) is not None:
            return unsent
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

    def close(self) -> None:
        """Close the second connection. The next query opens a new one. Closing twice is harmless."""
        with self._lock:
            self._drop_guard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _drop_guard(self) -> None:
        if self._guard is not None:
            self._leave(self._guard)
            self._guard = None

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
    def _end(self, session: Any) -> None:
        """End a session through the second connection, which is opened again if it is broken."""

    @abstractmethod
    def _leave(self, session: Any) -> None:
        """Close a session or the second connection, be it broken."""

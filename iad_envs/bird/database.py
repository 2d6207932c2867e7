"""A database behind a worker process: asked over a socket, killed at deadline and grace, replaced at once."""

import atexit
import marshal
import os
import socket
import sqlite3
import subprocess
import sys
import weakref
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol

from iad_envs.bird import worker
from iad_envs.errors import Unavailable

Dialect = Literal["sqlite", "postgresql"]
Status = Literal["ok", "error", "timeout", "limit", "rejected"]
START_LIMIT_S = 10.0
MIB = 1 << 20
KEPT_VARIABLES = ("LD_LIBRARY_PATH", "SYSTEMROOT")


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """What a query may use.

    Attributes:
        seconds: Until the progress handler stops it.
        grace_s: After that, until the process is killed.
        rows: Fetched at most; the result says that it was cut.
        result_bytes: Of the rows, likewise.
        text_bytes: SQLite's limit on one value or row.
        sql_bytes: Of the query's text.
        heap_bytes: SQLite's heap.
        address_space_bytes: Of the process; 0 for no limit.
        strict: Also SQLite's limits on columns, depth, compound parts and compiled size.
    """

    seconds: float = 5.0
    grace_s: float = 0.25
    rows: int = 10_000
    result_bytes: int = 16 * MIB
    text_bytes: int = 1_000_000
    sql_bytes: int = 100_000
    heap_bytes: int = 128 * MIB
    address_space_bytes: int = 1024 * MIB
    strict: bool = True

    def categories(self) -> tuple[tuple[int, int], ...]:
        """SQLite's limits as pairs of category and value."""
        always = (
            (sqlite3.SQLITE_LIMIT_LENGTH, self.text_bytes),
            (sqlite3.SQLITE_LIMIT_SQL_LENGTH, self.sql_bytes),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
            (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
            (sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 100),
        )
        return (*always, *STRICT) if self.strict else always


STRICT = (
    (sqlite3.SQLITE_LIMIT_COLUMN, 200),
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
    (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 50),
    (sqlite3.SQLITE_LIMIT_VDBE_OP, 100_000),
    (sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 32),
    (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256),
)
EXPLORING = QueryLimits()
SCORING = QueryLimits(
    seconds=30.0,
    rows=500_000,
    result_bytes=64 * MIB,
    text_bytes=100_000_000,
    sql_bytes=1_000_000,
    heap_bytes=512 * MIB,
    address_space_bytes=2048 * MIB,
    strict=False,
)
"""For gold and for predictions that met one of the exploring limits, which the official evaluator has not."""


class QueryResult(NamedTuple):
    """What a query gave.

    Attributes:
        status: `ok`, or why there are no rows.
        message: The database's or ours; empty for `ok`.
        columns: Their names.
        rows: Tuples of None, int, float, str and bytes; PostgreSQL also gives Decimal, bool, date, time and datetime.
        is_cut: Whether a cap ended the rows.
        seconds: Spent executing and fetching; not part of what makes two results equal.
        undecodable: Whether text that is not UTF-8 was repaired; the official evaluator fails there.
    """

    status: Status
    message: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_cut: bool
    seconds: float
    undecodable: bool


class WorkerFailed(OSError):
    """A worker could not open its database, or a server does not let us in."""


class Queried(Protocol):
    """A database that answers untrusted queries, bounded by its limits: a worker on a file, or a server's sessions."""

    limits: QueryLimits

    def run(self, sql: str, limit_s: float | None = None, *, fresh: bool = False) -> QueryResult:
        """Execute one statement; see `DatabaseClient.run`."""
        ...

    def close(self) -> None:
        """Let go of what is held; the next query takes it again."""
        ...


def require_worker() -> None:
    """Check that this machine can confine the process that runs untrusted SQL.

    Raises:
        Unavailable: It can't; the message says what to do.
    """
    if not worker.IS_SUPPORTED:
        raise Unavailable(
            "expected a system with fork and resource limits, such as Linux or macOS, to confine SQL queries of an "
            f"agent, got {sys.platform} without them; on Windows use WSL"
        )


class Nursery:
    """The process that forks workers for this one; see `worker.py`."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def fork(self, settings: dict[str, Any]) -> tuple[int, socket.socket]:
        """Return a new worker's process id and channel."""
        require_worker()
        ours, theirs = socket.socketpair()
        try:
            with self._lock:
                try:
                    pid = self._fork(theirs, settings)
                except (OSError, EOFError):  # the nursery itself was killed: once more with a new one
                    self._owner = 0
                    pid = self._fork(theirs, settings)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return pid, ours

    def kill(self, pid: int, owner: int) -> None:
        """Kill a worker, unless it belongs to the process this one was forked from."""
        with self._lock:
            if self._control is not None and owner == self._owner == os.getpid():
                try:
                    self._control.sendall(worker.framed(("kill", pid)))
                except OSError:
                    return  # the nursery is gone, and its workers with it

    def forget(self) -> None:
        """Begin anew in a forked process: its parent's workers are not its own, and the lock may have been held."""
        self._lock = Lock()
        self._owner = 0

    def _fork(self, theirs: socket.socket, settings: dict[str, Any]) -> int:
        control = self._started()
        message = worker.framed(("fork", settings))
        sent = socket.send_fds(control, [message], [theirs.fileno()])
        control.sendall(message[sent:])
        control.settimeout(START_LIMIT_S)
        pid: int = worker.read_message(control)
        return pid

    def _started(self) -> socket.socket:
        if self._control is not None and self._owner == os.getpid():
            return self._control
        if self._control is not None:
            self._control.close()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", worker.__file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ},
            )
        self._control, self._owner = ours, os.getpid()
        atexit.register(ours.close)
        # It ends when it reads the end of this socket, so nobody waits for it; Popen would warn of that.
        self._process.returncode = 0
        return ours


NURSERY = Nursery()
if hasattr(os, "register_at_fork"):  # where a process can be forked
    os.register_at_fork(after_in_child=NURSERY.forget)


class DatabaseClient:
    """One database file and the worker that reads it. Safe to share between threads: queries wait for each other.

    Args:
        path: The SQLite file.
        limits: Of every query.
        writable: Open for writing: only ever on a throw-away copy.
    """

    def __init__(self, path: Path, limits: QueryLimits = EXPLORING, *, writable: bool = False) -> None:
        self.path = path
        self.limits = limits
        self.n_started = 0
        self._settings = {
            "path": str(path.resolve()),
            "writable": writable,
            "heap_bytes": limits.heap_bytes,
            "address_space_bytes": limits.address_space_bytes,
            "file_bytes": 4096 * MIB if writable else 0,
            "limits": limits.categories(),
        }
        self._lock = Lock()
        self._worker: _Worker | None = None

    @property
    def pid(self) -> int | None:
        """The worker's process id, if there is one now."""
        return None if self._worker is None else self._worker.pid

    def run(self, sql: str, limit_s: float | None = None, *, fresh: bool = False) -> QueryResult:
        """Execute one statement.

        Args:
            sql: Any text.
            limit_s: Instead of the limits' seconds.
            fresh: On a new connection, for timing.

        Raises:
            WorkerFailed: The file is no database, or can't be opened.
        """
        limits = self.limits
        seconds = limits.seconds if limit_s is None else limit_s
        if (refused := unsendable(sql, limits)) is not None:
            return refused
        request = worker.framed(("fresh" if fresh else "run", sql, seconds, limits.rows, limits.result_bytes))
        with self._lock:
            try:
                reply = self._ready().ask(request, seconds + limits.grace_s)
            except TimeoutError:
                self._drop()
                return failed("timeout", "killed at the deadline", seconds + limits.grace_s)
            except (OSError, EOFError, ValueError) as error:
                self._drop()
                if isinstance(error, WorkerFailed):
                    raise
                return failed("limit", "the worker ran out of its limits")
        status, message, columns, chunks, is_cut, spent, undecodable = reply
        rows = tuple(row for chunk in chunks for row in marshal.loads(chunk))
        return QueryResult(status, message, columns, rows, is_cut, spent, undecodable)

    def close(self) -> None:
        """End the worker; the next query starts another. Closing twice is harmless."""
        with self._lock:
            self._drop()

    def __enter__(self) -> "DatabaseClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self) -> "_Worker":
        if self._worker is not None and self._worker.owner != os.getpid():
            self._drop()  # this process was forked: the worker is its parent's
        if self._worker is None:
            self._worker = _Worker(self._settings)
            self.n_started += 1
        return self._worker

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None


class _Worker:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.pid, self._channel = NURSERY.fork(settings)
        self.owner = os.getpid()
        self.end = weakref.finalize(self, _end, self.pid, self._channel, self.owner)
        self._channel.settimeout(START_LIMIT_S)
        state, message = worker.read_message(self._channel)
        if state != "ready":
            raise WorkerFailed(f"expected an SQLite database in {settings['path']}, got: {message}")

    def ask(self, request: bytes, limit_s: float) -> Any:
        self._channel.settimeout(limit_s)
        self._channel.sendall(request)
        return worker.read_message(self._channel)


def _end(pid: int, channel: socket.socket, owner: int) -> None:
    channel.close()
    NURSERY.kill(pid, owner)


def unsendable(sql: str, limits: QueryLimits) -> QueryResult | None:
    """Return the failure of a text that can't be a query at all: what sqlite3 refuses before SQLite sees it."""
    if "\0" in sql:
        return failed("error", "the query contains a null character")
    try:
        n_bytes = len(sql.encode())
    except UnicodeEncodeError:
        return failed("error", "the query contains a lone surrogate, which is no character")
    if n_bytes > limits.sql_bytes:
        return failed("limit", f"the query has {n_bytes} bytes, over the limit of {limits.sql_bytes}")
    return None


def failed(status: Status, message: str, seconds: float = 0.0) -> QueryResult:
    """Return a result without rows."""
    return QueryResult(status, message, (), (), False, seconds, False)

"""Client of a worker process that queries a database. A worker that exceeds its deadline is killed and replaced."""

import atexit
import marshal
import os
import socket
import sqlite3
import subprocess
import sys
import weakref
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple, Self

from iad_envs.bird import worker
from iad_envs.bird.sql import is_volatile
from iad_envs.errors import Unavailable

Dialect = Literal["sqlite", "postgresql", "mysql"]
Status = Literal["ok", "error", "timeout", "limit", "rejected"]
START_LIMIT_S = 10.0
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Resource limits of a query.

    Attributes:
        seconds: Seconds until the progress handler stops the query.
        grace_s: Further seconds until the process is killed.
        rows: Maximum number of rows. The result says whether it was cut.
        result_bytes: Maximum size of the rows in bytes. The result says whether it was cut.
        text_bytes: SQLite's limit on the size of one value or row, in bytes.
        sql_bytes: Maximum length of the query's text in bytes.
        heap_bytes: Maximum size of SQLite's heap in bytes.
        address_space_bytes: Maximum address space of the process in bytes. 0 means no limit.
        strict: Whether SQLite's limits on columns, depth, compound parts and compiled size apply too.
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
        """SQLite's limits, as pairs of category and value."""
        always = (
            (sqlite3.SQLITE_LIMIT_LENGTH, self.text_bytes),
            (sqlite3.SQLITE_LIMIT_SQL_LENGTH, self.sql_bytes),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
            (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
            (sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 100),
        )
        strict = (
            (sqlite3.SQLITE_LIMIT_COLUMN, 200),
            (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
            (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 50),
            (sqlite3.SQLITE_LIMIT_VDBE_OP, 100_000),
            (sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 32),
            (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256),
        )
        return (*always, *strict) if self.strict else always


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
"""Wider limits, for gold queries and for predictions that exceeded a limit that only agents have."""


class QueryResult(NamedTuple):
    """The result of a query.

    Attributes:
        status: `ok`, or the reason why there are no rows.
        message: Error text of the database or of this package. Empty for `ok`.
        columns: Names of the columns.
        rows: Tuples of None, int, float, str and bytes. Servers also return Decimal, bool, date, time, datetime and
            timedelta.
        is_cut: Whether rows were cut at a limit.
        seconds: Time for executing and fetching. Ignored when results are compared.
        undecodable: Whether invalid UTF-8 was replaced. The official evaluator fails in this case.
    """

    status: Status
    message: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_cut: bool
    seconds: float
    undecodable: bool


class WorkerFailed(OSError):
    """A worker could not open its database, or a server refused the connection."""


class Queried(ABC):
    """Runs untrusted queries within limits, one at a time: a worker process on a file, or sessions of a server.

    Args:
        limits: Limits of every query.
    """

    def __init__(self, limits: QueryLimits) -> None:
        self.limits = limits
        self.n_started = 0
        self._lock = Lock()

    def run(self, sql: str, limit_s: float | None = None, *, fresh: bool = False) -> QueryResult:
        """Execute one statement.

        Args:
            sql: The statement. Any text is accepted.
            limit_s: Time limit in seconds that overrides `limits.seconds`.
            fresh: Whether to use a new connection, for timing.

        Raises:
            WorkerFailed: The file is not a database, or the server refuses the connection.
        """
        if "\0" in sql:
            return failed("error", "the query contains a null character")
        try:
            n_bytes = len(sql.encode())
        except UnicodeEncodeError:
            return failed("error", "the query contains a lone surrogate, which is no character")
        if n_bytes > self.limits.sql_bytes:
            return failed("limit", f"the query has {n_bytes} bytes, over the limit of {self.limits.sql_bytes}")
        return self._run(sql, self.limits.seconds if limit_s is None else limit_s, fresh)

    @abstractmethod
    def _run(self, sql: str, seconds: float, fresh: bool) -> QueryResult:
        """Execute a text of allowed length."""

    def close(self) -> None:
        """Release worker or session. The next query opens a new one. Closing twice is harmless."""
        with self._lock:
            self._drop()

    @abstractmethod
    def _drop(self) -> None:
        """Release worker or session, if there is one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def require_worker() -> None:
    """Check that this machine can confine the process that runs untrusted SQL.

    Raises:
        Unavailable: This machine can't. The message says what to do.
    """
    if not worker.IS_SUPPORTED:
        raise Unavailable(
            "expected a system with fork and resource limits, such as Linux or macOS, to confine SQL queries of an "
            f"agent, got {sys.platform} without them; on Windows use WSL"
        )


class ForkServer:
    """A fork server: a process that forks workers for this one. See `worker.py`."""

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
                except (OSError, EOFError):  # the fork server itself was killed: retry with a new one
                    self._owner = 0
                    pid = self._fork(theirs, settings)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return pid, ours

    def end(self, pid: int, channel: socket.socket, owner: int) -> None:
        """Close a worker's channel and kill it, unless it belongs to this process's parent."""
        channel.close()
        with self._lock:
            if self._control is not None and owner == self._owner == os.getpid():
                try:
                    self._control.sendall(worker.framed(("kill", pid)))
                except OSError:
                    return  # the fork server has ended, and its workers with it

    def forget(self) -> None:
        """Reset after a fork. The workers belong to the parent, and the lock may have been held."""
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
                env={name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ},
            )
        self._control, self._owner = ours, os.getpid()
        atexit.register(ours.close)
        # The process ends when this socket is closed, so it is never waited for. Without this line Popen would warn.
        self._process.returncode = 0
        return ours


FORK_SERVER = ForkServer()
if hasattr(os, "register_at_fork"):  # a system on which processes can be forked
    os.register_at_fork(after_in_child=FORK_SERVER.forget)


class WorkerProcess:
    """A worker process, which is killed when its object is freed."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.pid, self._channel = FORK_SERVER.fork(settings)
        self.owner = os.getpid()
        self.end = weakref.finalize(self, FORK_SERVER.end, self.pid, self._channel, self.owner)
        self._channel.settimeout(START_LIMIT_S)
        state, message = worker.read_message(self._channel)
        if state != "ready":
            raise WorkerFailed(f"expected an SQLite database in {settings['path']}, got: {message}")

    def ask(self, request: bytes, limit_s: float) -> Any:
        """Return the answer to a request. Raises `TimeoutError` if there is none in time."""
        self._channel.settimeout(limit_s)
        self._channel.sendall(request)
        return worker.read_message(self._channel)


class DatabaseClient(Queried):
    """A database file and its worker process. Thread-safe.

    Args:
        path: The SQLite file.
        limits: Resource limits of every query.
        writable: Whether to open the file for writing. Only for temporary copies.
    """

    def __init__(self, path: Path, limits: QueryLimits = EXPLORING, *, writable: bool = False) -> None:
        super().__init__(limits)
        self.path = path
        self._settings = {
            "path": str(path.resolve()),
            "writable": writable,
            "heap_bytes": limits.heap_bytes,
            "address_space_bytes": limits.address_space_bytes,
            "file_bytes": 4096 * MIB if writable else 0,
            "limits": limits.categories(),
        }
        self._worker: WorkerProcess | None = None

    @property
    def pid(self) -> int | None:
        """The worker's process id, or None if no worker is running."""
        return None if self._worker is None else self._worker.pid

    def _run(self, sql: str, seconds: float, fresh: bool) -> QueryResult:
        limits = self.limits
        request = worker.framed((sql, seconds, limits.rows, limits.result_bytes, is_volatile(sql), fresh))
        with self._lock:
            try:
                if self._worker is not None and self._worker.owner != os.getpid():
                    self._drop()  # this process was forked: the worker belongs to its parent
                if self._worker is None:
                    self._worker = WorkerProcess(self._settings)
                    self.n_started += 1
                reply = self._worker.ask(request, seconds + limits.grace_s)
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

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None


def failed(status: Status, message: str, seconds: float = 0.0) -> QueryResult:
    """Return a failed result without rows."""
    return QueryResult(status, message, (), (), False, seconds, False)

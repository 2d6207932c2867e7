"""Worker process that runs untrusted SQL on a database. It imports only the standard library, so it starts fast.

As a script this module is a fork server: a small process with all imports done that forks one worker per request. A
killed worker is thus replaced in milliseconds. The SQL is untrusted, and a worker may miss its deadline: SQLite calls
its progress handler only between instructions, so a single function call or the compilation of a statement can take
arbitrarily long. The client therefore kills the worker (see `database.py`).

Messages are a length of 4 bytes and a `marshal`led tuple. A compromised worker could send nonsense, but unlike pickled
data it can't execute code.
"""

import gc
import marshal
import os
import re
import signal
import socket
import sqlite3
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import quote

try:
    import resource
except ImportError:  # Windows: the other side then starts no worker
    IS_SUPPORTED = False
else:
    IS_SUPPORTED = hasattr(os, "fork")

HEADER = struct.Struct("!I")
ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
ACTIONS = {
    getattr(sqlite3, f"SQLITE_{name.replace(' ', '_')}"): name
    for name in (
        "ATTACH", "DETACH", "PRAGMA", "TRANSACTION", "SAVEPOINT", "INSERT", "UPDATE", "DELETE", "ALTER TABLE",
        "ANALYZE", "REINDEX", "CREATE TABLE", "CREATE VIEW", "CREATE INDEX", "CREATE TRIGGER", "CREATE VTABLE",
        "CREATE TEMP TABLE", "CREATE TEMP VIEW", "CREATE TEMP INDEX", "CREATE TEMP TRIGGER", "DROP TABLE", "DROP VIEW",
        "DROP INDEX", "DROP TRIGGER", "DROP VTABLE", "DROP TEMP TABLE", "DROP TEMP VIEW", "DROP TEMP INDEX",
        "DROP TEMP TRIGGER",
    )
}  # fmt: skip
READING_TABLES = ("json_each", "json_tree")
"""Table-valued functions that only read their argument. All others are refused: most show the file or the schema."""
NOW = "2024-06-27 12:00:00"
"""What the time is in a query that asks for it, in UTC: on the day that BIRD's dev set was last released. A query must
have one result, whenever and however often it is run. The gold query gets the same time, as it does officially."""


class Database:
    """A connection that allows only reading queries within limits.

    Args:
        settings: The settings `path`, `writable` (only for temporary copies, which the official procedure needs),
            `heap_bytes`, and `limits`, pairs of an SQLite limit category and its value.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._writable = bool(settings["writable"])
        self._refused = ""
        self._deadline = 0.0
        self.connection = self.connect()

    def connect(self) -> sqlite3.Connection:
        """Open a connection. PRAGMAs run before the authorizer is set, which would refuse them.

        So do the first uses of `json_each` and `json_tree`. SQLite declares such a table at its first use, which looks
        to the authorizer like a write to the schema.
        """
        place = quote(self._settings["path"])
        if self._writable:
            connection = sqlite3.connect(f"file:{place}?mode=rw", uri=True)
        else:
            connection = sqlite3.connect(f"file:{place}?mode=ro&immutable=1", uri=True, isolation_level=None)
            for pragma in ("query_only=1", "trusted_schema=0", "cell_size_check=1", "cache_size=-16000"):
                connection.execute(f"PRAGMA {pragma}").close()
            for table in READING_TABLES:
                with suppress(sqlite3.OperationalError):  # an SQLite without JSON
                    connection.execute(f"SELECT 1 FROM {table}('[]')").close()
        connection.execute("PRAGMA temp_store=MEMORY").close()
        connection.execute(f"PRAGMA hard_heap_limit={self._settings['heap_bytes']}").close()
        for category, value in self._settings["limits"]:
            connection.setlimit(category, value)
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(lambda: time.monotonic() > self._deadline, 1000)  # instructions between looks
        return connection

    def _authorize(self, action: int, name: str | None, other: str | None, *_: Any) -> int:
        if self._writable:
            if action not in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH) and not (
                action == sqlite3.SQLITE_FUNCTION and other == "load_extension"
            ):
                return sqlite3.SQLITE_OK
            self._refused = ACTIONS.get(action, "load_extension")
            return sqlite3.SQLITE_DENY
        denied = ("load_extension", "randomblob", "zeroblob", "fts3_tokenizer")
        if action in ALLOWED and not (action == sqlite3.SQLITE_FUNCTION and other in denied):
            return sqlite3.SQLITE_OK
        self._refused = f"the function {other}" if action in ALLOWED else ACTIONS.get(action, f"action {action}")
        if action == sqlite3.SQLITE_UPDATE and name == "sqlite_master":  # a statement itself never gets that far
            self._refused = f"a table-valued function other than {' and '.join(READING_TABLES)}"
        return sqlite3.SQLITE_DENY

    def run(
        self, sql: str, limit_s: float, max_rows: int, max_bytes: int, is_volatile: bool = False, is_fresh: bool = False
    ) -> tuple[Any, ...]:
        """Execute one statement and fetch rows up to the limits.

        With `is_volatile` the time and random numbers are the same in every execution. Only then, as the functions that
        make them so are slow. With `is_fresh` it is executed on a new connection, as the official timing does.
        Connecting is not timed.

        Returns:
            Status (`ok`, `error`, `timeout`, `limit`, `rejected`), message, column names, marshalled chunks of rows,
            whether rows were cut, seconds for executing and fetching, and whether some text was not UTF-8.
        """
        kept = self.connection
        # A copy is for one pair of queries, which officially share a connection.
        if is_fresh or (is_volatile and not self._writable):
            self.connection = self.connect()
        try:
            if is_volatile:
                _make_repeatable(self.connection)
            self._deadline = time.monotonic() + limit_s
            used = resource.getrusage(resource.RUSAGE_SELF)
            soft = int(used.ru_utime + used.ru_stime + limit_s) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
            answer = self._attempt(sql, max_rows, max_bytes)
            if answer[0] == "error" and "decode to UTF-8" in answer[1]:
                self.connection.text_factory = lambda text: text.decode("utf-8", "replace")
                again = self._attempt(sql, max_rows, max_bytes)
                self.connection.text_factory = str
                return (*again[:6], True)
            return answer
        finally:
            if self.connection is not kept:
                self.connection.close()
                self.connection = kept

    def _attempt(self, sql: str, max_rows: int, max_bytes: int) -> tuple[Any, ...]:
        self._refused = ""
        started = time.perf_counter()
        cursor = self.connection.cursor()
        try:
            cursor.execute(sql)
            columns = tuple(column[0] for column in cursor.description or ())
            chunks, is_cut = _fetch(cursor, max_rows, max_bytes)
            cursor.close()
            return "ok", "", columns, chunks, is_cut, time.perf_counter() - started, False
        except MemoryError:
            status, message = "limit", "out of memory"
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            message = str(error)
            if self._refused:
                status, message = "rejected", f"not allowed: {self._refused}"
            elif time.monotonic() > self._deadline and "interrupted" in message:
                status = "timeout"
            else:
                limits = (
                    "too big|too large|too many|too complex|too deep|parser stack overflow|maximum depth|out of memory"
                    "|row cap"
                )
                status = "limit" if re.search(limits, message, re.IGNORECASE) else "error"
        cursor.close()
        return status, message, (), [], False, time.perf_counter() - started, False


def _make_repeatable(connection: sqlite3.Connection) -> None:
    """Hide SQLite's functions whose results depend on time or chance. They can't be shown again."""
    clock = sqlite3.connect(":memory:")  # here SQLite's own date functions are still to be had
    current = {"current_date": NOW[:10], "current_time": NOW[11:], "current_timestamp": NOW}
    for name, value in current.items():
        connection.create_function(name, 0, partial(str, value), deterministic=True)
    # Date function -> the places of times among its arguments. The first one may be left out.
    dated = dict.fromkeys(("date", "time", "datetime", "julianday", "unixepoch"), (0,))
    for name, places in {**dated, "strftime": (1,), "timediff": (0, 1)}.items():
        with suppress(sqlite3.OperationalError):  # an older SQLite has no unixepoch() and no timediff()
            clock.execute(f"SELECT {name}(NULL, NULL)").close()
            connection.create_function(name, -1, partial(_dated, clock, name, places), deterministic=True)
    connection.create_function("random", 0, _draws().__next__)


def _dated(clock: sqlite3.Connection, name: str, places: tuple[int, ...], *arguments: Any) -> Any:
    """Return the result of a date function, with `NOW` where the time is left out or asked for."""
    given, now = [*arguments], ("now", "subsec", "subsecond")
    if len(given) == places[0]:
        given.append(NOW)
    for place in places:
        if place < len(given) and isinstance(given[place], str) and given[place].lower() in now:
            given[place] = NOW
    return clock.execute(f"SELECT {name}({', '.join('?' * len(given))})", given).fetchone()[0]


def _draws() -> Iterator[int]:
    """Yield integers as SQLite's random() does, in an order that is always the same (SplitMix64)."""
    state = 0
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
        yield (mixed ^ mixed >> 31) - 2**63


def _fetch(cursor: sqlite3.Cursor, max_rows: int, max_bytes: int) -> tuple[list[bytes], bool]:
    chunks: list[bytes] = []
    n_rows = n_bytes = 0
    n_next = 64
    while True:
        # One more row than the limit is fetched, to detect a cut.
        rows = cursor.fetchmany(min(n_next, max_rows + 1 - n_rows))
        if n_rows + len(rows) > max_rows:
            chunks.append(marshal.dumps(rows[:-1], 2))
            return chunks, True
        if rows:
            chunk = marshal.dumps(rows, 2)
            n_rows, n_bytes = n_rows + len(rows), n_bytes + len(chunk)
            if n_bytes > max_bytes:
                return chunks, True
            chunks.append(chunk)
        if len(rows) < n_next:
            return chunks, False
        n_next = 256


def receive(channel: socket.socket, n: int) -> bytes:
    """Read exactly n bytes. Raises EOFError if the other side has ended."""
    parts = []
    while n:
        part = channel.recv(min(n, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def read_message(channel: socket.socket) -> Any:
    """Read one message."""
    first = channel.recv(1 << 16)
    if len(first) < HEADER.size:
        if not first:
            raise EOFError
        first += receive(channel, HEADER.size - len(first))
    missing = HEADER.unpack_from(first)[0] + HEADER.size - len(first)
    return marshal.loads((first + receive(channel, missing) if missing else first)[HEADER.size :])


def framed(message: Any) -> bytes:
    """Return the encoded form of a message."""
    body = marshal.dumps(message, 2)
    return HEADER.pack(len(body)) + body


def confine(settings: Mapping[str, Any]) -> None:
    """Set the limits of the process: address space, file size, open files, no core dump.

    Some systems refuse a limit of the address space. There SQLite's own limit of its heap, which every connection has,
    is the one that holds.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (settings["file_bytes"], settings["file_bytes"]))
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
    space = settings["address_space_bytes"]
    if space:
        with suppress(ValueError, OSError):  # macOS
            resource.setrlimit(resource.RLIMIT_AS, (space, space))


def serve(channel: socket.socket, settings: Mapping[str, Any]) -> None:
    """Answer requests until the other side ends."""
    confine(settings)
    try:
        database = Database(settings)
    except (sqlite3.Error, sqlite3.Warning) as error:
        channel.sendall(framed(("failed", str(error))))
        return
    channel.sendall(framed(("ready", sqlite3.sqlite_version)))
    while True:
        answer = database.run(*read_message(channel))
        try:
            reply = framed(answer)
        except MemoryError:
            reply = framed(("limit", "out of memory", (), [], False, 0.0, False))
        channel.sendall(reply)


def fork_worker(control: socket.socket, channel: socket.socket, settings: Mapping[str, Any]) -> int:
    """Fork a worker on a channel. Returns its process id; only the fork server returns from this function."""
    pid = os.fork()
    if pid:
        channel.close()
        return pid
    status = 1
    try:
        control.close()
        serve(channel, settings)
    except (EOFError, OSError):
        status = 0
    finally:
        os._exit(status)


def run_fork_server(control: socket.socket) -> None:
    """Run the fork server: fork and kill workers on request until the other side ends. Then kill the rest."""
    gc.freeze()
    alive: set[int] = set()
    try:
        while True:
            header, descriptors, _, _ = socket.recv_fds(control, HEADER.size, 1)
            if not header:
                return
            header += receive(control, HEADER.size - len(header))
            kind, argument = marshal.loads(receive(control, HEADER.unpack(header)[0]))
            if kind == "fork":
                pid = fork_worker(control, socket.socket(fileno=descriptors[0]), argument)
                alive.add(pid)
                control.sendall(framed(pid))
            elif argument in alive:
                _kill(argument)
                alive.discard(argument)
    finally:
        for pid in alive:
            _kill(pid)


def _kill(pid: int) -> None:
    # Only this process reaps workers, so the id can't belong to another process.
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    run_fork_server(socket.socket(fileno=int(sys.argv[1])))

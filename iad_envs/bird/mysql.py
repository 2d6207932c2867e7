"""Queries a database of a MariaDB or MySQL server (`iad[mysql]`).

Security rests on the privileges of the user, who may only SELECT (see `loader.py`), and on the kind of statement:
one text is one statement, and only a query is sent. What users may do without any privilege is refused by its name:
MySQL can't revoke the list of a user's own sessions with their queries, nor named locks. Each query has a session of
its own. A query that exceeds the server's time limit is ended through a second connection.
"""

import os
import re
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from iad_envs.bird.database import MIB, WorkerFailed
from iad_envs.bird.server import (
    CONNECT_LIMIT_S,
    GUARD_LIMIT_S,
    PIECE,
    TOO_LARGE,
    Fetched,
    PastDeadline,
    QueryFailed,
    ServerDatabase,
    driver,
)


def pymysql() -> Any:
    """Return the driver.

    Raises:
        ModuleNotFoundError: The driver is not installed.
    """
    return driver("pymysql", "mysql", "pymysql")


def address(dsn: str) -> dict[str, Any]:
    """Return PyMySQL's arguments for a connection address: `mysql://user:password@host:3306/database?unix_socket=...`.

    Without a password it is `$MYSQL_PWD`, as for MySQL's own programs.

    Raises:
        ValueError: It is no such address.
    """
    form = "expected a dsn such as mysql://user@host:3306/database?unix_socket=/path"
    try:
        parts = urlsplit(dsn)
        options, port = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query))), parts.port
    except ValueError as error:
        raise ValueError(f"{form}, got one that can't be read ({error}); change dsn") from None
    if parts.scheme not in ("mysql", "mariadb"):
        raise ValueError(f"{form}, got one that starts with {dsn[:8]!r}; change dsn")
    known = ("ssl_ca", "ssl_cert", "ssl_key", "unix_socket")  # PyMySQL's names
    if unknown := sorted(options.keys() - {*known}):
        raise ValueError(f"{form}, got the option {unknown[0]!r}; known: {', '.join(known)}")
    given = {
        "host": parts.hostname,
        "port": port,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or "") or os.environ.get("MYSQL_PWD", ""),
        "database": unquote(parts.path.removeprefix("/")),
        # Certificates would be read again for every session, which takes longer than a query, and here is no network.
        "ssl_disabled": "unix_socket" in options,
        **options,
    }
    return {name: value for name, value in given.items() if value}


def probe(given: Mapping[str, Any]) -> None:
    """Connect to a unix socket and close it again, because PyMySQL leaves it open where nothing answers.

    Raises:
        OSError: Nothing answers there.
    """
    if path := given.get("unix_socket"):
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(CONNECT_LIMIT_S)
            line.connect(path)


def refused(sql: str) -> str:
    """Return why a text is not sent to the server, or "". It must start like a query."""
    # What is open to all users and must not be: comments that are executed, other sessions' queries, and locks.
    # Searched in names and literals too, because MySQL's rules for quotes depend on settings.
    names = r"\b(?:processlist|get_lock|is_free_lock|is_used_lock|release_lock|release_all_locks)\b"
    if closed := re.search(rf"/\*M?!|{names}", sql, re.IGNORECASE):
        return "a comment that is executed" if closed[0].startswith("/*") else closed[0].lower()
    before = re.match(r"(?:\s+|/\*(?!M?!).*?\*/|--(?:\s[^\n]*|\Z)|#[^\n]*|\()*+", sql, re.DOTALL)
    start = before.end() if before else 0
    if start == len(sql):
        return "a blank text"
    word = re.match(r"\w+", sql[start:])
    first = word[0].upper() if word else sql[start]
    return "" if first in ("SELECT", "WITH", "VALUES", "TABLE") else first


class MySqlDatabase(ServerDatabase):
    """One database of a MariaDB or MySQL server or, if there is none of this name, the one that the dsn names.

    See `address` for the form of a dsn.
    """

    dialect = "mysql"
    columns = (
        "SELECT table_name, column_name, column_type, column_key = 'PRI', table_schema "
        "FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position"
    )
    keys = (
        "SELECT table_name, column_name, referenced_table_name, referenced_column_name FROM "
        "information_schema.key_column_usage WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL "
        "ORDER BY table_name, constraint_name, ordinal_position"
    )
    is_ordered = False
    common_place = "the dsn's database"

    def _connects_to(self, dsn: str, guard_dsn: str) -> None:
        self._driver = pymysql()
        self._reader = address(dsn)
        self._guard_address = address(guard_dsn)
        self._place: str | None = None

    def _refused(self, sql: str) -> str:
        return refused(sql)

    def _leave(self, session: Any) -> None:
        with suppress(self._driver.err.Error):
            session.close()

    def _session(self, seconds: float) -> Any:
        """Return a session on the database of this name or, if there is none, on the one of the address."""
        if self._place is None:
            self._place = self.schema
            try:
                return self._prepared(seconds)
            except WorkerFailed as error:
                cause = error.__cause__
                is_missing = isinstance(cause, self._driver.err.Error) and cause.args[0] in (1044, 1049)
                self._place = self._reader.get("database") if is_missing else None
                if self._place is None:
                    raise
        return self._prepared(seconds)

    def _prepared(self, seconds: float) -> Any:
        """Return a session with its settings. A query can't change them, because no other statement is sent."""
        session = self._connected(self._reader, self._place)
        milliseconds = max(1, int(seconds * 1000))
        # The time is 2024-06-27 12:00 UTC, as in SQLite.
        settings = {
            "timestamp": 1_719_489_600,
            "time_zone": "'+00:00'",
            "rand_seed1": 20_240_627,
            "rand_seed2": 12_000_000,
        }
        if "MariaDB" in session.get_server_info():
            memory = self.limits.heap_bytes
            settings |= {"max_statement_time": milliseconds / 1000, "max_session_mem_used": memory}
            settings |= {"tmp_disk_table_size": 100 * MIB}
        else:
            settings |= {"max_execution_time": milliseconds}
        with session.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
            cursor.execute("SET " + ", ".join(f"{name} = {value}" for name, value in settings.items()))
        return session

    def _connected(self, given: Mapping[str, Any], database: str | None) -> Any:
        try:
            probe(given)
            return self._driver.connect(
                **{**given, "database": database},
                charset="utf8mb4",
                autocommit=True,
                connect_timeout=CONNECT_LIMIT_S,
                read_timeout=CONNECT_LIMIT_S,
                write_timeout=CONNECT_LIMIT_S,
            )
        except (self._driver.err.Error, OSError, RuntimeError) as error:
            raise WorkerFailed(
                f"expected a MySQL or MariaDB server that accepts the connection, got: {_text(error)}; start it, or "
                "change dsn"
            ) from error

    def _is_ended(self, session: Any) -> bool:
        no_such_session, no_answer = 1094, 2013
        try:
            self._guard.kill(session.thread_id())
        except self._driver.err.OperationalError as error:
            if error.args[0] == no_answer:  # it was told, and a server that is busy is not waited for
                self._drop()
            return error.args[0] in (no_such_session, no_answer)
        except self._driver.err.Error:
            return False
        return True

    def _new_guard(self) -> Any:
        guard = self._connected(self._guard_address, None)
        guard._read_timeout = GUARD_LIMIT_S  # only from now on: PyMySQL has one limit for connecting and reading
        return guard

    def _fetched(self, session: Any, sql: str, started: float, seconds: float) -> Fetched:
        cursor = session.cursor(self._driver.cursors.SSCursor)
        incoming = Incoming(session, started + seconds + self.limits.grace_s, self.limits.result_bytes + PIECE)
        try:
            cursor.execute(sql)
            if cursor.description is None:
                raise QueryFailed("rejected", "not allowed: a query that returns no rows")
            yield incoming.taken(), tuple(column[0] for column in cursor.description)
            while (row := cursor.fetchone()) is not None:
                yield incoming.taken(), row
        except UnicodeDecodeError as error:
            raise QueryFailed("error", f"a text of the result is not valid UTF-8: {error.reason}") from error
        except self._driver.err.Error as error:
            raise _failure(error) from error
        finally:
            # A result that is left unread: when it is closed or collected, PyMySQL would read all of it first.
            result, cursor.connection = cursor._result, None
            if result is not None:
                result.unbuffered_active, result.connection = False, None
        if time.perf_counter() - started >= seconds:
            # Functions such as SLEEP and BENCHMARK return a value where the time limit interrupts them.
            raise QueryFailed("timeout", "over the time limit")


def _failure(error: Any) -> QueryFailed:
    """Return the failure of a statement that the server did not complete."""
    code, message = (error.args[0] if error.args else 0), _text(error)
    if code == 1065:
        return QueryFailed("rejected", "not allowed: a blank text")
    if code in (1317, 1969, 3024):
        return QueryFailed("timeout", message)
    # Memory, disk, packet, stack, tables, columns, recursion.
    limits = (3, 5, 1021, 1037, 1038, 1041, 1114, 1116, 1117, 1119, 1153, 1436, 2027, 3636, 4031)
    words = "max-session-mem-used|too many|too big|too deep|memory exhausted"
    if code in limits or re.search(words, message, re.IGNORECASE):
        return QueryFailed("limit", message)
    # Missing privilege, a server option, and write in a read-only transaction.
    if code in (1044, 1045, 1142, 1143, 1227, 1290, 1792, 1836, 1872):
        return QueryFailed("rejected", f"not allowed: {message}")
    if code == 1370 and (routine := re.search(r"for routine '(?:[^']*\.)?([^'.]+)'", message)):
        return QueryFailed("error", f"FUNCTION {routine[1]} does not exist")
    return QueryFailed("error", message)


class Incoming:
    """What a session receives: read until a deadline, and counted before PyMySQL collects a whole row of any size.

    It takes the place of PyMySQL's own reader, which can limit neither. Bytes are not interpreted, so this also works
    with TLS.
    """

    def __init__(self, session: Any, until: float, most: int) -> None:
        self._source, self._line = session._rfile, session._sock
        self._until = until
        self._most = most
        self._n = 0
        session._rfile = self

    def read(self, n: int) -> bytes:
        """Return `n` bytes, fewer only at the end.

        Raises:
            PastDeadline: They did not arrive in time.
            QueryFailed: More than a row may have arrived since the last call of `taken`.
        """
        pieces: list[bytes] = []
        self._n += n
        if self._n > self._most:
            raise QueryFailed("limit", TOO_LARGE)
        while n:
            left = self._until - time.perf_counter()
            if left <= 0:
                raise PastDeadline
            self._line.settimeout(left)
            try:
                piece = self._source.read1(min(n, PIECE))
            except TimeoutError:
                raise PastDeadline from None
            if not piece:
                break
            pieces.append(piece)
            n -= len(piece)
        return b"".join(pieces)

    def taken(self) -> int:
        """Return the number of bytes since the last call."""
        n, self._n = self._n, 0
        return n

    def close(self) -> None:
        """Close PyMySQL's own reader."""
        self._source.close()


def _text(error: BaseException) -> str:
    """Return the server's message. PyMySQL's errors have a number and a text."""
    return str(error.args[1] if len(error.args) > 1 else error).strip()

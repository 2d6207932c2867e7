"""Queries a schema of a PostgreSQL database (`iad[postgres]`).

Security rests on the privileges of the role, which may only SELECT (see `loader.py`). Settings give no
security, because a role may change its own. Each query therefore has its own session, which is never committed. The
extended protocol allows only one statement. A query that exceeds the server's time limit is terminated through a second
connection.
"""

import os
import re
import select
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime
from datetime import time as clock
from decimal import Decimal
from importlib import import_module
from typing import Any

from iad_envs.bird.database import WorkerFailed
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

VISIBLE = "n.nspname IN ('{name}', 'public') AND pg_catalog.pg_table_is_visible(c.oid)"


def psycopg() -> Any:
    """Return the driver.

    Raises:
        ModuleNotFoundError: The driver is not installed.
    """
    return driver("psycopg", "postgres", "psycopg and libpq")


class PostgresDatabase(ServerDatabase):
    """One schema of a PostgreSQL database, which is searched before `public`. The server limits memory."""

    dialect = "postgresql"
    columns = (
        "SELECT c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), "
        "EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p' "
        "AND a.attnum = ANY (k.conkey)), n.nspname "
        "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
        f"WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND {VISIBLE} "
        "AND pg_catalog.has_table_privilege(c.oid, 'SELECT') ORDER BY c.oid, a.attnum"
    )
    keys = (
        "SELECT c.relname, a.attname, t.relname, b.attname FROM pg_catalog.pg_constraint k "
        "CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS pair(start, stop) "
        "JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_catalog.pg_class t ON t.oid = k.confrelid "
        "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = pair.start "
        "JOIN pg_catalog.pg_attribute b ON b.attrelid = t.oid AND b.attnum = pair.stop "
        f"WHERE k.contype = 'f' AND {VISIBLE} ORDER BY k.oid, pair.start"
    )
    is_ordered = True
    common_place = "public"

    def _connects_to(self, dsn: str, guard_dsn: str) -> None:
        self._pq = psycopg().pq
        self._conninfo = import_module("psycopg.conninfo")
        self._dsn = dsn
        self._guard_dsn = guard_dsn

    def _new_guard(self) -> Any:
        return self._connected(self._guard_dsn, "statement_timeout=1000")

    def _session(self, seconds: float) -> Any:
        milliseconds = max(1, int(seconds * 1000))
        path = '"{}", public'.format(self.schema.replace('"', '""'))
        session = self._connected(
            self._dsn,
            f"statement_timeout={milliseconds}",
            f"search_path={path}",
            "default_transaction_read_only=on",
            "jit=off",
            "client_connection_check_interval=100",
            "max_parallel_workers_per_gather=0",
            "datestyle=ISO",
            "intervalstyle=postgres",
            "bytea_output=hex",
            "standard_conforming_strings=on",
        )
        session.exec_(b"BEGIN TRANSACTION READ ONLY")
        session.nonblocking = 1
        return session

    def _leave(self, session: Any) -> None:
        session.finish()

    def _connected(self, dsn: str, *settings: str) -> Any:
        given = self._conninfo.conninfo_to_dict(dsn)
        # In `options`, an unescaped space ends a setting.
        escaped = (setting.replace("\\", "\\\\").replace(" ", "\\ ") for setting in settings)
        options = " ".join([str(given.pop("options", "")), *(f"-c {setting}" for setting in escaped)]).strip()
        fixed = {"options": options, "client_encoding": "UTF8", "connect_timeout": CONNECT_LIMIT_S}
        session = self._pq.PGconn.connect(self._conninfo.make_conninfo("", **{**given, **fixed}).encode())
        if session.status != self._pq.ConnStatus.OK:
            error_text = session.error_message.decode("utf-8", "replace").strip()
            session.finish()
            raise WorkerFailed(
                f"expected a PostgreSQL server that accepts the connection, got: {error_text}; start it, or change dsn"
            )
        return session

    def _is_ended(self, session: Any) -> bool:
        with suppress(psycopg().Error):
            backend = str(session.backend_pid).encode()
            self._guard.send_query_params(b"SELECT pg_terminate_backend($1::int)", [backend])
            self._guard.flush()
            if select.select([self._guard.socket], [], [], GUARD_LIMIT_S)[0]:
                self._guard.consume_input()
                answers = iter(self._guard.get_result, None)
                return [answer.status for answer in answers] == [self._pq.ExecStatus.TUPLES_OK]
        return False

    def _fetched(self, session: Any, sql: str, started: float, seconds: float) -> Fetched:
        status = self._pq.ExecStatus
        until = started + seconds + self.limits.grace_s
        line = Link(session)
        loaders: list[Callable[[str], Any] | None] | None = None
        try:
            # With parameters (even an empty list), libpq uses the extended protocol, which allows only one statement.
            session.send_query_params(sql.encode(), None)
            session.set_single_row_mode()
            while (answer := line.answer(until, self.limits.result_bytes + PIECE)) is not None:
                if answer.status not in (status.SINGLE_TUPLE, status.TUPLES_OK):
                    raise self._failure(answer)
                if loaders is None:
                    names = [answer.fname(place) or b"" for place in range(answer.nfields)]
                    loaders = [LOADERS.get(answer.ftype(place)) for place in range(answer.nfields)]
                    yield 0, tuple(name.decode("utf-8", "replace") for name in names)
                if answer.status == status.TUPLES_OK:
                    if not (answer.command_status or b"").startswith(b"SELECT"):
                        raise self._failure(answer)
                    continue
                cells = [answer.get_value(0, place) for place in range(len(loaders))]
                n_bytes = sum(len(cell) for cell in cells if cell)
                yield n_bytes, tuple(_loaded(loader, cell) for loader, cell in zip(loaders, cells, strict=True))
        except (ConnectionError, psycopg().Error) as error:
            raise QueryFailed("error", f"the session ended: {str(error).strip()}") from error
        finally:
            line.close()

    def _failure(self, answer: Any) -> QueryFailed:
        """Return the failure of a statement that is not a SELECT, or that the server did not complete."""
        if answer.status != self._pq.ExecStatus.FATAL_ERROR:
            tag = (answer.command_status or b"").decode("utf-8", "replace")
            is_copy = answer.status in (self._pq.ExecStatus.COPY_OUT, self._pq.ExecStatus.COPY_IN)
            kind = "COPY" if is_copy else tag or "a blank text"
            return QueryFailed("rejected", f"not allowed: {kind}")
        state, message, hint = (
            (answer.error_field(self._pq.DiagnosticField[name]) or b"").decode("utf-8", "replace")
            for name in ("SQLSTATE", "MESSAGE_PRIMARY", "MESSAGE_HINT")
        )
        if "multiple commands" in message:
            return QueryFailed("rejected", "not allowed: several statements")
        if state in ("42501", "25006"):  # missing privilege, and write in a read-only transaction
            return QueryFailed("rejected", f"not allowed: {message}")
        if state == "57014" and "timeout" in message:
            return QueryFailed("timeout", message)
        # The classes of insufficient resources (such as temporary files) and of program limits (such as depth).
        at_a_limit = "invalid memory alloc request size|out of memory|string buffer exceeds|too large"
        if state[:2] in ("53", "54") or re.search(at_a_limit, message):
            return QueryFailed("limit", message)
        return QueryFailed("error", f"{message} ({hint})" if hint else message)


class Link:
    """A relay between libpq and the server that limits the size of a row. libpq itself would buffer rows of up to 1 GB.

    libpq's descriptor is replaced by one end of a socket pair, and bytes are counted before libpq can read them. Bytes
    are not interpreted, so this also works with TLS.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._server = socket.socket(fileno=os.dup(session.socket))
        self._ours, theirs = socket.socketpair()
        with theirs:
            os.dup2(theirs.fileno(), session.socket, inheritable=False)
        os.set_blocking(session.socket, False)

    def answer(self, until: float, most: int) -> Any:
        """Return the next part of the result, or None at the end.

        Raises:
            PastDeadline: It did not arrive in time.
            QueryFailed: A single row has more than `most` bytes.
        """
        n_row = 0
        while self._session.is_busy():
            self._session.flush()
            left = until - time.perf_counter()
            libpq: int = self._session.socket
            ends: list[Any] = [self._server, self._ours, libpq]
            ready = select.select(ends, [], [], max(0.0, left))[0]
            if left <= 0 or not ready:
                raise PastDeadline
            if libpq in ready:  # libpq may read only a part; it gets no more bytes until it has read the rest
                self._session.consume_input()
                continue
            for end in (self._server, self._ours):
                end.settimeout(left)
            if self._ours in ready:
                self._server.sendall(self._ours.recv(PIECE))
            if self._server in ready:
                piece = self._server.recv(PIECE)
                if piece:
                    self._ours.sendall(piece)
                else:
                    self._ours.shutdown(socket.SHUT_WR)
                n_row += len(piece)
                if n_row > most:
                    raise QueryFailed("limit", TOO_LARGE)
        return self._session.get_result()

    def close(self) -> None:
        """Close both ends."""
        self._ours.close()
        self._server.close()


def _loaded(loader: Callable[[str], Any] | None, cell: bytes | None) -> Any:
    """Convert a cell to a Python value. It stays a text if the query changed the server's output format."""
    if cell is None:
        return None
    text = cell.decode("utf-8", "replace")
    try:
        return text if loader is None else loader(text)
    except (ValueError, ArithmeticError):
        return text


LOADERS: Mapping[int, Callable[[str], Any]] = {
    16: lambda text: text == "t",
    17: lambda text: bytes.fromhex(text.removeprefix("\\x")),
    20: int,
    21: int,
    23: int,
    26: int,
    700: float,
    701: float,
    1700: Decimal,
    1082: date.fromisoformat,
    1083: clock.fromisoformat,
    1114: datetime.fromisoformat,
    1184: datetime.fromisoformat,
}
"""Converters by type id, as in the official evaluator's driver. Other types (interval, array, JSON ...) stay text."""

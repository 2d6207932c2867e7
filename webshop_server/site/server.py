"""Serves a site with a production WSGI server in a thread of this process."""

import errno
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from types import FrameType, TracebackType
from typing import Any, Protocol

from waitress.channel import HTTPChannel
from waitress.server import create_server
from waitress.task import ErrorTask

from webshop_server.site.hosts import OwnHosts, Wsgi

LOOPBACK = "127.0.0.1"
MAX_BODY_BYTES = 1 << 22
_RESERVED = 16
"""Connections below the server's own limit, at which it would stop listening. Its own sockets count there, too."""
_CLOSE_S = 10.0


class _PlainError(ErrorTask):  # type: ignore[misc]  # waitress has no types
    """The answer to a request that was not read."""

    def execute(self) -> None:
        error = self.request.error
        if error.code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            error.body = f"expected a body of at most {MAX_BODY_BYTES} bytes, got a larger one; send less at once"
        super().execute()


class _BoundedChannel(HTTPChannel):  # type: ignore[misc]
    """A connection. One too many takes the place of the one that has been silent for longest."""

    error_task_class = _PlainError

    def __init__(self, server: Any, sock: Any, addr: Any, adj: Any, map: Any = None) -> None:
        if len(server.active_channels) >= adj.connection_limit - _RESERVED:
            # One whose request is being answered stays, and rather one whose answer is being read than a silent one.
            waiting = [one for one in server.active_channels.values() if not one.requests]
            if waiting:
                min(waiting, key=lambda one: (one.total_outbufs_len > 0, one.last_activity)).handle_close()
        super().__init__(server, sock, addr, adj, map=map)


def _most_connections() -> int:
    try:
        import resource
    except ImportError:  # not on Windows
        return 1000
    n_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1000 if n_files == resource.RLIM_INFINITY else max(1, min(1000, n_files // 2))


class Server:
    """A running server. It serves from construction until `close`.

    It refuses requests that were sent to another host (status 403; see `OwnHosts`). One connection too many takes the
    place of the one that has been silent for longest.

    Args:
        app: The WSGI application to serve.
        host: The address to bind to.
        port: The port. 0 takes any free port. If the port is in use, the next free one is taken.
        threads: Number of requests answered in parallel.
        connections: Number of connections that are kept. By default 1000, or half of the files that this process may
            open if that is less.

    Attributes:
        port: The port in use.
        address: URL of the site, for example `http://127.0.0.1:3000`.

    Raises:
        OSError: No port is free, or the host is not an address of this machine.
    """

    def __init__(
        self,
        app: Wsgi,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        threads: int = 8,
        connections: int | None = None,
    ) -> None:
        # A busy server queues requests and should not log a warning for each.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        listening = listening_socket(host, port)
        self.port: int = listening.getsockname()[1]
        self.address = address_of(host, self.port)
        self._server: Any = create_server(
            OwnHosts(app, host),
            sockets=[listening],
            threads=threads,
            connection_limit=(connections or _most_connections()) + _RESERVED,
            max_request_body_size=MAX_BODY_BYTES,
            asyncore_use_poll=True,
            ident="iad",
        )
        self._server.channel_class = _BoundedChannel  # before the loop runs, so before the first connection
        self._is_closed = False
        self._thread = threading.Thread(target=self._server.run, name="iad-server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, finish running requests, and free the port. Closing twice is harmless."""
        if self._is_closed:
            return
        self._is_closed = True
        until = time.monotonic() + 3.0
        while not self._in_loop(lambda: self._close_connections(also_busy=time.monotonic() > until)):
            time.sleep(0.005)
        self._thread.join(_CLOSE_S)
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=_CLOSE_S)
        if not self._thread.is_alive():
            self._server.trigger.close()

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _in_loop(self, work: Callable[[], bool]) -> bool:
        """Run a function in the server's thread and wait for it, even if other threads wake the server meanwhile."""
        is_done = threading.Event()
        results = []

        def call() -> None:
            results.append(work())
            is_done.set()

        self._server.trigger.pull_trigger(call)
        is_done.wait(_CLOSE_S)
        return bool(results and results[0])

    def _close_connections(self, *, also_busy: bool) -> bool:
        """Close all idle connections, or all. Return whether none is left: then the server's loop ends."""
        if self._server.accepting:
            self._server.accepting = False
            self._server.del_channel()
            self._server.socket.close()
        channels = list(self._server.active_channels.values())
        busy = [] if also_busy else [one for one in channels if one.requests or one.total_outbufs_len]
        for channel in channels:
            if channel not in busy:
                with suppress(OSError):
                    channel.handle_close()
        if not busy:
            self._server.trigger.del_channel()  # not closed: another thread may be waking the server
        return not busy


class AnyServer(Protocol):
    """A running server: what the terminal needs of it."""

    port: int
    address: str

    def close(self) -> None:
        """Stop listening, and free the port."""


def announcement(what: str, server: AnyServer, port: int) -> str:
    """Return the message for the terminal of who has started a server.

    Args:
        what: What can be seen there, for example `The shop is open`.
        server: The running server.
        port: The port that was asked for. If another one is used, the message says so.
    """
    taken = () if port in (0, server.port) else (f"Port {port} is in use, so {server.port} is used.",)
    return "\n".join([f"{what} at {server.address}", *taken, "Press Ctrl-C to stop."])


def serve_until_stopped(server: AnyServer, say: Callable[[], None]) -> None:
    """Wait for SIGINT or SIGTERM, then close the server. For the main thread.

    Args:
        server: The running server.
        say: Called once the signal handlers are installed, to announce the server.
    """
    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        say()
        stopped.wait()
    finally:
        server.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def address_of(host: str, port: int) -> str:
    """Return the URL of a server that is bound to a host and a port."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the port, or on the next free one; on any free one for 0.

    Raises:
        OSError: No port is free, or the host is not an address of this machine.
    """
    (family, kind, protocol, _, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    last = min(port + 50, 65_536) if port else 1
    for tried in range(port, last):
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address[0], tried, *address[2:]))
            listener.listen(1)  # a port that another server listens on is found out only here
            return listener
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise
    raise OSError(errno.EADDRINUSE, f"expected a free port from {port} to {last - 1}, found none; pass another port")

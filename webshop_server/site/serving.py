"""Serves the shop with a production WSGI server in a thread of this process."""

import errno
import logging
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

from flask import Flask

from webshop_server.remote.api import create_api
from webshop_server.remote.hosted import TOKEN_VARIABLE
from webshop_server.site.app import Site, create_app
from webshop_server.site.hosts import OwnHosts
from webshop_server.storefront import LocalStorefront

LOOPBACK = "127.0.0.1"
PORT = 3000
PORTS_TRIED = 50
THREADS = 8
MAX_BODY_BYTES = 1 << 22
FINISH_S = 3.0
CLOSE_S = 10.0
POLL_S = 0.005


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
        app: Flask,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        threads: int = THREADS,
        connections: int | None = None,
    ) -> None:
        from waitress.server import create_server

        from webshop_server.site.connections import RESERVED, BoundedChannel, connection_limit

        # A busy server queues requests and should not log a warning for each.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        listening = _bound(host, port)
        self.port: int = listening.getsockname()[1]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
        self._server: Any = create_server(
            OwnHosts(app, host),
            sockets=[listening],
            threads=threads,
            connection_limit=(connections or connection_limit()) + RESERVED,
            max_request_body_size=MAX_BODY_BYTES,
            asyncore_use_poll=True,
            ident="webshop",
        )
        self._server.channel_class = BoundedChannel  # before the loop runs, so before the first connection
        self._is_closed = False
        self._thread = threading.Thread(target=self._server.run, name="webshop-server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, finish running requests, and free the port. Closing twice is harmless."""
        if self._is_closed:
            return
        self._is_closed = True
        until = time.monotonic() + FINISH_S
        while not self._in_loop(self._close_idle):
            if time.monotonic() > until:
                self._in_loop(self._close_all)
                break
            time.sleep(POLL_S)
        self._thread.join(CLOSE_S)
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=CLOSE_S)
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
        is_done.wait(CLOSE_S)
        return bool(results and results[0])

    def _close_idle(self) -> bool:
        """Close all idle connections. The server's loop ends when no request is left."""
        if self._server.accepting:
            self._server.accepting = False
            self._server.del_channel()
            self._server.socket.close()
        channels = list(self._server.active_channels.values())
        busy = [channel for channel in channels if channel.requests or channel.total_outbufs_len]
        for channel in channels:
            if channel not in busy:
                channel.handle_close()
        if not busy:
            self._server.trigger.del_channel()  # not closed: another thread may be waking the server
        return not busy

    def _close_all(self) -> bool:
        self._server.trigger.del_channel()
        for waiting in list(self._server._map.values()):
            with suppress(OSError):
                waiting.close()
        return True


def host_shop(
    front: LocalStorefront,
    *,
    split: str | None = None,
    host: str = LOOPBACK,
    port: int = PORT,
    token: str | None = None,
    data: Mapping[str, str] | None = None,
) -> Server:
    """Start a server of a shop's site.

    Args:
        front: The shop.
        split: The split whose tasks shoppers get. None means all splits.
        host: The address to bind to.
        port: The first port to try.
        token: Token of the JSON API. None disables the API.
        data: Identifies the shop's data for clients of the API.
    """
    tasks = [task for task in front.tasks if split in (None, task.split)]
    api = None if token is None else create_api(front, token=token, data=data or {})
    return Server(create_app(Site(front.shop, tasks), api=api), host=host, port=port)


def new_token() -> str:
    """Return a random token for the API."""
    return secrets.token_urlsafe(24)


def open_site(
    front: LocalStorefront, *, split: str | None, host: str, port: int, api: bool, data: Mapping[str, str]
) -> tuple[Server, str]:
    """Start a server of a shop's site, and return it with a message for the terminal.

    The arguments are those of `host_shop`, except for `api`.

    Args:
        front: The shop.
        split: The split whose tasks shoppers get. None means all splits.
        host: The address to bind to.
        port: The first port to try.
        api: Whether the JSON API is enabled. Its token is `IAD_SHOP_TOKEN` if set, else a new one.
        data: Identifies the shop's data for clients of the API.
    """
    known = os.environ.get(TOKEN_VARIABLE)
    token = (known or new_token()) if api else None
    server = host_shop(front, split=split, host=host, port=port, token=token, data=data)
    lines = [f"The shop is open at {server.address}"]
    if port not in (0, server.port):
        lines.append(f"Port {port} is in use, so {server.port} is used.")
    if token and not known:
        lines.append(f"Environments get in with {TOKEN_VARIABLE}={token}")
    return server, "\n".join([*lines, "Press Ctrl-C to stop."])


def serve_until_stopped(server: Server, say: Callable[[], None]) -> None:
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


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket bound to the port, or to the next free one."""
    (family, kind, protocol, _, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    last = min(port + PORTS_TRIED, 65_536) if port else 1
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

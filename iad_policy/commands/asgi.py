"""Serves an ASGI application, as `webshop_server.site.server` serves a site: the protocols of other frameworks."""

import logging
import threading
import time
from typing import Any

from iad_policy.errors import IADError
from webshop_server.site.hosts import OwnHostsAsgi
from webshop_server.site.server import LOOPBACK, address_of, listening_socket


class AsgiServer:
    """A running server. It serves from construction until `close`, with uvicorn in a thread of this process.

    It refuses requests that were sent to another host, or by a script of another site: see `OwnHostsAsgi`.

    Args:
        app: The ASGI application to serve.
        host: The address to bind to.
        port: The port. 0 takes any free port. If the port is in use, the next free one is taken.
        path: Where in the application clients connect.

    Attributes:
        port: The port in use.
        address: URL where clients connect, for example `http://127.0.0.1:3000/mcp`.

    Raises:
        OSError: No port is free, or the host is not an address of this machine.
        IADError: The application can't start.
    """

    def __init__(self, app: Any, *, host: str = LOOPBACK, port: int = 0, path: str = "") -> None:
        import uvicorn

        listening = listening_socket(host, port)
        self.port: int = listening.getsockname()[1]
        self.address = address_of(host, self.port) + path
        # Open connections get a second to finish once the server is to stop.
        config = uvicorn.Config(OwnHostsAsgi(app, host), log_level="warning", timeout_graceful_shutdown=1)
        self._server: Any = uvicorn.Server(config)
        run = {"sockets": [listening]}
        self._thread = threading.Thread(target=self._server.run, kwargs=run, name="iad-asgi", daemon=True)
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise IADError(f"expected {app} to start, got an error, which is above; mend it")
            time.sleep(0.005)

    def close(self) -> None:
        """Stop listening, close connections, and free the port. Closing twice is harmless."""
        log = logging.getLogger("uvicorn.error")
        log.disabled = True  # to uvicorn, a stream that is cut because the server stops is an error
        self._server.should_exit = True
        self._thread.join(10.0)
        log.disabled = False

    def __enter__(self) -> "AsgiServer":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

"""Refuses requests that were sent to another host.

A web site can let its own name point to this machine (DNS rebinding). To the browser that runs its scripts, the server
is then a part of that site. The header Host gives it away: it has the name that the browser was told.
"""

import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, TypeAlias

Wsgi: TypeAlias = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Asgi: TypeAlias = Callable[[dict[str, Any], Callable[..., Any], Callable[..., Any]], Awaitable[None]]


class HostNames:
    """The names of this machine to those who reach a server.

    Loopback addresses and `localhost` are always its own, and so is what the server was bound to. A server that other
    machines can reach has the machine's name, too. One that is bound to all addresses has every address, as no site's
    name is one.

    Args:
        bound: The host that the server was bound to.
    """

    def __init__(self, bound: str) -> None:
        address = _address(bound)
        self._is_open = bound == "" or (address is not None and address.is_unspecified)
        self._names = {"localhost", bound.lower()} - {""}
        if self._is_open or not (bound == "localhost" or (address is not None and address.is_loopback)):
            self._names.add(socket.gethostname().lower())

    def __contains__(self, given: str) -> bool:
        """Return whether a header's host, with or without a port, is this machine."""
        found = re.fullmatch(r"(?:\[(?P<six>[^\[\]]+)\]|(?P<name>[^\[\]:]+))(?::[0-9]*)?", given)
        name = "" if found is None else (found["six"] or found["name"]).lower().removesuffix(".")
        address = _address(name)
        return name in self._names or (address is not None and (self._is_open or address.is_loopback))

    def refusal(self, host: str | None, origin: str | None) -> bytes:
        """Return why a request with these headers is refused; nothing for one that is answered.

        Only HTTP/1.0 can do without `Host`, which no browser speaks. `Origin` tells of a script of another site.
        """
        named = origin and origin.partition("://")[2]
        for header, given, name in (("Host", host, host), ("Origin", origin, named)):
            if name is not None and name not in self:
                return (
                    f"expected the header {header} with an address of this machine, got {given!r:.100}; open the "
                    "address that the command printed, or start it with --host and the name that others know this "
                    "machine by"
                ).encode()
        return b""


class OwnHosts:
    """A WSGI application that answers requests to this machine only, and passes them on. See `HostNames`.

    Args:
        app: The application.
        bound: The host that the server was bound to.
    """

    def __init__(self, app: Wsgi, bound: str) -> None:
        self._app = app
        self._names = HostNames(bound)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request, or refuse it with status 403."""
        said = self._names.refusal(environ.get("HTTP_HOST"), None)  # a strict page's own form may have no origin
        if not said:
            return self._app(environ, start_response)
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(said)))]
        start_response("403 Forbidden", headers)
        return [said]


class OwnHostsAsgi:
    """An ASGI application that answers requests to this machine only, and passes them on. See `HostNames`.

    It also refuses those that a script of another site sends. For a WebSocket, no browser asks first.

    Args:
        app: The application.
        bound: The host that the server was bound to.
    """

    def __init__(self, app: Asgi, bound: str) -> None:
        self._app = app
        self._names = HostNames(bound)

    async def __call__(self, scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        """Answer a request, or refuse it: with status 403, which closes a WebSocket before it is open."""
        said = b""
        if scope["type"] in ("http", "websocket"):
            given = {name: value.decode("latin-1") for name, value in scope["headers"]}
            said = self._names.refusal(given.get(b"host"), given.get(b"origin"))
        if not said:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(said)).encode())]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": said})


def _address(name: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(name)
    return None

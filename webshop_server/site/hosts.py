"""Refuses requests that were sent to another host.

A web site can let its own name point to this machine (DNS rebinding). To the browser that runs its scripts, the server
is then a part of that site. The header Host gives it away: it has the name that the browser was told.
"""

import re
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, TypeAlias

_HOST = re.compile(r"(?:\[(?P<six>[^\[\]]+)\]|(?P<name>[^\[\]:]+))(?::[0-9]*)?")
Wsgi: TypeAlias = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class OwnHosts:
    """A WSGI application that answers requests to this machine only, and passes them on.

    Loopback addresses and `localhost` are always its own, and so is what the server was bound to. A server that other
    machines can reach has the machine's name, too. One that is bound to all addresses has every address, as no site's
    name is one.

    Args:
        app: The application.
        bound: The host that the server was bound to.
    """

    def __init__(self, app: Wsgi, bound: str) -> None:
        self._app = app
        address = _address(bound)
        self._is_open = bound == "" or (address is not None and address.is_unspecified)
        self._names = {"localhost", bound.lower()} - {""}
        if self._is_open or not (bound == "localhost" or (address is not None and address.is_loopback)):
            self._names.add(socket.gethostname().lower())

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request, or refuse it with status 403."""
        given = environ.get("HTTP_HOST")  # only HTTP/1.0 can do without, which no browser speaks
        if given is None or self._is_own(given):
            return self._app(environ, start_response)
        said = (
            f"expected the header Host with an address of this machine, got {given!r:.100}; open the address that the "
            "command printed, or start it with --host and the name that others know this machine by"
        ).encode()
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(said)))]
        start_response("403 Forbidden", headers)
        return [said]

    def _is_own(self, given: str) -> bool:
        name = _name(given)
        if name in self._names:
            return True
        address = _address(name)
        return address is not None and (self._is_open or address.is_loopback)


def _name(given: str) -> str:
    """Return the host of a header without its port; "" if it is no host."""
    found = _HOST.fullmatch(given)
    return "" if found is None else (found["six"] or found["name"]).lower().removesuffix(".")


def _address(name: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(name)
    return None

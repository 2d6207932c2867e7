"""Requests that were sent to another host, or by a script of another site, reach no application."""

import asyncio
from typing import Any

import pytest

from webshop_server.site.hosts import OwnHostsAsgi

HERE = "127.0.0.1:3000"
OWN = [
    {},  # only HTTP/1.0 can do without
    *({"host": host} for host in (HERE, "localhost", "[::1]:3000")),
    *({"host": HERE, "origin": origin} for origin in (f"http://{HERE}", "http://localhost:5173")),
]
OTHERS = [
    *({"host": host} for host in ("shop.example:3000", "127.0.0.1.shop.example", "192.0.2.1:3000")),
    *({"host": HERE, "origin": origin} for origin in ("http://shop.example", "null", "http://127.0.0.1@shop.example")),
]


async def greeting(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await send({"type": "greeting", "scope": scope["type"]})


def asked(kind: str, headers: dict[str, str], bound: str = "127.0.0.1") -> list[dict[str, Any]]:
    """What the application, or what stands before it, sends."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    scope = {"type": kind, "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
    asyncio.run(OwnHostsAsgi(greeting, bound)(scope, receive, send))  # type: ignore[arg-type]
    return sent


def test_requests_to_this_machine_are_passed_on() -> None:
    for kind in ("http", "websocket"):
        for headers in OWN:
            assert asked(kind, headers) == [{"type": "greeting", "scope": kind}]
    assert asked("lifespan", OTHERS[0]) == [{"type": "greeting", "scope": "lifespan"}]  # the start of a server
    assert asked("http", {"host": "192.0.2.1:3000"}, bound="0.0.0.0") == [{"type": "greeting", "scope": "http"}]


@pytest.mark.parametrize("headers", OTHERS)
def test_requests_to_another_host_or_from_another_site_are_refused(headers: dict[str, str]) -> None:
    start, body = asked("http", headers)
    assert start["status"] == 403
    assert int(dict(start["headers"])[b"content-length"]) == len(body["body"])
    header, given = list(headers.items())[-1]
    assert f"the header {header.title()} with an address of this machine, got {given!r}" in body["body"].decode()
    assert asked("websocket", headers) == [{"type": "websocket.close", "code": 1008}]  # before it is open

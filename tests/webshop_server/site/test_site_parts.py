"""What sites are made of: sessions, pictures, the hosts that they answer, and a server of which nothing stays."""

import asyncio
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from flask import Flask

from tests.webshop_server.small_shop import RECORDS, record, write_folder
from webshop_server.catalog import Product, load_catalog
from webshop_server.engine import Shop
from webshop_server.site.app import Site, create_app
from webshop_server.site.hosts import OwnHostsAsgi
from webshop_server.site.pictures import _drawings, picture, shape_of
from webshop_server.site.server import Server, announcement
from webshop_server.site.sessions import SESSION_ID, Sessions
from webshop_server.storefront import ShopTask


def test_a_session_is_kept_while_it_is_used_within_limits_and_has_a_name_without_escapes() -> None:
    now = [0.0]
    sessions: Sessions[str] = Sessions(idle_s=100, clock=lambda: now[0])
    sessions.put("idle", "there")
    sessions.put("used", "here")
    for now[0] in (60.0, 120.0, 180.0):
        assert sessions.get("used") == "here"
    assert sessions.get("idle") is None
    assert len(sessions) == 1
    now[0] = 281.0
    assert len(sessions) == 0
    sessions = Sessions(max_sessions=3)
    for name in "abc":
        sessions.put(name, "buy")
    sessions.get("a")
    sessions.put("d", "buy")
    assert [name for name in "abcd" if sessions.get(name)] == ["a", "c", "d"]
    for number in range(1000):
        sessions.put(str(number), "buy")
    assert (len(sessions), sessions.get("999"), sessions.get("990")) == (3, "buy", None)

    for limits in ({"idle_s": 0}, {"max_sessions": 0}, {"idle_s": float("nan")}):
        with pytest.raises(ValueError, match="1 or more"):
            Sessions(**limits)  # type: ignore[arg-type]
    assert all(SESSION_ID.fullmatch(name) for name in ("a", "me_2-x", "x" * 64))
    assert not any(SESSION_ID.fullmatch(name) for name in ("", "a b", "a/b", "a.b", "é", "x" * 65))


def test_every_drawing_is_a_picture_that_loads_nothing_and_takes_the_chosen_colour(tmp_path: Path) -> None:
    drawings, places = _drawings(), "d x y rx ry cx cy r width height fill stroke stroke-width stroke-linecap"
    for shape, body in drawings["shapes"].items():
        tree = ElementTree.fromstring(f"<g>{body}</g>")
        assert {element.tag for element in tree.iter()} <= {"g", "path", "rect", "circle"}, shape
        assert {name for element in tree.iter() for name in element.attrib} <= {*places.split(), "stroke-dasharray"}
    assert {shape for _, shape in drawings["words"]} | set(drawings["categories"].values()) <= set(drawings["shapes"])

    def products(**fields: str) -> list[Product]:
        return list(load_catalog(write_folder(tmp_path, [record("B000THING1", "Thing", **fields), *RECORDS])))

    one, other = products()[0], products()[0]
    assert picture(one) == picture(other)
    red = _drawings()["colours"]["red"]
    assert red in picture(one, "dark red")
    assert picture(one, '"><script>') == picture(one)
    assert len({picture(product) for product in products()}) > 12
    for query, category, shape in (("hdmi cables", "", "cable"), ("new", "grocery", "pouch"), ("new", "new", "box")):
        assert shape_of(products(query=query, category=category)[0]) == shape


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


def asked(kind: str, headers: dict[str, str], bound: str = "127.0.0.1") -> list[Any]:
    """What the application, or what stands before it, sends."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def greeting(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "greeting", "scope": scope["type"]})

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


@pytest.fixture
def site(shop: Shop) -> Site:
    return Site(shop, [ShopTask("t", "test", "", 1.0, "Buy it")])


def health(server: Server) -> Any:
    with urllib.request.urlopen(f"{server.address}/health", timeout=10) as answer:
        return json.load(answer)["status"]


def test_it_answers_on_loopback_only_frees_its_port_and_passes_over_one_in_use(site: Site) -> None:
    n_threads = threading.active_count()
    server = Server(create_app(site))
    assert "iad-server" in [thread.name for thread in threading.enumerate()]
    assert server.address == f"http://127.0.0.1:{server.port}"
    with ThreadPoolExecutor(32) as pool:
        assert list(pool.map(lambda _: health(server), range(100))) == ["ok"] * 100
    server.close()
    server.close()
    assert threading.active_count() == n_threads
    with pytest.raises(OSError, match=r"refused|reset"):
        socket.create_connection(("127.0.0.1", server.port), timeout=5)
    with Server(create_app(site), port=server.port) as again:
        assert again.port == server.port
    with Server(create_app(site)) as first, Server(create_app(site), port=first.port) as second:
        assert second.port > first.port
        assert [health(server) for server in (first, second)] == ["ok", "ok"]
        for port in (0, first.port):
            said = announcement("The tables are laid", first, port)
            assert said == f"The tables are laid at {first.address}\nPress Ctrl-C to stop."
        lines = announcement("The tables are laid", first, 1).splitlines()
    assert lines[1:] == [f"Port 1 is in use, so {first.port} is used.", "Press Ctrl-C to stop."]
    with pytest.raises(OSError, match=r"assign|unreachable|not known"):
        Server(create_app(site), host="192.0.2.1")


def status(server: Server, *lines: str) -> int:
    """Return the status of an answer to a request with these header lines."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        sent = "\r\n".join(["GET /health HTTP/1.1", *lines, "Connection: close", "", ""])
        connection.sendall(sent.encode("latin-1"))
        return int(connection.makefile("rb").readline().split()[1])


HOSTS = ["127.0.0.1", "127.0.0.1:80", "localhost", "LOCALHOST:3000", "localhost.", "[::1]", "[::1]:3000", "127.8.9.1:1"]
FOREIGN = [
    *("evil.example", "evil.example:3000", "localhost.evil.example", "127.0.0.1.evil.example", "evil.localhost"),
    *("192.0.2.1", "[2001:db8::1]:3000", "0.0.0.0", "localhost:evil.example", "[::1]evil.example", "[::1", ":3000"),
    *("127.0.0.1, evil.example", "evil.example@127.0.0.1", "127.0.0.1\xe9", "::1", "127.1", "x" * 5000),
]


def test_a_request_to_another_host_is_refused(site: Site) -> None:
    """A web site whose name points here must not read what is served here: DNS rebinding."""
    name = socket.gethostname()
    open_own = [f"{host}:80" for host in ("192.0.2.1", "[2001:db8::1]", "0.0.0.0", name)]
    for bound, theirs, others in (
        ("127.0.0.1", HOSTS, FOREIGN),
        ("localhost", ["localhost:80", "127.0.0.1:80"], ["evil.example", name, "192.0.2.1"]),
        ("0.0.0.0", open_own, ["evil.example:80", ":80", "1.2.3:80"]),
    ):
        with Server(create_app(site), host=bound) as server:
            assert [host for host in theirs if status(server, f"Host: {host}") != 200] == []
            assert [host for host in others if status(server, f"Host: {host}") != 403] == []
            assert status(server, "Host: evil.example", f"Host: {theirs[0]}") in (400, 403)
            request = urllib.request.Request(f"{server.address}/health", headers={"Host": "evil.example"})
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(request, timeout=10)
            with caught.value as refused:
                said = refused.read().decode()
            assert ("got 'evil.example'" in said, "--host" in said) == (True, True)


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nX-Slow: "], ids=["silent", "half a request"])
def test_connections_that_say_nothing_keep_nobody_out(site: Site, sent: bytes) -> None:
    with Server(create_app(site), connections=6) as server, ExitStack() as idle:
        for _ in range(30):
            connection = idle.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
            connection.sendall(sent)
        assert [health(server) for _ in range(3)] == ["ok"] * 3
        assert len(server._server.active_channels) <= 6


def test_a_connection_whose_request_is_being_answered_is_kept() -> None:
    begun, go_on, app = threading.Event(), threading.Event(), Flask(__name__)

    @app.get("/<path>")
    def answer(path: str) -> str:
        if path == "slow":
            begun.set()
            go_on.wait(30)
        return "done"

    def read(path: str) -> bytes:
        with urllib.request.urlopen(f"{server.address}/{path}", timeout=30) as found:
            return bytes(found.read())

    with Server(app, connections=2) as server, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(read, "slow")
        assert begun.wait(30)
        assert [read("fast") for _ in range(5)] == [b"done"] * 5
        go_on.set()
        assert slow.result(30) == b"done"


def test_it_closes_under_load(site: Site) -> None:
    server, stop = Server(create_app(site)), threading.Event()

    def ask(_: int) -> None:
        with suppress(OSError):
            while not stop.is_set():
                health(server)

    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(ask, number) for number in range(8)]
        health(server)
        began = time.monotonic()
        server.close()
        assert time.monotonic() - began < 10
        stop.set()
        for one in asking:
            one.result(20)

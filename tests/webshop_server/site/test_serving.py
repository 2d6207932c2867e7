"""The server: where it listens, and that nothing of it stays."""

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest
from flask import Flask

from webshop_server.engine import Shop
from webshop_server.site.app import Site, create_app
from webshop_server.site.server import Server, announcement
from webshop_server.storefront import ShopTask


@pytest.fixture
def site(shop: Shop) -> Site:
    return Site(shop, [ShopTask("t", "test", "", 1.0, "Buy it")])


def health(server: Server) -> object:
    with urllib.request.urlopen(f"{server.address}/health", timeout=10) as answer:
        return json.load(answer)["status"]


def test_it_answers_on_loopback_only_and_frees_its_port(site: Site) -> None:
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


def test_a_port_in_use_is_passed_over_for_the_next_free_one_which_is_said(site: Site) -> None:
    with Server(create_app(site)) as first, Server(create_app(site), port=first.port) as second:
        assert second.port > first.port
        assert [health(server) for server in (first, second)] == ["ok", "ok"]
        for port in (0, first.port):
            said = announcement("The tables are laid", first, port)
            assert said == f"The tables are laid at {first.address}\nPress Ctrl-C to stop."
        lines = announcement("The tables are laid", first, 1, "Bring a friend.").splitlines()
    assert lines[1:] == [f"Port 1 is in use, so {first.port} is used.", "Bring a friend.", "Press Ctrl-C to stop."]
    with pytest.raises(OSError, match=r"assign|unreachable|not known"):
        Server(create_app(site), host="192.0.2.1")


def status(server: Server, *lines: str) -> int:
    """Return the status of an answer to a request with these header lines."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        sent = "\r\n".join(["GET /health HTTP/1.1", *lines, "Connection: close", "", ""])
        connection.sendall(sent.encode("latin-1"))
        return int(connection.makefile("rb").readline().split()[1])


OWN = ["127.0.0.1", "127.0.0.1:80", "localhost", "LOCALHOST:3000", "localhost.", "[::1]", "[::1]:3000", "127.8.9.1:1"]
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
        ("127.0.0.1", OWN, FOREIGN),
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

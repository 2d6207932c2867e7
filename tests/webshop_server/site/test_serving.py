"""The server: where it listens, and that nothing of it stays."""

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from webshop_server.engine import Shop
from webshop_server.site.app import Site, create_app
from webshop_server.site.serving import Server, host_shop, new_token, open_site
from webshop_server.storefront import LocalStorefront, ShopTask


@pytest.fixture
def site(shop: Shop) -> Site:
    return Site(shop, [ShopTask("t", "test", "", 1.0, "Buy it")])


def health(server: Server) -> object:
    with urllib.request.urlopen(f"{server.address}/health", timeout=10) as answer:
        return json.load(answer)["status"]


def test_it_answers_on_loopback_only_and_frees_its_port(site: Site) -> None:
    n_threads = threading.active_count()
    server = Server(create_app(site))
    assert server.address == f"http://127.0.0.1:{server.port}"
    assert health(server) == "ok"
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


def test_a_host_that_is_not_this_machines_is_an_error(site: Site) -> None:
    with pytest.raises(OSError, match=r"assign|unreachable|not known"):
        Server(create_app(site), host="192.0.2.1")


def test_many_clients_are_served_without_an_error(site: Site) -> None:
    with Server(create_app(site)) as server, ThreadPoolExecutor(32) as pool:
        assert list(pool.map(lambda _: health(server), range(300))) == ["ok"] * 300


def test_it_closes_under_load(site: Site) -> None:
    server = Server(create_app(site))
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            try:
                health(server)
            except OSError:
                return

    askers = [threading.Thread(target=ask) for _ in range(8)]
    for asker in askers:
        asker.start()
    health_before = time.monotonic()
    server.close()
    assert time.monotonic() - health_before < 10
    stop.set()
    for asker in askers:
        asker.join(20)
        assert not asker.is_alive()


def test_the_api_is_closed_unless_a_token_opens_it(front: LocalStorefront) -> None:
    def status(server: Server, token: str) -> int:
        request = urllib.request.Request(f"{server.address}/api/shop", headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    token = new_token()
    with host_shop(front, port=0) as closed, host_shop(front, port=0, token=token) as opened:
        assert status(closed, token) == 404
        assert status(opened, token) == 200
        assert status(opened, "x" * 32) == 401


def test_who_opens_a_site_is_told_what_they_need_and_no_secret_of_theirs(
    front: LocalStorefront, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IAD_SHOP_TOKEN", raising=False)
    how: dict[str, Any] = {"split": None, "host": "127.0.0.1", "data": {}}
    first, said = open_site(front, port=0, api=True, **how)
    with first:
        assert said.startswith(f"The shop is open at {first.address}\nEnvironments get in with IAD_SHOP_TOKEN=")
        monkeypatch.setenv("IAD_SHOP_TOKEN", "a secret of long standing")
        for api in (True, False):
            second, said = open_site(front, port=first.port, api=api, **how)
            with second:
                assert f"Port {first.port} is in use, so {second.port} is used." in said
                assert "TOKEN" not in said
                assert "secret" not in said

"""`IAD/WebShop-v0` on a hosted shop: contract 1 over HTTP, and the same as in this process."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.webshop.env import WebShopEnv
from tests.contract.environments import EnvironmentContract, Subject, solution_of
from tests.contract.test_environments import browse
from tests.iad_envs.webshop.shop_walks import TOKEN, hosted_shop, walk_together
from webshop_server.remote.hosted import TOKEN_VARIABLE, ShopUnavailable
from webshop_server.site.server import Server
from webshop_server.site.serving import host_shop

ID = "Test/HostedShop-v0"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with hosted_shop() as server:
        gym.register(ID, "iad_envs.webshop.env:WebShopEnv", kwargs={"server": server.address, "token": TOKEN})
        yield server
    del gym.registry[ID]


class TestHostedShop(EnvironmentContract):
    @pytest.fixture
    def subject(self, server: Server) -> Subject:
        return Subject(ID, browse)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"observation_mode": "text_rich", "progress": "agentboard"},
        {"observation_mode": "url", "progress": "off"},
        {"published": True, "split": "dev"},
    ],
    ids=str,
)
def test_a_hosted_shop_is_the_same_as_one_in_this_process(server: Server, options: dict[str, Any]) -> None:
    here, there = WebShopEnv(**options), WebShopEnv(server=server.address, token=TOKEN, **options)
    assert (here.task_ids, here.data[:2]) == (there.task_ids, there.data[:2])
    for seed in range(3):
        walk_together([here, there], seed)


def test_the_servers_rules_hold_and_others_are_refused() -> None:
    with hosted_shop(page_size=3, max_pages=6) as server:
        env = WebShopEnv(server=server.address, token=TOKEN)
        env.reset(seed=0)
        *_, info = env.step("search[red shoe]")
        assert len(info["page"]["products"]) == 3
        env.close()
        rules = {"page_size": 3, "data_dir": ".", "goals": "human", "search_anywhere": False, "tagger": "spacy"}
        for name, value in rules.items():
            with pytest.raises(ValueError, match=f"expected {name} to be the server's, got .*iad serve"):
                WebShopEnv(server=server.address, token=TOKEN, **{name: value})  # type: ignore[arg-type]


def test_the_token_may_come_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    with pytest.raises(ValueError, match=f"pass token= or set {TOKEN_VARIABLE}"):
        WebShopEnv(server=server.address)
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    assert WebShopEnv(server=server.address).reset(seed=0)[1]["task_id"]
    with pytest.raises(ShopUnavailable, match="expected the token") as refused:
        WebShopEnv(server=server.address, token="another one, which is wrong")
    assert refused.value.kind == "auth"


def test_what_is_no_hosted_shop_is_said(server: Server) -> None:
    shop = WebShopEnv()
    with (
        host_shop(shop.storefront, port=0) as closed,
        pytest.raises(ShopUnavailable, match="iad serve --api") as refused,
    ):  # type: ignore[arg-type]
        WebShopEnv(server=closed.address, token=TOKEN)
    assert refused.value.kind == "server"
    with pytest.raises(ShopUnavailable, match="iad serve --api") as refused:
        WebShopEnv(server=closed.address, token=TOKEN)
    assert refused.value.kind == "connection"
    for address in ("127.0.0.1:3000", "ftp://127.0.0.1", "http://"):
        with pytest.raises(ValueError, match="expected a server such as http"):
            WebShopEnv(server=address, token=TOKEN)


def test_an_episode_goes_on_when_the_server_was_started_again_with_the_same_shop() -> None:
    with hosted_shop() as server:
        env = WebShopEnv(server=server.address, token=TOKEN)
        env.reset(seed=3)
        gold = solution_of(env)
        for action in gold[:-1]:
            env.step(action)
    with pytest.raises(ShopUnavailable) as lost:
        env.step("search[something new]")
    assert lost.value.kind == "connection"
    with (
        hosted_shop(port=server.port, page_size=4),
        pytest.raises(ShopUnavailable, match="create the environment again"),
    ):
        env.step("search[something new]")
    with hosted_shop(port=server.port) as again:
        assert again.port == server.port
        assert env.step(gold[-1])[1] == 1.0
        env.close()

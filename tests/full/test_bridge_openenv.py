"""An environment as an OpenEnv server, on real sockets with its own client (`make bridges BRIDGES=openenv`)."""

import asyncio
import json
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import pytest

pytest.importorskip("openenv.core.env_server", reason="openenv is not installed: make bridges BRIDGES=openenv")

import gymnasium as gym
import httpx
from openenv import GenericEnvClient
from websockets.asyncio.client import connect

from iad_policy.bridges.openenv import ServedEpisodes, openenv_app
from iad_policy.bridges.trial import TrialChat
from iad_policy.commands.asgi import AsgiServer
from tests.full.played import SHOP, PlainRun, command, said, solved, watched
from tests.full.processes import examples, needing, printed
from tests.waiting import until

pytestmark = needing("openenv", how="make bridges BRIDGES=openenv")


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    """The address of a server of the shop."""
    with AsgiServer(openenv_app(SHOP)) as server:
        yield server.address


def asked(address: str, data: Any = None, **headers: str) -> Any:
    """The answer of a plain request."""
    return httpx.request("POST" if data else "GET", address, json=data or None, headers=headers, timeout=20)


async def played(client: Any, run: PlainRun) -> list[Any]:
    """The results of an episode with these actions. Between two steps others may go on."""
    return [await client.reset(task_id=run.task_id), *[await client.step({"text": action}) for action in run.actions]]


def test_eight_sessions_at_once_are_eight_plain_loops(shop: str) -> None:
    runs = [solved(seed, "solution" if seed % 2 else "shopper") for seed in range(8)]

    async def main() -> list[list[Any]]:
        async with AsyncExitStack() as opened:
            clients = [await opened.enter_async_context(GenericEnvClient(base_url=shop)) for _ in runs]
            return await asyncio.gather(*(played(client, run) for client, run in zip(clients, runs, strict=True)))

    for run, (first, *results) in zip(runs, asyncio.run(main()), strict=True):
        texts, outcome = said(run, "direct")
        assert [result.observation["text"] for result in (first, *results)] == texts
        assert tuple(result.reward for result in results) == run.rewards
        assert [result.done for result in results] == [False] * (len(run.actions) - 1) + [True]
        assert (first.reward, first.done, first.metadata) == (None, False, None)
        assert all(not result.metadata and not result.observation["metadata"] for result in results[:-1])
        assert results[-1].metadata == outcome._asdict()
        assert results[-1].metadata["progress"] == run.progress


def test_what_a_client_can_mend_is_told_in_our_words_and_the_session_goes_on(shop: str) -> None:
    mistakes: dict[str, dict[str, Any]] = {
        "seed, episode_id, task_id, split, index, got colour": {"colour": "red"},
        "with an index, got split": {"split": "dev"},
        "from 0 to 199 in dev, got 200": {"split": "dev", "index": 200},
    }
    with GenericEnvClient(base_url=shop).sync() as client:
        with pytest.raises(RuntimeError, match="reset before step"):
            client.step({"text": "search[tea]"})
        for message, given in mistakes.items():
            with pytest.raises(RuntimeError, match=re.escape(message)):
                client.reset(**given)
            answer = asked(f"{shop}/reset", given)
            assert (answer.status_code, message in answer.json()["detail"]) == (422, True)
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            client.step({"words": "search[tea]"})
        first = client.reset(split="dev", index=3, episode_id="mine")
        assert set(client.state()) == {"episode_id", "step_count", "task_id", "instruction", "done"}  # and no score
        assert (client.state()["task_id"], client.state()["episode_id"]) == ("dev-0004", "mine")
        assert client.state()["instruction"] in first.observation["text"]
        unread = client.step({"text": 5}).observation["text"]  # what a client made of an answer that is JSON
        assert "expected an action" in unread or 'expected a line "Action' in unread
        assert "Actions left: 14." in unread
    for headers, status in (({}, 200), ({"Host": "shop.example"}, 403), ({"Origin": "http://shop.example"}, 403)):
        assert asked(f"{shop}/health", **headers).status_code == status  # a page of another site reaches nothing


def test_the_command_gives_a_split_alone_and_a_client_goes_back_to_a_snapshot() -> None:
    train = gym.make(SHOP, split="train").unwrapped.task_ids[4]  # type: ignore[attr-defined]
    with socket.create_server(("127.0.0.1", 0)) as taken, ExitStack() as opened:
        options = ["--port", taken.getsockname()[1], "--snapshots", 2, "--split", "train", "--env-arg", "max_steps=4"]
        process, address = opened.enter_context(command("--openenv", *options))
        assert not address.endswith(f":{taken.getsockname()[1]}")
        client, other = (GenericEnvClient(base_url=address).sync() for _ in range(2))

        def ask(do: str, text: str = "", of: Any = client) -> Any:
            return of.step({"text": text, "metadata": {"do": do}})

        for one in (client, other):
            assert "Actions left: 4." in one.reset(task_id=train).observation["text"]
        taken_here = ask("snapshot")
        name = taken_here.metadata["snapshot"]
        tried = client.step({"text": "search[tea]"})
        assert (tried.reward, tried.done, tried.metadata) == (None, False, {"trial": True})
        assert ask("restore", name).observation["text"] == taken_here.observation["text"]
        assert client.step({"text": "search[coffee]"}).observation["text"] != tried.observation["text"]
        assert (done := ask("commit")).reward == 0.0
        assert (client.state()["step_count"], done.metadata) == (1, None)
        with pytest.raises(RuntimeError, match=f"'{name}'; known: none"):
            ask("restore", name, other)
        for given, words in (
            ({"task_id": "test-0001"}, "'train', got 'test-0001'"),
            ({"split": "test", "index": 0}, "'test'; known: train"),
        ):
            with pytest.raises(RuntimeError, match=words):
                client.reset(**given)
        assert [split["name"] for split in asked(f"{address}/WebShop-v0/splits").json()] == ["train"]
        process.send_signal(signal.SIGINT)  # while clients are connected
        process.wait(timeout=20)
        client.close()
        other.close()


def test_the_schema_has_one_required_field_and_the_tasks_are_listed(shop: str) -> None:
    def listed(path: str, **data: Any) -> Any:
        return asked(f"{shop}/WebShop-v0/{path}", data).json()

    schema = asked(f"{shop}/schema").json()
    assert list(schema["action"]["properties"]) == ["metadata", "text"]
    assert schema["action"]["required"] == schema["observation"]["required"] == ["text"]
    assert [split["name"] for split in listed("splits")] == ["test", "dev", "train"]
    assert listed("num_tasks", split="train") == {"num_tasks": 800}
    tasks = listed("tasks", split="dev")["tasks"]
    assert set(tasks[7]) == {"task_id", "index", "instruction", "split", "difficulty"}
    assert listed("task", split="dev", index=7)["task"] == tasks[7]
    assert listed("task_range", split="dev", start=7, stop=9)["tasks"] == tasks[7:9]
    for path, data in (("WebShop-v0/tasks", {"split": "moon"}), ("step", {"action": {"text": "search[tea]"}})):
        assert asked(f"{shop}/{path}", data).status_code == 422


def test_an_environment_is_closed_with_its_socket_and_sessions_are_limited() -> None:
    async def cut_off(address: str) -> None:
        """Reset, and drop the connection without a word, as a client that dies does."""
        async with connect(f"{address.replace('http', 'ws')}/ws") as socket_:
            await socket_.send(json.dumps({"type": "reset", "data": {"seed": 0}}))
            await socket_.recv()
            socket_.transport.abort()

    with watched() as made, AsgiServer(openenv_app("Watched-v0", max_sessions=1, split="dev")) as server:
        assert [one.closed for one in made] == [True]  # the one that was made to look at it
        client, other = (GenericEnvClient(base_url=server.address).sync() for _ in range(2))
        with client:
            client.reset(seed=0)
            client.reset(seed=1)
            assert [one.closed for one in made] == [True, False]
            with pytest.raises(RuntimeError, match="CAPACITY"), other:
                other.reset(seed=0)
            assert not client.step({"text": "search[tea]"}).done
        assert until(lambda: made[1].closed)
        asyncio.run(cut_off(server.address))
        assert until(lambda: all(one.closed for one in made[1:]))
        assert len(made) == 3


def test_the_pages_first_example_runs_and_pictures_are_beside_the_text(shop: str) -> None:
    _, said, *_ = printed(examples("frameworks.md", "GenericEnvClient")[0].replace("http://127.0.0.1:3000", shop))
    assert "Actions left: 14." in said
    assert said.endswith(" 0.0 False")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}

    class Drawn(TrialChat):
        def begin(self, **options: Any) -> list[dict[str, Any]]:
            return [{"content": "See."}, {"content": [picture, {"type": "text", "text": "Draw it."}]}]

    seen = ServedEpisodes(lambda: Drawn(SHOP, "direct")).reset({})
    assert (seen["pictures"], seen["text"]) == (["data:image/png;base64,AAAA"], "See.\n\nDraw it.")

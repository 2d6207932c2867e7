"""An environment as an OpenEnv server, on real sockets with its own client (`make bridges BRIDGES=openenv`)."""

import asyncio
import json
import os
import re
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

pytest.importorskip(
    "openenv.core.env_server", reason="the extra openenv is not installed: make bridges BRIDGES=openenv"
)

import gymnasium as gym
from openenv import GenericEnvClient
from websockets.asyncio.client import connect

from iad_policy.bridges.openenv import ServedEpisodes, openenv_app
from iad_policy.bridges.trial import TrialChat
from iad_policy.commands.asgi import AsgiServer
from tests.full.processes import examples, printed, wait_for
from tests.full.shop_runs import SHOP, PlainRun, command, said, shopped, solved, watched

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # theirs


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    """The address of a server of the shop."""
    with AsgiServer(openenv_app(SHOP)) as server:
        yield server.address


def asked(address: str, data: dict[str, Any] | None = None, **headers: str) -> tuple[int, Any]:
    """The status and the answer of a plain request."""
    body = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(address, data=body, headers={"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            text = error.read().decode()
            return error.code, json.loads(text) if text.startswith("{") else text


async def played(client: Any, run: PlainRun) -> list[Any]:
    """The results of an episode with these actions. Between two steps others may go on."""
    return [await client.reset(task_id=run.task_id), *[await client.step({"text": action}) for action in run.actions]]


def test_eight_sessions_at_once_are_eight_plain_loops(shop: str) -> None:
    runs = [solved(seed) if seed % 2 else shopped(seed) for seed in range(8)]

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
        "'nothing'; known: test-0001": {"task_id": "nothing"},
        "seed, episode_id, task_id, split, index, got colour": {"colour": "red"},
        "with an index, got split": {"split": "dev"},
        "from 0 to 199 in dev, got 200": {"split": "dev", "index": 200},
        "'moon'; known: test, dev, train": {"split": "moon", "index": 0},
    }
    with GenericEnvClient(base_url=shop).sync() as client:
        with pytest.raises(RuntimeError, match="reset before step"):
            client.step({"text": "search[tea]"})
        for message, given in mistakes.items():
            with pytest.raises(RuntimeError, match=re.escape(message)):
                client.reset(**given)
            status, answer = asked(f"{shop}/reset", given)
            assert (status, message in answer["detail"]) == (422, True)
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
        assert asked(f"{shop}/health", **headers)[0] == status  # a page of another site reaches nothing


def test_a_client_goes_back_to_a_snapshot_and_a_split_is_all_that_is_given() -> None:
    train = gym.make(SHOP, split="train").unwrapped.task_ids[4]  # type: ignore[attr-defined]
    with command("--openenv", "--port", 0, "--snapshots", 2, "--split", "train") as (_, address):
        with GenericEnvClient(base_url=address).sync() as client, GenericEnvClient(base_url=address).sync() as other:
            client.reset(task_id=train)
            other.reset(task_id=train)

            def ask(do: str, text: str = "", of: Any = client) -> Any:
                return of.step({"text": text, "metadata": {"do": do}})

            taken = ask("snapshot")
            name = taken.metadata["snapshot"]
            tried = client.step({"text": "search[tea]"})
            assert (tried.reward, tried.done, tried.metadata) == (None, False, {"trial": True})
            assert ask("restore", name).observation["text"] == taken.observation["text"]
            assert client.step({"text": "search[coffee]"}).observation["text"] != tried.observation["text"]
            assert (done := ask("commit")).reward == 0.0
            assert (client.state()["step_count"], done.metadata) == (1, None)
            for do, words in (
                (lambda: ask("restore", name, other), f"'{name}'; known: none"),
                (lambda: client.reset(task_id="test-0001"), "'train', got 'test-0001'"),
                (lambda: client.reset(split="test", index=0), "'test'; known: train"),
            ):
                with pytest.raises(RuntimeError, match=words):
                    do()
        assert [split["name"] for split in asked(f"{address}/WebShop-v0/splits")[1]] == ["train"]
        assert list(asked(f"{address}/schema")[1]["action"]["properties"]) == ["metadata", "text"]


def test_the_schema_has_one_required_field_and_the_tasks_are_listed(shop: str) -> None:
    schema = asked(f"{shop}/schema")[1]
    assert schema["action"]["required"] == schema["observation"]["required"] == ["text"]
    here, dev = f"{shop}/WebShop-v0", {"split": "dev"}
    assert [split["name"] for split in asked(f"{here}/splits")[1]] == ["test", "dev", "train"]
    assert asked(f"{here}/num_tasks", {"split": "train"})[1] == {"num_tasks": 800}
    tasks = asked(f"{here}/tasks", dev)[1]["tasks"]
    assert set(tasks[7]) == {"task_id", "index", "instruction", "split", "difficulty"}
    assert asked(f"{here}/task", {**dev, "index": 7})[1]["task"] == tasks[7]
    assert asked(f"{here}/task_range", {**dev, "start": 7, "stop": 9})[1]["tasks"] == tasks[7:9]
    assert asked(f"{here}/tasks", {"split": "moon"})[0] == 422
    assert asked(f"{shop}/step", {"action": {"text": "search[tea]"}})[0] == 422


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
        wait_for(lambda: made[1].closed)
        asyncio.run(cut_off(server.address))
        wait_for(lambda: all(one.closed for one in made[1:]))
        assert len(made) == 3


def test_the_command_says_where_it_is_and_ends_though_a_client_is_connected() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with command("--openenv", "--port", port, "--split", "dev", "--env-arg", "max_steps=4") as (process, address):
            assert not address.endswith(f":{port}")
            client = GenericEnvClient(base_url=address).sync()
            assert "Actions left: 4." in client.reset(seed=0).observation["text"]
            assert client.state()["task_id"].startswith("dev-")
            os.kill(process.pid, signal.SIGINT)
            process.wait(timeout=20)
            client.close()


def test_the_pages_first_example_runs_and_pictures_are_beside_the_text(shop: str) -> None:
    _, said, *_ = printed(examples("frameworks.md", "GenericEnvClient")[0].replace("http://127.0.0.1:3000", shop))
    assert "Actions left: 14." in said
    assert said.endswith(" 0.0 False")

    class Drawn(TrialChat):
        def begin(self, **options: Any) -> list[dict[str, Any]]:
            picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
            system, user = super().begin(**options)
            return [system, {**user, "content": [picture, {"type": "text", "text": "Draw it."}]}]

    episodes = ServedEpisodes(lambda: Drawn(SHOP, "direct"))
    seen = episodes.reset({})
    assert seen["pictures"] == ["data:image/png;base64,AAAA"]
    assert seen["text"].endswith("\n\nDraw it.")
    episodes.close()

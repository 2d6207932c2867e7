"""An environment as an MCP server: in memory, over stdin and stdout, and over HTTP (`make bridges BRIDGES=mcp`)."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed: make bridges BRIDGES=mcp")

import anyio
import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from iad_policy.bridges.chat import OVER, ChatOutcome
from iad_policy.bridges.mcp import TRIAL, contents, mcp_server
from tests.full.processes import ROOT, examples, printed, wait_for
from tests.full.shop_runs import SHOP, PlainRun, command, said, shopped, solved, watched

COMMAND = ["-m", "iad_policy.cli", "serve", "--mcp", SHOP]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
BEGIN = {"method": "tools/call", "params": {"name": "begin", "arguments": {"seed": 0}}}
OPENING: list[dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": HELLO},
    {"method": "notifications/initialized"},
]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # theirs


def text_of(result: Any) -> str:
    assert not result.is_error, result.content
    return "\n\n".join(part.text for part in result.content)


async def played(client: Client, run: PlainRun) -> list[str]:
    """What a client is told in an episode with these actions."""
    return [await begun(client, task_id=run.task_id), *[await acted(client, action) for action in run.actions]]


async def begun(client: Client, **given: Any) -> str:
    return text_of(await client.call_tool("begin", given))


async def acted(client: Client, action: str, tool: str = "act") -> str:
    return text_of(await client.call_tool(tool, {"action": action}))


async def refused(client: Client, tool: str, **given: Any) -> str:
    result = await client.call_tool(tool, given)
    assert result.is_error
    return str(result.content[0].text)


async def tools(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def asking(server: Any, ask: Callable[..., Awaitable[None]], n: int = 1, **options: Any) -> None:
    """Run a function of some clients of a server, which are connected side by side."""

    async def main() -> None:
        async with AsyncExitStack() as opened:
            await ask(*[await opened.enter_async_context(Client(server, **options)) for _ in range(n)])

    anyio.run(main)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_episode_is_the_conversation_and_its_outcome_goes_to_the_server_alone(mode: str) -> None:
    ended: list[ChatOutcome] = []
    right = solved(3)
    wrong = right._replace(task_id=solved(4).task_id)  # the same actions buy the wrong thing, and are answered alike
    runs = [solved(0), shopped(1), right, wrong]

    async def ask(client: Client, other: Client) -> None:
        for run in runs:
            texts, outcome = said(run, "tool")
            assert await played(client, run) == texts
            assert texts[-1] == OVER
            assert ended[-1] == outcome
            assert await acted(client, "click[buy now]") == OVER
        await meet_nobody(client, other)

    asking(mcp_server(SHOP, on_end=ended.append), ask, n=2, mode=mode)
    assert [outcome.task_id for outcome in ended[:4]] == [run.task_id for run in runs]
    assert [outcome.reward for outcome in ended[:2]] == [sum(run.rewards) for run in runs[:2]]
    assert ended[0].success
    assert ended[2].reward == 1 > ended[3].reward


async def meet_nobody(one: Client, other: Client) -> None:
    """Play two tasks in turns, with calls of both clients at the same time."""
    games = [
        (client, run, [await begun(client, task_id=run.task_id)])
        for client, run in ((one, solved(0)), (other, solved(5)))
    ]
    for place in range(max(len(run.actions) for _, run, _ in games)):
        async with anyio.create_task_group() as group:
            for client, run, told in games:
                if place < len(run.actions):
                    group.start_soon(act, client, run.actions[place], told)
    for _, run, told in games:
        assert told == said(run, "tool")[0]


async def act(client: Client, action: str, told: list[str]) -> None:
    told.append(await acted(client, action))


def test_calls_of_one_session_at_the_same_time_are_taken_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    most = [0, 0]  # inside at the moment, and at most

    class Slow(gym.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            most[0] += 1
            most[1] = max(most)
            time.sleep(0.02)
            result = super().step(action)
            most[0] -= 1
            return result

    async def ask(client: Client) -> None:
        await begun(client, seed=0)
        told: list[str] = []
        async with anyio.create_task_group() as group:
            for number in range(14):
                group.start_soon(act, client, f"search[tea {number}]", told)
        left = sorted(int(found[1]) for text in told if (found := re.search(r"Actions left: (\d+)", text)))
        assert left == list(range(1, 15))

    def slow(**options: Any) -> Any:
        return Slow(gym.make(SHOP, disable_env_checker=True, **options))

    monkeypatch.setitem(gym.registry, "Slow-v0", EnvSpec("Slow-v0", slow))
    asking(mcp_server("Slow-v0"), ask)
    assert most == [0, 1]


def test_what_a_client_can_mend_is_told_in_our_words_and_the_session_goes_on() -> None:
    async def ask(client: Client) -> None:
        assert await tools(client) == {"begin", "act"}
        assert "expected begin" in (await refused(client, "act", action="search[tea]"))
        assert "'test-9999'" in (await refused(client, "begin", task_id="test-9999"))
        assert "Actions left: 15." in await begun(client, task_id="test-0001")
        await refused(client, "begin", task_id="test-9999")
        assert "Actions left: 14." in await acted(client, "search[tea]")

    ended: list[ChatOutcome] = []
    asking(mcp_server(SHOP, on_end=ended.append), ask)
    assert [(outcome.task_id, outcome.steps, outcome.stop_reason) for outcome in ended] == [("test-0001", 1, "")]


def test_an_agent_tries_goes_back_and_commits() -> None:
    ended: list[ChatOutcome] = []

    async def ask(client: Client, other: Client) -> None:
        assert await tools(client) == {"begin", "act", "snapshot", "restore", "commit"}
        run = solved(0)
        await begun(client, task_id=run.task_id)
        await begun(other, task_id=run.task_id)
        name = text_of(await client.call_tool("snapshot", {})).split()[1].rstrip(".")
        for action in ("search[tea]", "click[nothing]"):
            assert (await acted(client, action)).endswith(TRIAL)
        assert "Actions left: 15." in text_of(await client.call_tool("restore", {"snapshot": name}))
        for action in run.actions:
            await acted(client, action)
        assert f"got '{name}'; known: none" in await refused(other, "restore", snapshot=name)
        assert ended == []
        assert text_of(await client.call_tool("commit", {})) == OVER
        assert (ended[0].success, ended[0].steps, ended[0].tried) == (True, len(run.actions), len(run.actions) + 2)

    asking(mcp_server(SHOP, snapshots=1, on_end=ended.append), ask, n=2)


def test_an_environment_lives_as_long_as_its_session() -> None:
    with watched() as made:
        server = mcp_server("Watched-v0", split="dev")
        assert [one.closed for one in made] == [True]  # the one that was made to look at it

        async def ask(one: Client, other: Client) -> None:
            for client in (one, other, one):
                assert "Now you see" in await begun(client, seed=0)
            assert [env.closed for env in made] == [True, False, False]

        asking(server, ask, n=2)
        assert [env.closed for env in made] == [True, True, True]


def test_over_stdin_and_stdout_a_client_starts_the_command(tmp_path: Path) -> None:
    outcomes = tmp_path / "outcomes.jsonl"
    options = ["--preview", "--outcomes", str(outcomes), "--split", "dev", "--env-arg", "max_steps=20"]
    started = StdioServerParameters(command=sys.executable, args=[*COMMAND, *options], cwd=ROOT)

    async def ask(client: Client) -> None:
        assert await tools(client) == {"begin", "act", "preview"}
        await refused(client, "begin", task_id="test-0001")  # it is of another split
        assert (await played(client, solved(0, split="dev")))[-1] == OVER
        assert "Actions left: 20." in await begun(client, seed=1)

    with (tmp_path / "stderr").open("w") as errors:
        asking(stdio_client(started, errlog=errors), ask)
    lines = [json.loads(line) for line in outcomes.read_text().splitlines()]
    assert [(line["success"], line["stop_reason"]) for line in lines] == [(True, "done"), (False, "")]
    assert lines[1]["task_id"].startswith("dev-")
    assert len((tmp_path / "stderr").read_text().splitlines()) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_session_and_the_command_though_stdin_stays_open(number: int, tmp_path: Path) -> None:
    outcomes = tmp_path / "outcomes.jsonl"
    words = [sys.executable, *COMMAND, "--outcomes", str(outcomes)]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(words, cwd=ROOT, text=True, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in (*OPENING, {"id": 2, **BEGIN}):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(number)
        assert process.wait(timeout=20) == 0
        assert process.stdout.read() == ""
    assert "Now you see" in answers[1]["result"]["content"][-1]["text"]
    assert [json.loads(line)["stop_reason"] for line in outcomes.read_text().splitlines()] == [""]


def test_over_http_sessions_do_not_meet_and_end_with_their_clients(tmp_path: Path) -> None:
    outcomes = tmp_path / "outcomes.jsonl"

    async def ask(one: Client, other: Client) -> None:
        await meet_nobody(one, other)
        await begun(one, task_id="test-0001")

    async def ask_without(client: Client) -> None:
        with pytest.raises(MCPError, match="expected a protocol version with sessions"):
            await client.call_tool("begin", {"seed": 0})

    with command("--mcp", "--port", 0, "--outcomes", outcomes) as (_, address):
        asking(address, ask, n=2)
        wait_for(lambda: len(outcomes.read_text().splitlines()) == 3)  # the client doesn't wait for the session's end
        asking(address, ask_without, mode="2026-07-28")
        for header, value in (("Host", "shop.example"), ("Origin", "http://shop.example")):  # a page of another site
            request = urllib.request.Request(address, data=b"{}", headers={header: value})
            with pytest.raises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(request, timeout=20)
            with error.value as answer:
                assert (answer.code, header in answer.read().decode()) == (403, True)
    reasons = [json.loads(line)["stop_reason"] for line in outcomes.read_text().splitlines()]
    assert sorted(reasons) == ["", "done", "done"]


def test_the_pages_first_example_runs_and_pictures_are_sent_as_pictures() -> None:
    assert "Now you see" in printed(examples("frameworks.md", "mcp_server")[0])[0]
    red = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{red}"}}
    content = contents([{"role": "user", "content": [picture, {"type": "text", "text": "Draw it."}]}])
    assert content[1] == "Draw it."
    assert (content[0].to_image_content().data, content[0].to_image_content().mime_type) == (red, "image/png")

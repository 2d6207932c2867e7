"""An environment as an MCP server: in memory, over stdin and stdout, and over HTTP (`make bridges BRIDGES=mcp`)."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed: make bridges BRIDGES=mcp")

import anyio
import httpx
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from iad_policy.bridges.chat import OVER, ChatOutcome
from iad_policy.bridges.mcp import TRIAL, contents, mcp_server
from tests.full.played import SHOP, PlainRun, command, said, solved, watched
from tests.full.processes import ROOT, examples, needing, printed
from tests.waiting import until

pytestmark = needing("mcp", how="make bridges BRIDGES=mcp")
COMMAND = ["-m", "iad_policy.cli", "serve", "--mcp", SHOP]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
BEGUN: list[dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": HELLO},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "begin", "arguments": {"seed": 0}}},
]


async def told(client: Client, tool: str, *, is_error: bool = False, **given: Any) -> str:
    """What a tool says."""
    result: Any = await client.call_tool(tool, given)
    assert result.is_error == is_error, result.content
    return "\n\n".join(part.text for part in result.content)


async def played(client: Client, run: PlainRun) -> list[str]:
    """What a client is told in an episode with these actions."""
    first = await told(client, "begin", task_id=run.task_id)
    return [first, *[await told(client, "act", action=action) for action in run.actions]]


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
    runs = [solved(0), solved(1, "shopper"), right, wrong]

    async def ask(client: Client) -> None:
        assert await tools(client) == {"begin", "act"}
        assert "expected begin" in (await told(client, "act", is_error=True, action="search[tea]"))
        for run in runs:
            texts, outcome = said(run, "tool")
            assert await played(client, run) == texts
            assert (texts[-1], ended[-1]) == (OVER, outcome)
            assert await told(client, "act", action="click[buy now]") == OVER
        # What a client can mend leaves the task that is under way.
        assert "Actions left: 15." in await told(client, "begin", task_id="test-0001")
        assert "'test-9999'" in (await told(client, "begin", is_error=True, task_id="test-9999"))
        assert "Actions left: 14." in await told(client, "act", action="search[tea]")

    asking(mcp_server(SHOP, on_end=ended.append), ask, mode=mode)
    assert [outcome.task_id for outcome in ended[:4]] == [run.task_id for run in runs]
    assert [outcome.reward for outcome in ended[:2]] == [sum(run.rewards) for run in runs[:2]]
    assert ended[0].success
    assert ended[2].reward == 1 > ended[3].reward
    assert [(one.task_id, one.steps, one.stop_reason) for one in ended[4:]] == [("test-0001", 1, "")]


def test_an_environment_lives_as_long_as_its_session_whose_calls_are_taken_one_after_another() -> None:
    seen: list[str] = []

    async def search(client: Client, number: int) -> None:
        seen.append(await told(client, "act", action=f"search[tea {number}]"))

    async def ask(one: Client, other: Client) -> None:
        for client in (one, other, one):
            assert "Now you see" in await told(client, "begin", seed=0)
        assert [env.closed for env in made] == [True, False, False]
        async with anyio.create_task_group() as group:
            for number in range(14):
                group.start_soon(search, one, number)

    with watched() as made:
        server = mcp_server("Watched-v0", split="dev")
        assert [one.closed for one in made] == [True]  # the one that was made to look at it
        asking(server, ask, n=2)
        assert [(env.closed, env.most_inside) for env in made] == [(True, 0), (True, 1), (True, 0)]
    left = sorted(int(found[1]) for text in seen if (found := re.search(r"Actions left: (\d+)", text)))
    assert left == list(range(1, 15))


def test_over_stdin_and_stdout_an_agent_tries_goes_back_and_commits(tmp_path: Path) -> None:
    outcomes, errors, run = tmp_path / "outcomes.jsonl", tmp_path / "stderr", solved(0, split="dev")
    options = ["--preview", "--snapshots", "1", "--split", "dev", "--env-arg", "max_steps=20"]
    args = [*COMMAND, *options, "--outcomes", str(outcomes)]

    async def ask(client: Client) -> None:
        assert await tools(client) == {"begin", "act", "preview", "snapshot", "restore", "commit"}
        await told(client, "begin", is_error=True, task_id="test-0001")  # it is of another split
        await told(client, "begin", task_id=run.task_id)
        name = (await told(client, "snapshot")).split()[1].rstrip(".")
        for action in ("search[tea]", "click[nothing]"):
            assert (await told(client, "act", action=action)).endswith(TRIAL)
        assert "Actions left: 20." in await told(client, "restore", snapshot=name)
        for action in run.actions:
            await told(client, "act", action=action)
        assert not outcomes.read_text()
        assert await told(client, "commit") == OVER
        assert "Actions left: 20." in await told(client, "begin", seed=1)
        assert f"got '{name}'; known: none" in await told(client, "restore", is_error=True, snapshot=name)

    with errors.open("w") as file:
        asking(stdio_client(StdioServerParameters(command=sys.executable, args=args, cwd=ROOT), errlog=file), ask)
    first, left = (json.loads(line) for line in outcomes.read_text().splitlines())
    n = len(run.actions)
    assert (first["success"], first["stop_reason"], first["steps"], first["tried"]) == (True, "done", n, n + 2)
    assert (left["success"], left["stop_reason"], left["task_id"][:4]) == (False, "", "dev-")
    assert len(errors.read_text().splitlines()) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_session_and_the_command_though_stdin_stays_open(number: int, tmp_path: Path) -> None:
    outcomes = tmp_path / "outcomes.jsonl"
    words = [sys.executable, *COMMAND, "--outcomes", str(outcomes)]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(words, cwd=ROOT, text=True, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in BEGUN))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(number)
        assert (process.wait(timeout=20), process.stdout.read()) == (0, "")
    assert "Now you see" in answers[1]["result"]["content"][-1]["text"]
    assert [json.loads(line)["stop_reason"] for line in outcomes.read_text().splitlines()] == [""]


def test_over_http_sessions_do_not_meet_and_end_with_their_clients(tmp_path: Path) -> None:
    outcomes, runs = tmp_path / "outcomes.jsonl", (solved(0), solved(5))

    async def play(client: Client, run: PlainRun) -> None:
        assert await played(client, run) == said(run, "tool")[0]

    async def ask(*clients: Client) -> None:
        async with anyio.create_task_group() as group:
            for client, run in zip(clients, runs, strict=True):
                group.start_soon(play, client, run)
        await told(clients[0], "begin", task_id="test-0001")

    async def ask_without(client: Client) -> None:
        with pytest.raises(MCPError, match="expected a protocol version with sessions"):
            await client.call_tool("begin", {"seed": 0})

    with command("--mcp", "--port", 0, "--outcomes", outcomes) as (_, address):
        asking(address, ask, n=2)
        assert until(lambda: len(outcomes.read_text().splitlines()) == 3)  # the client doesn't wait for the end
        asking(address, ask_without, mode="2026-07-28")
        for header, value in (("Host", "shop.example"), ("Origin", "http://shop.example")):  # a page of another site
            answer = httpx.post(address, json={}, headers={header: value}, timeout=20)
            assert (answer.status_code, header in answer.text) == (403, True)
    reasons = [json.loads(line)["stop_reason"] for line in outcomes.read_text().splitlines()]
    assert sorted(reasons) == ["", "done", "done"]


def test_the_pages_first_example_runs_and_pictures_are_sent_as_pictures() -> None:
    assert "Now you see" in printed(examples("frameworks.md", "mcp_server")[0])[0]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    image, text = contents([{"role": "user", "content": [picture, {"type": "text", "text": "Draw it."}]}])
    sent = image.to_image_content()
    assert (sent.data, sent.mime_type, text) == ("iVBORw0KGgo=", "image/png", "Draw it.")

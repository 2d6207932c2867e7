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
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed: make bridges BRIDGES=mcp")

import anyio
import gymnasium as gym
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from iad_policy.bridges.chat import OVER, ChatOutcome
from iad_policy.bridges.mcp import contents, mcp_server
from tests.full.shop_runs import KEYLESS, SHOP, PlainRun, command, page_block, said, shopped, solved, wait_for, watched
from tests.iad_policy.bridges.gold import Told, aimless, gold_in, solving

ROOT = Path(__file__).parents[2]
COMMAND = ["-m", "iad_policy.cli", "serve", "--mcp", SHOP]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # theirs


def text_of(result: Any) -> str:
    assert not result.is_error, result.content
    return "\n\n".join(part.text for part in result.content)


async def played(client: Client, run: PlainRun) -> list[str]:
    """What a client is told in an episode with these actions."""
    texts = [text_of(await client.call_tool("begin", {"task_id": run.task_id}))]
    for action in run.actions:
        texts.append(text_of(await client.call_tool("act", {"action": action})))
    return texts


def asking(server: Any, ask: Callable[..., Awaitable[None]], n: int = 1, **options: Any) -> None:
    """Run a function of some clients of a server, which are connected side by side."""

    async def main() -> None:
        async with AsyncExitStack() as opened:
            await ask(*[await opened.enter_async_context(Client(server, **options)) for _ in range(n)])

    anyio.run(main)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_episode_is_the_conversation_and_its_outcome_goes_to_the_server_alone(mode: str) -> None:
    ended: list[ChatOutcome] = []
    runs = [solved(0), shopped(1)]

    async def ask(client: Client) -> None:
        for run in runs:
            texts, outcome = said(run, "tool")
            assert await played(client, run) == texts
            assert texts[-1] == OVER
            assert ended[-1] == outcome
            assert outcome.reward == sum(run.rewards)
            assert text_of(await client.call_tool("act", {"action": "click[buy now]"})) == OVER

    asking(mcp_server(SHOP, on_end=ended.append), ask, mode=mode)
    assert [outcome.task_id for outcome in ended] == [run.task_id for run in runs]
    assert ended[0].success


def test_a_text_does_not_tell_how_an_episode_was_scored() -> None:
    """The same actions but for the last, which buys the right or the wrong thing, are answered alike."""
    right = solved(3)
    wrong = right._replace(task_id=solved(4).task_id)

    async def ask(client: Client) -> None:
        assert (await played(client, right))[-1] == (await played(client, wrong))[-1]

    ended: list[ChatOutcome] = []
    asking(mcp_server(SHOP, on_end=ended.append), ask)
    assert ended[0].reward == 1 > ended[1].reward


@pytest.mark.parametrize("env_id", KEYLESS)
def test_no_text_has_gold(env_id: str) -> None:
    """Neither what is seen nor a preview, with aimless answers and with those that solve the task."""
    env: Any = gym.make(env_id)
    task_id = env.unwrapped.task_ids[0]

    async def ask(client: Client) -> None:
        for answers in (aimless(env), solving(env, task_id)):
            texts = [text_of(await client.call_tool("begin", {"task_id": task_id, "seed": 0}))]
            for answer in answers:
                shown = text_of(await client.call_tool("preview", {"action": answer}))
                if "It would end the task" not in shown:  # that page is the world's own, without the score
                    texts.append(shown)
                texts.append(text_of(await client.call_tool("act", {"action": answer})))
            assert gold_in(Told(texts, answers), env, task_id) == []

    asking(mcp_server(env_id, preview=True), ask)
    env.close()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_two_sessions_do_not_meet(mode: str) -> None:
    async def ask(one: Client, other: Client) -> None:
        await meet_nobody(one, other)

    asking(mcp_server(SHOP), ask, n=2, mode=mode)


async def meet_nobody(one: Client, other: Client) -> None:
    """Play two tasks in turns, with calls of both clients at the same time."""
    games = [(client, run, list[str]()) for client, run in ((one, solved(0)), (other, solved(5)))]
    for client, run, told in games:
        told.append(text_of(await client.call_tool("begin", {"task_id": run.task_id})))
    for place in range(max(len(run.actions) for _, run, _ in games)):
        async with anyio.create_task_group() as group:
            for client, run, told in games:
                if place < len(run.actions):
                    group.start_soon(act, client, run.actions[place], told)
    for _, run, told in games:
        assert told == said(run, "tool")[0]


async def act(client: Client, action: str, told: list[str]) -> None:
    told.append(text_of(await client.call_tool("act", {"action": action})))


def test_calls_of_one_session_at_the_same_time_are_taken_one_after_another() -> None:
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
        await client.call_tool("begin", {"seed": 0})
        told: list[str] = []
        async with anyio.create_task_group() as group:
            for number in range(14):
                group.start_soon(act, client, f"search[tea {number}]", told)
        left = sorted(int(found[1]) for text in told if (found := re.search(r"Actions left: (\d+)", text)))
        assert left == list(range(1, 15))

    gym.register("Slow-v0", lambda **options: Slow(gym.make(SHOP, disable_env_checker=True, **options)))
    try:
        asking(mcp_server("Slow-v0"), ask)
    finally:
        del gym.registry["Slow-v0"]
    assert most == [0, 1]


def test_a_preview_shows_what_an_action_would_lead_to_and_moves_nothing() -> None:
    run = solved(0)

    async def ask(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"begin", "act", "preview"}
        texts = [text_of(await client.call_tool("begin", {"task_id": run.task_id}))]
        for action in run.actions:
            shown = text_of(await client.call_tool("preview", {"action": action}))
            texts.append(text_of(await client.call_tool("act", {"action": action})))
            page = texts[-1].partition("Now you see:\n")[2].partition("\n\n")[0]
            assert page in shown
        assert "It would end the task. How that is scored is not known." in shown
        assert texts == said(run, "tool")[0]
        assert text_of(await client.call_tool("preview", {"action": "search[tea]"})) == OVER
        await client.call_tool("begin", {})
        assert "expected an action" in text_of(await client.call_tool("preview", {"action": "well"}))

    asking(mcp_server(SHOP, preview=True), ask)


def test_what_a_client_can_mend_is_told_in_our_words_and_the_session_goes_on() -> None:
    async def ask(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"begin", "act"}
        early = await client.call_tool("act", {"action": "search[tea]"})
        unknown = await client.call_tool("begin", {"task_id": "test-9999"})
        assert early.is_error
        assert "expected begin before anything else" in early.content[0].text
        assert unknown.is_error
        assert "expected a known task_id, got 'test-9999'" in unknown.content[0].text
        begun = text_of(await client.call_tool("begin", {"task_id": "test-0001"}))
        assert (await client.call_tool("begin", {"task_id": "test-9999"})).is_error
        assert "Actions left: 14." in text_of(await client.call_tool("act", {"action": "search[tea]"}))
        assert "Actions left: 15." in begun

    ended: list[ChatOutcome] = []
    asking(mcp_server(SHOP, on_end=ended.append), ask)
    assert [(outcome.task_id, outcome.steps, outcome.stop_reason) for outcome in ended] == [("test-0001", 1, "")]


def test_an_environment_lives_as_long_as_its_session() -> None:
    with watched() as made:
        server = mcp_server("Watched-v0", split="dev")
        assert [one.closed for one in made] == [True]  # the one that was made to look at it

        async def ask(one: Client, other: Client) -> None:
            for client in (one, other, one):
                assert "Now you see" in text_of(await client.call_tool("begin", {"seed": 0}))
            assert [env.closed for env in made] == [True, False, False]

        asking(server, ask, n=2)
        assert [env.closed for env in made] == [True, True, True]


def test_over_stdin_and_stdout_a_client_starts_the_command(tmp_path: Path) -> None:
    run, outcomes = solved(0), tmp_path / "outcomes.jsonl"
    options = ["--preview", "--outcomes", str(outcomes), "--split", "dev", "--env-arg", "max_steps=20"]
    started = StdioServerParameters(command=sys.executable, args=[*COMMAND, *options], cwd=ROOT)

    async def main() -> None:
        with (tmp_path / "stderr").open("w") as errors:
            async with Client(stdio_client(started, errlog=errors)) as client:
                assert {tool.name for tool in (await client.list_tools()).tools} == {"begin", "act", "preview"}
                assert (await played(client, run))[-1] == OVER
                assert "Actions left: 20." in text_of(await client.call_tool("begin", {"seed": 1}))

    anyio.run(main)
    lines = [json.loads(line) for line in outcomes.read_text().splitlines()]
    assert [(line["success"], line["stop_reason"]) for line in lines] == [(True, "done"), (False, "")]
    assert lines[1]["task_id"].startswith("dev-")
    assert (tmp_path / "stderr").read_text().splitlines() == [
        f"{SHOP} is open to an MCP client at stdin and stdout.",
        "Press Ctrl-C to stop.",
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_session_and_the_command_though_stdin_stays_open(number: int, tmp_path: Path) -> None:
    outcomes = tmp_path / "outcomes.jsonl"
    words = [sys.executable, *COMMAND, "--outcomes", str(outcomes)]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    sent = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "begin", "arguments": {"seed": 0}}},
    ]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in sent:
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
        await one.call_tool("begin", {"task_id": "test-0001"})

    with command("--mcp", "--port", 0, "--outcomes", outcomes) as (_, address):
        asking(address, ask, n=2)
        wait_for(lambda: len(outcomes.read_text().splitlines()) == 3)  # the client doesn't wait for the session's end
    reasons = [json.loads(line)["stop_reason"] for line in outcomes.read_text().splitlines()]
    assert sorted(reasons) == ["", "done", "done"]


def test_over_http_a_request_without_a_session_is_refused_with_the_versions_that_have_one() -> None:
    async def ask(client: Client) -> None:
        with pytest.raises(MCPError, match="expected a protocol version with sessions"):
            await client.call_tool("begin", {"seed": 0})

    with command("--mcp", "--port", 0) as (_, address):
        asking(address, ask, mode="2026-07-28")


def test_a_client_that_is_still_connected_does_not_keep_the_server() -> None:
    told: list[str] = []

    async def ask(client: Client) -> None:
        told.append(text_of(await client.call_tool("begin", {"seed": 0})))
        await anyio.to_thread.run_sync(opened.close)
        told.append("closed")

    opened = ExitStack()
    asking(opened.enter_context(command("--mcp", "--port", 0))[1], ask)
    assert told[1:] == ["closed"]


def test_over_http_a_page_of_another_site_is_refused() -> None:
    with command("--mcp", "--port", 0) as (_, address):
        for header, value in (("Host", "shop.example"), ("Origin", "http://shop.example")):
            request = urllib.request.Request(address, data=b"{}", headers={header: value})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=20)
            with refused.value as answer:
                assert (answer.code, answer.read().partition(b",")[0]) == (
                    403,
                    f"expected the header {header} with an address of this machine".encode(),
                )


def test_pictures_are_sent_as_pictures() -> None:
    red = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{red}"}}
    content = contents([{"role": "user", "content": [picture, {"type": "text", "text": "Draw it."}]}])
    assert content[1] == "Draw it."
    assert (content[0].to_image_content().data, content[0].to_image_content().mime_type) == (red, "image/png")


def test_the_pages_first_example_runs() -> None:
    said: list[str] = []
    block = compile(page_block("frameworks.md", "mcp_server"), "page", "exec")
    exec(block, {"print": lambda *texts: said.append(" ".join(map(str, texts)))})
    assert "Now you see" in said[0]

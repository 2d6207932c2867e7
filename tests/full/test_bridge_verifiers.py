"""The tasks and the environment for verifiers, with the library itself and a model's endpoint on this machine."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest

pytest.importorskip("verifiers.v1", reason="the package verifiers is not installed: make bridges BRIDGES=verifiers")

from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.cli.validate import run_validate
from verifiers.v1.configs.cli.eval import EvalConfig
from verifiers.v1.configs.cli.validate import ValidateConfig

from iad_policy.bridges.verifiers import MAX_TURNS, ConversationEnvConfig
from tests.contract.rule_based import made
from tests.full.played import BASH, KEYLESS, SHOP, Answerer, begun_children, each_environment, opening
from tests.full.processes import ROOT, examples, needing, told
from tests.iad_policy.bridges.gold import texts_of
from tests.iad_policy.models.openai_server import Reply, completion, serving
from tests.security.bash_sandboxes import children

pytestmark = [*needing("verifiers", how="make bridges BRIDGES=verifiers"), pytest.mark.timeout(300)]
HERE = ROOT / "tests" / "full"
BIN = Path(sys.executable).parent
IN_PROCESS = {"harness": {"id": "vf-arithmetic"}}
"""The harness of the tests: see `vf_arithmetic.py`."""
SEARCH = completion("Action: search[shirt]")


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library writes below the home folder, and finds our harness."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(ROOT)]))
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.chdir(tmp_path)


def config_of(address: str, out: Path, player: Mapping[str, Any] = IN_PROCESS, **taskset: Any) -> Any:
    env = {"taskset": {"id": "iad-verifiers", **taskset}, "player": player}
    given = {"env": env, "model": "toy", "client": {"base_url": address}, "output_dir": str(out)}
    return EvalConfig.model_validate({**given, "push": False, "rich": None})


def results(folder: Path) -> dict[str, dict[str, Any]]:
    """The episodes in a run's file, by task."""
    (file,) = folder.rglob("traces.jsonl")
    episodes = [json.loads(line) for line in file.read_text().splitlines()]
    assert {(episode["ok"], len(episode["traces"])) for episode in episodes} <= {(True, 1)}
    return {episode["task"]["data"]["id"]: episode["traces"][0] for episode in episodes}


def evaluated(folder: Path, reply_to: Callable[[dict[str, Any]], Reply], **given: Any) -> Any:
    """What is in the file of a run with an endpoint that replies so, by task, and the endpoint's requests."""
    with serving() as server:
        server.reply_to = reply_to
        asyncio.run(run_eval(config_of(server.address, folder, **given)))
        return results(folder), server.requests


def answering(answerer: Answerer) -> Callable[[dict[str, Any]], Reply]:
    return lambda request: Reply(completion(answerer.reply(request["messages"])))


@each_environment
def test_rewards_metrics_and_messages_are_those_of_a_plain_loop(env_id: str, tmp_path: Path) -> None:
    answerer = Answerer(env_id, 2)
    found, requests = evaluated(tmp_path, answering(answerer), env_id=env_id, n_tasks=2)
    assert {task_id: trace["metrics"] for task_id, trace in found.items()} == answerer.metrics()
    for first, played in answerer.episodes.items():
        trace = found[played.task_id]
        assert {name: its["score"] for name, its in trace["rewards"].items()} == {"reward": played.metrics["reward"]}
        assert trace["stop_condition"] == played.stop_reason
        last = max((one["messages"] for one in requests if opening(one["messages"]) == first), key=len)
        assert texts_of(last) == played.told.texts
        assert answerer.gold[played.task_id] == []
    assert {played.metrics["success"] for played in answerer.episodes.values()} == {0.0, 1.0}


def validated(folder: Path, taskset: Mapping[str, Any], **given: Any) -> list[dict[str, Any]]:
    options = {"taskset": {"id": "iad-verifiers", **taskset}, "runtime": {"type": "subprocess"}, "rich": False, **given}
    config = ValidateConfig.model_validate({**options, "output_dir": str(folder)})
    (folder / config.run.dir).mkdir(parents=True)
    return list(asyncio.run(run_validate(config)))


@each_environment
def test_gold_is_valid_and_doing_nothing_is_not(env_id: str, tmp_path: Path) -> None:
    made(env_id).close()
    rows = validated(tmp_path, {"env_id": env_id, "n_tasks": 2})
    assert [(row["reason"], row["gold"]["valid"], row["noop"]["reward"]) for row in rows] == [("valid", True, 0.0)] * 2
    if "WebShop" in env_id:
        short = {"n_tasks": 1, "env_args": {"max_steps": 1}}  # in which its gold does not solve the task
        assert [row["reason"] for row in validated(tmp_path / "short", short, only_gold=True)] == ["invalid"]


def test_killed_and_resumed_nothing_that_is_finished_is_asked_again(tmp_path: Path) -> None:
    answerer, held, n_finished = Answerer(SHOP, 5), Event(), 2
    options = f"iad-verifiers --env.taskset.env-id {SHOP} -n 5 -c 1 --no-rich --no-push --run.name shopping --model toy"
    command = [str(BIN / "vf-eval"), *options.split(), "--env.player.harness.id", "vf-arithmetic", "-o", str(tmp_path)]
    n_turns = [(first, len(played.told.answers)) for first, played in answerer.episodes.items()]

    def until_the_third(request: dict[str, Any]) -> Reply:
        if opening(request["messages"]) != n_turns[n_finished][0]:
            return answering(answerer)(request)
        held.set()
        return Reply(hold=Event())

    with serving() as server:
        server.reply_to = until_the_third
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([*command, "--client.base-url", server.address], **quiet) as process:
            assert held.wait(100)
            process.send_signal(signal.SIGKILL)
        assert len(results(tmp_path)) == n_finished
        assert len(server.requests) == 1 + sum(n for _, n in n_turns[:n_finished])
        server.reply_to = answering(answerer)
        server.requests.clear()
        saved = tmp_path / "shopping" / "configs" / "resolved" / "eval.json"
        told([command[0], "@", saved, "--resume"], cwd=tmp_path, path=[HERE])
        asked = Counter(opening(request["messages"]) for request in server.requests)
    assert asked == dict(n_turns[n_finished:])
    assert {task: trace["metrics"] for task, trace in results(tmp_path).items()} == answerer.metrics()


def test_a_cancelled_episode_leaves_no_process(tmp_path: Path) -> None:
    asked, before = Event(), begun_children()

    def hanging(request: dict[str, Any]) -> Reply:
        asked.set()
        return Reply(hold=Event())

    async def cancelled(config: Any) -> None:
        running = asyncio.create_task(run_eval(config))
        assert await asyncio.to_thread(asked.wait, 30)
        assert children(os.getpid()) - before
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert children(os.getpid()) - before == set()

    with serving() as server:
        server.reply_to = hanging
        asyncio.run(cancelled(config_of(server.address, tmp_path, env_id=BASH, n_tasks=2)))


CUT = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "Action: search[red s"}}


def test_how_an_episode_ends_and_begins_is_an_option(tmp_path: Path) -> None:
    """An answer that was cut off is no action, a limit of turns ends an episode, and a system prompt is another one."""
    (tmp_path / "prompt.txt").write_text("Shop well.")
    prompt = {"env_args": {"max_steps": 2}, "system_prompt": str(tmp_path / "prompt.txt")}
    limited = {"player": {**IN_PROCESS, "max_turns": 3}}
    for answer, given, reason, name, value in (
        (completion(None, choices=[CUT]), prompt, "max_steps", "invalid", 2.0),
        (SEARCH, limited, "max_turns", "steps", 3.0),
    ):
        found, requests = evaluated(tmp_path / name, lambda request, answer=answer: Reply(answer), n_tasks=1, **given)
        (trace,) = found.values()
        assert (trace["stop_condition"], trace["metrics"][name]) == (reason, value)
        is_own = requests[0]["messages"][0] == {"role": "system", "content": "Shop well."}
        assert is_own == (given is prompt)
    assert max(made(env_id).unwrapped.max_steps for env_id in KEYLESS if "Sketch" not in env_id) < MAX_TURNS  # type: ignore[attr-defined]
    player = ConversationEnvConfig().player
    assert (player.runtime.type, player.harness.id, player.max_turns) == ("subprocess", "null", MAX_TURNS)


@pytest.mark.parametrize("place", [0, 1])
def test_the_examples_of_the_page_run(place: int, tmp_path: Path) -> None:
    """With this machine's endpoint, and a harness that installs nothing."""
    lines = "\n".join(examples("frameworks.md", language="sh")).replace("\\\n", " ").splitlines()
    commands = [line for line in lines if line.startswith("vf-")]
    with serving() as server:
        server.script(Reply(SEARCH))
        words = shlex.split(commands[place].replace("http://localhost:8000/v1", server.address))
        if words[0] == "vf-eval":
            words += ["--env.player.harness.id", "vf-arithmetic"]
        told([BIN / words[0], *words[1:], "-o", tmp_path], cwd=tmp_path, path=[HERE])
    assert server.requests or words[0] == "vf-validate"

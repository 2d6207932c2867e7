"""Episodes in a plain loop, which what a bridge does is compared with, and what tests of servers have in common."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple

import gymnasium as gym
import pytest

from iad_envs import ENVIRONMENTS
from iad_policy import IADPolicyWrapper
from iad_policy.bridges.chat import Chat, ChatOutcome
from tests.contract.rule_based import made
from tests.full.processes import ROOT
from tests.iad_policy.bridges.gold import Told, aimless, gold_in, solving, texts_of
from tests.iad_policy.playing import play
from tests.security.bash_sandboxes import children

SHOP, BASH = "IAD/WebShop-v0", "IAD/InterCodeBash-v0"
KEYLESS = [name for name in ENVIRONMENTS if "Browser" not in name]
"""Environments without a browser in which one acts."""
NO_PICTURES = pytest.mark.skipif(find_spec("cv2") is None, reason="OpenCV is not installed: iad[sketch2code]")
ROWS = [pytest.param(name, marks=[NO_PICTURES] if "Sketch" in name else []) for name in KEYLESS]
each_environment = pytest.mark.parametrize("env_id", ROWS)


class Played(NamedTuple):
    """An episode in a plain loop: what the model was told and said in it, and its outcome."""

    task_id: str
    told: Told
    metrics: Mapping[str, float]
    stop_reason: str


def opening(messages: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """What tells an episode from others: the texts and pictures of its first message from the user."""
    content = next(message["content"] for message in messages if message["role"] == "user")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return tuple(part["text"] if part["type"] == "text" else part["image_url"]["url"] for part in parts)


class Answerer:
    """Knows what to say in every episode of the first n tasks: the first is solved, the next not, and so on."""

    def __init__(self, env_id: str, n: int) -> None:
        self.episodes: dict[tuple[str, ...], Played] = {}
        self.gold: dict[str, list[str]] = {}
        env = made(env_id)
        try:
            world: Any = env.unwrapped
            for place, task_id in enumerate(world.task_ids[:n]):
                wanted = aimless(env) if place % 2 else solving(env, task_id)
                self._play(env, task_id, wanted)
        finally:
            env.close()

    def reply(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The next answer in a conversation."""
        n_said = sum(message["role"] == "assistant" for message in messages)
        return self.episodes[opening(messages)].told.answers[n_said]

    def metrics(self) -> dict[str, Mapping[str, float]]:
        """What an episode of each task is scored."""
        return {played.task_id: played.metrics for played in self.episodes.values()}

    def _play(self, env: gym.Env[Any, Any], task_id: str, wanted: Sequence[str]) -> None:
        chat = Chat(env)
        messages = chat.begin(task_id=task_id, seed=0)
        texts, answers = texts_of(messages), []
        while not chat.done:
            answers.append(wanted[len(answers)] if len(answers) < len(wanted) else wanted[-1])
            texts.append(chat.say(answers[-1]))
        told = Told(texts[:-1], answers)  # the closing line is for those who go on asking
        self.episodes[opening(messages)] = Played(task_id, told, chat.outcome.metrics, chat.outcome.stop_reason)
        self.gold[task_id] = gold_in(told, env, task_id)


def begun_children() -> set[int]:
    """The processes below this one once the one that starts sandboxes is there, which stays."""
    with Chat(BASH) as chat:
        chat.begin(seed=0)
    return children(os.getpid())


class PlainRun(NamedTuple):
    """An episode in a plain loop: its actions, the reward of each step, and how it ended."""

    task_id: str
    actions: tuple[str, ...]
    rewards: tuple[float, ...]
    progress: float


def solved(seed: int, agent: str = "solution", **env_args: Any) -> PlainRun:
    """The episode of a seed, with the purchase that is wanted, or with what another agent does."""
    env = gym.make(SHOP, **env_args)
    with IADPolicyWrapper(agent, env, strategy="single") as policy:
        actions, _, info = play(env, policy, seed=seed)
    task_id = str(info["task_id"])
    env.reset(options={"task_id": task_id})
    steps = [env.step(action) for action in actions]
    assert steps[-1][2] or steps[-1][3]
    return PlainRun(task_id, tuple(actions), tuple(float(step[1]) for step in steps), steps[-1][4]["progress"])


def said(run: PlainRun, style: str) -> tuple[list[str], ChatOutcome]:
    """What a conversation says in an episode, from its first messages to its closing line, and how that ended."""
    with Chat(SHOP, style) as chat:
        messages = chat.begin(task_id=run.task_id)
        texts = ["\n\n".join(message["content"] for message in messages)]
        return texts + [chat.say(action) for action in run.actions], chat.outcome


@contextmanager
def command(kind: str, *options: object) -> Iterator[tuple[Any, str]]:
    """A running `iad serve --mcp` or `--openenv` of the shop over HTTP, and its address.

    It must end by itself when it is told to, and say nothing.
    """
    words = [sys.executable, "-m", "iad_policy.cli", "serve", kind, SHOP, *map(str, options)]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        lines = "".join(iter(process.stdout.readline, "Press Ctrl-C to stop.\n"))
        found = re.search(r"IAD/WebShop-v0 is open to \w+ clients at (http://127.0.0.1:\d+(?:/mcp)?)\n", lines)
        assert found, lines
        yield process, found[1]
    finally:
        process.terminate()
        rest, _ = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, "")


class Watched(gym.Wrapper[Any, Any, Any, Any]):
    """Tells whether it is closed, and how many were in a step of it at the same time."""

    closed, n_inside, most_inside = False, 0, 0

    def step(self, action: Any) -> Any:
        self.n_inside += 1
        self.most_inside = max(self.most_inside, self.n_inside)
        time.sleep(0.02)
        result = super().step(action)
        self.n_inside -= 1
        return result

    def close(self) -> None:
        self.closed = True
        super().close()


@contextmanager
def watched() -> Iterator[list[Watched]]:
    """The environments that are made by the id `Watched-v0`."""
    made: list[Watched] = []

    def entry(**options: Any) -> Any:
        made.append(Watched(gym.make(SHOP, disable_env_checker=True, **options)))
        return made[-1]

    gym.register("Watched-v0", entry)
    try:
        yield made
    finally:
        del gym.registry["Watched-v0"]

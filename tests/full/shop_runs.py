"""Episodes of the shop as plain loops, which what a bridge serves is compared with, and what servers have in common."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import gymnasium as gym

from iad_policy import IADPolicyWrapper
from iad_policy.bridges.chat import Chat, ChatOutcome
from tests.full.processes import ROOT
from tests.iad_policy.playing import play

SHOP, BASH = "IAD/WebShop-v0", "IAD/InterCodeBash-v0"


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

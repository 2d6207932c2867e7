"""Episodes that the tests of bridges play in a plain loop, and a model that gives the same answers elsewhere."""

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import gymnasium as gym
import pytest

from iad_envs import ENVIRONMENTS
from iad_policy.bridges.chat import Chat
from tests.contract.rule_based import made
from tests.full.shop_runs import BASH
from tests.iad_policy.bridges.gold import Told, aimless, gold_in, solving, texts_of
from tests.security.bash_sandboxes import children

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

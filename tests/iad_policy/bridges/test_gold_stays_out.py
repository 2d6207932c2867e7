"""Gold leaves a bridge as reward and metrics, never in a text that a model reads."""

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym
import pytest

from iad_envs import ENVIRONMENTS
from iad_policy.bridges.chat import Chat
from tests.contract.rule_based import made
from tests.iad_policy.bridges.gold import Told, aimless, gold_in, solving, texts_of

SLOW = ("IAD/WebShopBrowser-v0", "IAD/BookingBrowser-v0")
"""Environments with a browser whose texts are those of the others."""
KEYLESS = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in ENVIRONMENTS]
SEED = 0


def by_chat(env: gym.Env[Any, Any], task_id: str, answers: Sequence[str]) -> Told:
    """Bridges whose libraries exclude each other are held to the same by tests/full/test_bridge_*.py."""
    chat = Chat(env)
    texts = texts_of(chat.begin(task_id=task_id, seed=SEED))
    return Told([*texts, *(chat.say(answer) for answer in answers)], answers)


@pytest.fixture(scope="module")
def env(request: pytest.FixtureRequest) -> Iterator[gym.Env[Any, Any]]:
    env = made(request.param)
    yield env
    env.close()


@pytest.mark.parametrize("env", KEYLESS, indirect=True)
def test_no_message_has_gold_and_gold_in_one_would_be_found(env: gym.Env[Any, Any]) -> None:
    world: Any = env.unwrapped
    task_id = world.task_ids[1]
    for answers in ([*solving(env, task_id, SEED), "and now?"], aimless(env)):
        told = by_chat(env, task_id, answers)
        assert len(told.texts) == 2 + len(answers)
        assert gold_in(told, env, task_id, SEED) == []
    gold = world.oracle(world.snapshot())
    for secret in (str(gold["reference"]), str(gold["solution"])):
        assert gold_in(Told([*told.texts, secret], told.answers), env, task_id, SEED)


def test_a_score_in_a_message_is_found() -> None:
    with Chat("IAD/WebShop-v0", style="direct") as chat:
        task_id = chat.task_ids[0]
        answers = ["Action: search[kids headphones]", "", "Action: click[buy now]"]
        texts = texts_of(chat.begin(task_id=task_id, seed=SEED))
        texts.append(chat.say(answers[0]))
        answers[1] = f"Action: {chat.state.info['available_actions'][2]}"
        texts.extend(chat.say(answer) for answer in answers[1:])
        assert 0.0 < chat.reward < 1.0
        told = Told(texts, answers)
        assert gold_in(told, chat.env, task_id, SEED) == []
        for leak in (f"You got {chat.reward:.3f}.", f"Score: {100 * chat.reward:.2f} %", str(chat.state.observation)):
            assert gold_in(Told([*texts, leak], answers), chat.env, task_id, SEED), leak

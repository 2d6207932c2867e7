"""The environments of TRL's trainer, without TRL: what it calls, and what a model reads."""

import gc
import inspect
import re
import sys
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

import iad_envs  # noqa: F401 (registers)
from iad_policy.bridges.chat import OVER, Chat
from iad_policy.bridges.trl import METRICS, GRPOEnvironment, grpo_dataset, grpo_environment, grpo_rows, log_outcomes
from iad_policy.errors import MissingExtra

SHOP = "IAD/WebShop-v0"


class CountedPole(CartPoleEnv):
    """A foreign environment without tasks or splits, whose actions are numbers."""

    n_closed = 0

    def close(self) -> None:
        type(self).n_closed += 1


@pytest.fixture(scope="module", autouse=True)
def pole() -> Any:
    gym.register("Pole-v0", entry_point=CountedPole, max_episode_steps=3)
    yield "Pole-v0"
    del gym.registry["Pole-v0"]


def task_ids() -> list[str]:
    return [row["task_id"] for row in grpo_rows(SHOP, n=3)]


def bought(environment: GRPOEnvironment, task_id: str) -> tuple[list[str], list[str]]:
    """Buy the first product that a search finds; return the actions, and every text that a model reads."""
    texts = [str(environment.reset(task_id=task_id, seed=0))]
    wanted = " ".join(texts[0].partition("Instruction: ")[2].split()[:12])
    actions = [f"search[{wanted}]"]
    texts.append(environment.act(actions[0]))
    product = re.findall(r"^\[(\w+)\]", texts[1], re.MULTILINE)[0]
    actions += [f"click[{product}]", "click[buy now]"]
    return actions, [*texts, *(environment.act(action) for action in actions[1:])]


def test_the_only_tool_is_act() -> None:
    kind = grpo_environment(SHOP)
    methods = [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]
    assert methods == ["act", "get_reward", "reset"]
    assert kind.__name__ == "WebShop"
    assert list(inspect.signature(kind.act).parameters) == ["self", "action"]
    assert re.search(r"^Args:\n +action: \S", inspect.getdoc(kind.act) or "", re.MULTILINE)


def test_an_episode_is_that_of_a_chat_with_the_environments_reward() -> None:
    environment = grpo_environment(SHOP, page_size=3)()
    rewards = set()
    for task_id in task_ids():
        actions, texts = bought(environment, task_id)
        with Chat(SHOP, "tool", split="train", page_size=3) as chat:
            first = chat.begin(task_id=task_id, seed=0)[-1]["content"]
            assert texts == [first, *(chat.say(action) for action in actions)]
            assert environment.get_reward() == chat.reward
            assert environment.outcome == chat.outcome
        assert texts[-1] == OVER
        assert [environment.act(action) for action in ("search[shirt]", "click[buy now]", "")] == [OVER] * 3
        assert environment.outcome == chat.outcome
        plain = gym.make(SHOP, split="train", page_size=3)
        plain.reset(options={"task_id": task_id})
        assert environment.get_reward() == sum(float(plain.step(action)[1]) for action in actions)
        rewards.add(environment.get_reward())
    assert rewards != {0.0}


def test_what_is_no_action_costs_a_step() -> None:
    environment = grpo_environment(SHOP, max_steps=2)()
    for answer in ("", "I will think.", "click[nothing]", {"a": 1}, 3, None):
        environment.reset(seed=0)
        text = environment.act(answer)  # type: ignore[arg-type]
        assert all(part in text for part in ("not valid here", "Actions left: 1."))
        assert (environment.outcome.steps, environment.outcome.invalid) == (1, 1)
        assert environment.act(answer) == OVER  # type: ignore[arg-type]
        assert environment.outcome.stop_reason == "max_steps"


def test_an_action_that_is_no_text_is_read_and_a_freed_object_closes_its_environment(pole: str) -> None:
    environment = grpo_environment(pole, split=None)()
    environment.reset(seed=4)
    environment.act(0)  # type: ignore[arg-type]
    assert (environment.get_reward(), environment.outcome.invalid) == (1, 0)
    gc.collect()
    before = CountedPole.n_closed
    del environment
    gc.collect()
    assert CountedPole.n_closed == before + 1


def test_a_sketch_is_a_picture_as_trl_takes_it() -> None:
    images = pytest.importorskip("PIL.Image")
    picture, text = grpo_environment("IAD/Sketch2Code-v0")().reset(seed=0)
    assert isinstance(picture, dict)
    assert isinstance(text, dict)
    assert (picture["type"], text["type"]) == ("image", "text")
    assert isinstance(picture["image"], images.Image)
    assert picture["image"].size[0] > 100


def test_rows_are_the_tasks_of_the_split_with_what_is_said_once() -> None:
    rows = grpo_rows(SHOP)
    with Chat(SHOP, "tool", split="train") as chat:
        assert [row["task_id"] for row in rows] == list(chat.task_ids)
        system, user = chat.begin(task_id=rows[5]["task_id"])
    expected = {"prompt": [system, {"role": "user", "content": ""}], "seed": 0}
    assert all(row == {**expected, "task_id": row["task_id"]} for row in rows)
    environment = grpo_environment(SHOP)()
    assert environment.reset(**rows[5]) == user["content"]
    assert environment.outcome.task_id == rows[5]["task_id"]
    n = len(rows)
    more = grpo_rows(SHOP, n=n + 2, seed=7, environment="shop")
    assert [row["task_id"] for row in more] == [row["task_id"] for row in (*rows, *rows[:2])]
    assert [row["seed"] for row in more] == [7] * n + [8] * 2
    assert {row["environment"] for row in more} == {"shop"}
    assert grpo_rows(SHOP, split="test", n=1) != grpo_rows(SHOP, n=1)


@pytest.mark.parametrize("name", ["WebShop", "InterCodeBash", "BIRD", "Booking", "BFCL", "ACEBench"])
def test_what_is_said_once_is_the_same_for_every_task(name: str) -> None:
    with Chat(f"IAD/{name}-v0", "tool", split="train") as chat:
        ids = chat.task_ids
        first, *others = [chat.begin(task_id=task_id)[:-1] for task_id in (ids[0], ids[len(ids) // 2], ids[-1])]
    assert others == [first] * 2


def test_an_environment_without_tasks_is_picked_by_seed(pole: str) -> None:
    rows = grpo_rows(pole, split=None, n=3, seed=5)
    assert [(row["task_id"], row["seed"]) for row in rows] == [(None, 5), (None, 6), (None, 7)]
    environment = grpo_environment(pole, split=None)()
    assert environment.reset(**rows[1]) == environment.reset(seed=6) != environment.reset(seed=5)
    for n, said in ((None, "pass n="), (0, "1 row or more")):
        with pytest.raises(ValueError, match=said):
            grpo_rows(pole, split=None, n=n)


def test_outcomes_are_logged_and_give_no_reward() -> None:
    one, other = grpo_environment(SHOP)(), grpo_environment(SHOP)()
    bought(one, task_ids()[0])
    other.reset(seed=0)
    other.act("nothing")
    logged: list[tuple[str, float]] = []
    given = log_outcomes([one, other, object()], lambda name, value: logged.append((name, value)), prompts=[])
    assert given == [None] * 3
    assert logged == [(f"WebShop/{name}", it.outcome.metrics[name]) for it in (one, other) for name in METRICS]
    assert ("WebShop/invalid", 1.0) in logged


def test_without_the_package_of_datasets_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"\[trl\]"):
        grpo_dataset(SHOP)

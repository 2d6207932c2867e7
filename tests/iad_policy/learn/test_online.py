"""Training on episodes that the policy plays while it learns."""

import json
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from iad_policy.errors import UnknownName
from iad_policy.learn.play import PlayedEpisode, play
from iad_policy.learn.recipes.ppo import PolicyOptimisation
from iad_policy.learn.train import train
from iad_policy.trained.backends.numeric import WEIGHTS
from iad_policy.trained.models import TRAINING, Model, ModelFolderError
from iad_policy.types import Candidate, State
from tests.iad_policy.learn.bandits import policy, probabilities, pull
from tests.iad_policy.learn.conftest import SHOP

SMALL: dict[str, Any] = {"updates": 3, "tasks": 3, "group": 3}


def pulled(arm: int, reward: float, task: str, model: Any) -> PlayedEpisode:
    row = pull(arm)
    return PlayedEpisode(task, (row,), model.outputs(model.batch([row])), np.array([reward]), np.zeros(1))


@pytest.mark.parametrize("advantage", ["grpo", "gigpo"])
def test_on_a_bandit_the_better_arm_wins(advantage: Any) -> None:
    recipe = PolicyOptimisation(advantage=advantage, kl=0.0)
    model, rng = policy([0.7, 0.3], rate=0.05), np.random.default_rng(0)
    start = model.copy()
    for _ in range(60):
        arms = rng.choice(2, 16, p=probabilities(model))
        episodes = [pulled(int(arm), [0.2, 0.8][arm], "task", model) for arm in arms]
        examples = recipe.examples(episodes, recipe.advantages(episodes, None), start)
        if examples is not None:
            batch = model.batch(examples.rows)
            for _ in range(recipe.passes):
                model.step(batch, examples.objective, examples.stored)
    assert probabilities(model)[1] > 0.95


def test_groups_of_equal_rewards_teach_nothing() -> None:
    recipe, model = PolicyOptimisation(advantage="grpo"), policy([0.5, 0.5])
    equal = [pulled(arm, 1.0, "task", model) for arm in (0, 1, 1)]
    assert recipe.examples(equal, recipe.advantages(equal, None), model) is None
    mixed = [*equal, pulled(0, 0.0, "other", model), pulled(1, 1.0, "other", model)]
    found = recipe.examples(mixed, recipe.advantages(mixed, None), model)
    assert found is not None
    assert found.stored["advantage"].tolist() == [-0.5, 0.5]


def test_a_refused_action_costs(cloned: Model) -> None:
    recipe = PolicyOptimisation(advantage="grpo", invalid=0.1)
    one, other = (
        PlayedEpisode("t", (pull(0),), np.zeros(1), np.zeros(1), np.array([refused])) for refused in (1.0, 0.0)
    )
    assert [own.tolist() for own in recipe.advantages([one, other], None)] == [[-0.05], [0.05]]


def test_episodes_are_those_of_the_environment(cloned: Model) -> None:
    env = gym.make(SHOP, split="train")
    tasks = env.unwrapped.task_ids[:2]  # type: ignore[attr-defined]

    def act(state: State, rng: Random) -> Candidate:
        return cloned.backend.sample(state, temperature=1.0, rng=rng)

    found = play(env, act, tasks, group=2, seed=1)
    assert [one.task for one in found] == [tasks[0]] * 2 + [tasks[1]] * 2
    for one in found:
        env.reset(options={"task_id": one.task})
        assert [env.step(row.action)[1] for row in one.rows] == pytest.approx(one.rewards)
        assert cloned.backend.outputs(cloned.backend.batch(one.rows)) == pytest.approx(one.logprobs, abs=1e-12)
    again = play(env, act, tasks, group=2, seed=1)
    assert [[row.action for row in one.rows] for one in again] == [[row.action for row in one.rows] for one in found]


@pytest.mark.parametrize("advantage", ["ppo", "grpo", "gigpo"])
def test_a_killed_training_ends_as_one_that_was_not(advantage: str, cloned: Model, tmp_path: Path) -> None:
    given = {"updates": 11, "tasks": 2, "group": 2, "advantage": advantage, "start": cloned.folder}
    whole = train("ppo", SHOP, out=tmp_path / "whole", **given)

    class Killed(Exception):
        pass

    def killing(text: str) -> None:
        raise Killed

    with pytest.raises(Killed):
        train("ppo", SHOP, out=tmp_path / "cut", report=killing, **given)
    assert len((tmp_path / "cut" / TRAINING).read_text().splitlines()) == 10
    again = train("ppo", SHOP, out=tmp_path / "cut", **given)
    assert again.identity == whole.identity
    assert (again.folder / TRAINING).read_text() == (whole.folder / TRAINING).read_text()
    assert (again.folder / WEIGHTS).read_bytes() == (whole.folder / WEIGHTS).read_bytes()
    lines = [json.loads(line) for line in (whole.folder / TRAINING).read_text().splitlines()]
    assert [line["n_episodes"] for line in lines] == [4] * 11


def test_the_model_says_which_tasks_it_played(cloned: Model, tmp_path: Path) -> None:
    known = train("ppo", SHOP, out=tmp_path, start=cloned.folder, **SMALL).trained_on
    assert set(cloned.trained_on["tasks"]) < set(known["tasks"])
    assert all(task.startswith("train-") for task in known["tasks"])
    assert known["n_episodes"] == 27


def test_it_needs_an_environment_and_a_start(cloned: Model, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="plays while it learns"):
        train("ppo", tmp_path, out=tmp_path / "m", start=cloned.folder)
    with pytest.raises(ModelFolderError, match="--from"):
        train("ppo", SHOP, out=tmp_path / "m")
    with pytest.raises(ValueError, match="advantage"):
        train("ppo", SHOP, out=tmp_path / "m", start=cloned.folder, advantage="trpo")

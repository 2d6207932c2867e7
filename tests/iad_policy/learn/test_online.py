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
from iad_policy.learn.recipes.ppo import PolicyOptimisation, discounted, generalised, grouped, grouped_by_state
from iad_policy.learn.train import train
from iad_policy.trained.backends.numeric import WEIGHTS
from iad_policy.trained.models import TRAINING, Model, ModelFolderError
from iad_policy.types import Candidate, State
from tests.iad_policy.learn.bandits import Killed, policy, probabilities, pull
from tests.iad_policy.learn.conftest import SHOP


def pulled(arm: int, reward: float, task: str, model: Any) -> PlayedEpisode:
    row = pull(arm)
    return PlayedEpisode(task, (row,), model.outputs(model.batch([row])), np.array([reward]), np.zeros(1))


def test_advantages_are_those_worked_by_hand() -> None:
    assert discounted(np.array([1.0, 0.0, 2.0]), 0.5) == pytest.approx([1.5, 1.0, 2.0])
    # Deltas: 0 + .9 * .6 - .5 = .04, and 1 - .6 = .4. The first is .04 + .9 * .8 * .4 = .328.
    found = generalised(np.array([0.0, 1.0]), np.array([0.5, 0.6]), gamma=0.9, lam=0.8)
    assert found == pytest.approx([0.328, 0.4])
    # Without discount and with lambda 1 they are the return minus the value.
    rewards, values = np.array([0.1, 0.0, 0.7]), np.array([0.3, 0.2, 0.9])
    assert generalised(rewards, values, gamma=1.0, lam=1.0) == pytest.approx([0.5, 0.5, -0.2])


def test_a_group_is_compared_with_its_mean_and_a_state_with_itself() -> None:
    returns = np.array([1.0, 0.0, 0.5, 0.5, 0.3])
    groups = ["a", "a", "b", "b", "c"]
    assert grouped(returns, groups) == pytest.approx([0.5, -0.5, 0.0, 0.0, 0.0])
    assert grouped(returns, groups, is_scaled=True) == pytest.approx([1.0, -1.0, 0.0, 0.0, 0.0])
    # Two episodes of a task that share the state s. Episodes: +.5 and -.5. In s: 1 and .2, so +.4 and -.4.
    whole, steps, states = np.array([1.0, 0.0]), [np.array([1.0, 1.0]), np.array([0.2])], [["s", "t"], ["s"]]
    one, other = grouped_by_state(whole, ["task", "task"], steps, states)
    assert (one, other) == (pytest.approx([0.9, 0.5]), pytest.approx([-0.9]))
    # The same state of another task is another one.
    apart = grouped_by_state(whole, ["a", "b"], [np.array([1.0]), np.array([0.0])], [["s"], ["s"]])
    assert [one.tolist() for one in apart] == [[0.0], [0.0]]
    assert grouped_by_state(np.zeros(0), [], [], []) == []


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
    # An action that the environment refused costs.
    refused = [PlayedEpisode("t", (pull(0),), np.zeros(1), np.zeros(1), np.array([own])) for own in (1.0, 0.0)]
    assert [own.tolist() for own in recipe.advantages(refused, None)] == [[-0.05], [0.05]]


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
    def trained(name: str, **options: Any) -> Model:
        given = {"updates": 11, "tasks": 2, "group": 2, "advantage": advantage, "start": cloned.folder, **options}
        return train("ppo", SHOP, out=tmp_path / name, **given)

    def killing(text: str) -> None:
        raise Killed

    whole = trained("whole")
    with pytest.raises(Killed):
        trained("cut", report=killing)
    assert len((tmp_path / "cut" / TRAINING).read_text().splitlines()) == 10
    again = trained("cut")
    assert again.identity == whole.identity
    for name in (TRAINING, WEIGHTS):
        assert (again.folder / name).read_bytes() == (whole.folder / name).read_bytes()
    lines = [json.loads(line) for line in (whole.folder / TRAINING).read_text().splitlines()]
    assert [line["n_episodes"] for line in lines] == [4] * 11
    known = whole.trained_on
    assert set(cloned.trained_on["tasks"]) < set(known["tasks"])
    assert all(task.startswith("train-") for task in known["tasks"])
    assert known["n_episodes"] == 44


def test_it_needs_an_environment_and_a_start(cloned: Model, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="plays while it learns"):
        train("ppo", tmp_path, out=tmp_path / "m", start=cloned.folder)
    with pytest.raises(ModelFolderError, match="--from"):
        train("ppo", SHOP, out=tmp_path / "m")
    with pytest.raises(ValueError, match="advantage"):
        train("ppo", SHOP, out=tmp_path / "m", start=cloned.folder, advantage="trpo")

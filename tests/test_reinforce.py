"""The example that trains on the shop: its gradients are right, it learns, and it reads no gold."""

from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from examples import reinforce
from examples.reinforce import ENVIRONMENT, agent_of, gradients, play, probabilities, read
from iad_policy import IADPolicyWrapper


def slope(function: Any, weights: Any, step: float = 1e-6) -> Any:
    """The gradient by central differences: (environments, weights)."""
    sides = [(function(weights + step * axis), function(weights - step * axis)) for axis in np.eye(len(weights))]
    return np.stack([(above - below) / (2 * step) for above, below in sides], axis=-1)


def test_gradients_are_those_of_finite_differences() -> None:
    rng = np.random.default_rng(0)
    rows, weights, taken = rng.normal(size=(2, 4, 5)), rng.normal(size=5), np.array([3, 1])
    rows[..., 0] = 1
    rows[1, 3] = 0  # the second of two environments offers three actions

    def log_likely(weights: Any) -> Any:
        return np.log(probabilities(rows, weights)[np.arange(2), taken])

    def entropy(weights: Any) -> Any:
        likely = probabilities(rows, weights)
        return -np.sum(likely * np.log(np.where(likely > 0, likely, 1)), axis=-1)

    of_log, of_entropy = gradients(rows, probabilities(rows, weights), taken)
    np.testing.assert_allclose(of_log, slope(log_likely, weights), atol=1e-8)
    np.testing.assert_allclose(of_entropy, slope(entropy, weights), atol=1e-8)
    likely = probabilities(rows, np.full(5, -30.0))
    assert likely[1, 3] == 0  # a row without an action is never taken
    np.testing.assert_allclose(likely.sum(-1), 1)


@pytest.mark.slow
def test_the_reward_rises_while_it_trains_also_on_other_tasks_and_the_policy_is_an_agent(tmp_path: Path) -> None:
    weights, rewards = reinforce.train(0, 300)
    assert len(rewards) == 300
    assert rewards[-100:].mean() > rewards[:100].mean() + 0.1
    untrained = play(0 * weights, is_greedy=False, split="dev")
    assert untrained.mean() < 0.25
    assert play(weights, is_greedy=True, split="dev").mean() > untrained.mean() + 0.2
    env = gym.make(ENVIRONMENT)
    policy = IADPolicyWrapper(agent_of(weights), env, strategy="iad", n=3)
    observation, info = env.reset(seed=0)
    for _ in range(3):
        action = policy.act(observation, info)
        assert action in read(info)[0]
        observation, _, _, _, info = env.step(action)
    assert policy.usage.verifications > 3
    _, info = env.reset(seed=0)
    actions, rows = read(info)
    likeliest = actions[int(probabilities(rows, weights).argmax())]
    drawn = [{agent_of(weights)("", info, heat, Random(seed)) for seed in range(20)} for heat in (0.0, 5.0)]
    assert drawn[0] == {likeliest}
    assert len(drawn[1]) > 1
    pytest.importorskip("matplotlib")
    reinforce.draw(np.random.default_rng(0).random((3, 200)), tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_every_action_has_a_row_every_feature_is_met_and_none_is_made_of_gold() -> None:
    met = np.zeros(len(reinforce.FEATURES), bool)
    env, rng = gym.make(ENVIRONMENT, split="train"), Random(0)
    for seed in range(40):
        (_, info), done = env.reset(seed=seed), False
        while not done:
            actions, rows = read(info)
            assert {action for action in info["available_actions"] if "..." not in action} <= set(actions)
            assert rows[:, 0].tolist() == [1] * len(actions) + [0] * (reinforce.MAX_ACTIONS - len(actions))
            met |= (rows != 0).any(0)
            for others in (
                {"progress": None, "success": None, "reward_parts": None},
                {"progress": 1.0, "success": True},
            ):
                seen, seen_rows = read({**info, **others})
                assert actions == seen
                assert (rows == seen_rows).all()
            _, _, terminated, truncated, info = env.step(rng.choice(actions))
            done = terminated or truncated
    assert met.all()

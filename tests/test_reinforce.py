"""The example that trains on the shop: its gradients are right, it learns, and it reads no gold."""

from random import Random
from typing import Any

import gymnasium as gym
import numpy as np

from examples import reinforce
from examples.reinforce import ENVIRONMENT, gradients, probabilities, read


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

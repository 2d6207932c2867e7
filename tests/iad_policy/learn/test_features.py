"""Features of every environment: what they offer is the same whenever it is asked for, and they read no gold."""

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy.errors import NoFeatures
from iad_policy.registry.domain import domains
from iad_policy.simulators.recorded import begun, stepped
from iad_policy.trained.features import load_features
from iad_policy.types import State
from iad_policy.world import adapt

ENVIRONMENTS = [name for name, own in domains() if own.features and "Browser" not in name]


def states(env_id: str) -> list[State]:
    """States of an episode that takes the first action offered."""
    features, env, found = load_features(env_id), gym.make(env_id), list[State]()
    world = adapt(env)
    state = begun(env, world, None, 0)
    while not state.done and len(found) < 3:
        found.append(state)
        state = stepped(env, world, state, features.actions(state)[0])
    env.close()
    return found


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_a_state_has_the_same_actions_and_numbers_whenever_it_is_asked(env_id: str) -> None:
    one, other = load_features(env_id), load_features(env_id)
    assert one.identity == other.identity
    assert len(set(one.names)) == len(one.names)
    here = states(env_id)
    expected = [(list(one.actions(state)), one.rows(state, one.actions(state))) for state in here]
    for state, (actions, rows) in reversed(list(zip(here, expected, strict=True))):
        assert list(other.actions(state)) == actions
        assert len(actions) == len(set(actions)) >= 1
        assert rows.shape == (len(actions), len(one.names))
        assert np.isfinite(rows).all()
        assert np.array_equal(other.rows(state, actions), rows)
        assert np.array_equal(other.rows(state, actions[:1]), rows[:1])


def test_an_environment_without_features_says_what_to_write() -> None:
    with pytest.raises(NoFeatures, match=r"iad_policy\.trained\.features\.Features.* features=module:Class"):
        load_features("CartPole-v1")

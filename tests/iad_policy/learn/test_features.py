"""Features of every environment: they are the same whenever they are asked for, and an attempt is seen by them."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.errors import NoFeatures
from iad_policy.learn.experience import Experience
from iad_policy.registry.domain import domains
from iad_policy.simulators.recorded import begun, stepped
from iad_policy.trained.attempts import AttemptFeatures
from iad_policy.trained.features import load_features
from iad_policy.types import State
from iad_policy.world import adapt

ENVIRONMENTS = [name for name, own in domains() if own.features and "Browser" not in name and "Sketch" not in name]


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_a_state_has_the_same_actions_and_numbers_whenever_it_is_asked(env_id: str) -> None:
    one, other = load_features(env_id), load_features(env_id)
    assert one.identity == other.identity
    assert len(set(one.names)) == len(one.names)
    env, here = gym.make(env_id), list[State]()
    world = adapt(env)
    state = begun(env, world, None, 0)
    while not state.done and len(here) < 3:  # an episode that takes the first action offered
        here.append(state)
        state = stepped(env, world, state, one.actions(state)[0])
    env.close()
    expected = [(list(one.actions(state)), one.rows(state, one.actions(state))) for state in here]
    for state, (actions, rows) in reversed(list(zip(here, expected, strict=True))):
        assert list(other.actions(state)) == actions
        assert len(actions) == len(set(actions)) >= 1
        assert rows.shape == (len(actions), len(one.names))
        assert np.isfinite(rows).all()
        assert np.array_equal(other.rows(state, actions), rows)
        assert np.array_equal(other.rows(state, actions[:1]), rows[:1])


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_attempts_are_seen_in_every_environment(env_id: str, tmp_path: Path) -> None:
    evaluate(env_id, ["single"], tasks=1, out=tmp_path, baseline="single")
    features = AttemptFeatures(load_features(env_id))
    for one in Experience.of([tmp_path]).trajectories:
        assert one.end is not None
        (row,) = features.rows(one.end, [None])
        named = dict(zip(features.names, row, strict=True))
        assert np.isfinite(row).all()
        assert named["steps"] == len(one.record.actions) / 10
        assert sum(named[f"share {kind}"] for kind in ("success", "end", "invalid", "failed")) == pytest.approx(1.0)
    assert not features.rows(State(None, {}), [None]).any()


def test_an_environment_without_features_says_what_to_write() -> None:
    with pytest.raises(NoFeatures, match=r"trained\.features\.Features.* features=module:Class"):
        load_features("CartPole-v1")

"""Features of every environment: what they offer is the same whenever it is asked for, and they read no gold."""

from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy.errors import NoFeatures
from iad_policy.registry.domain import domains
from iad_policy.simulators.recorded import begun, stepped
from iad_policy.trained.features import Features, load_features
from iad_policy.trained.proposed import N_PROPOSALS, ProposedActions
from iad_policy.types import Candidate, Feedback, State, Turn
from iad_policy.world import adapt

ENVIRONMENTS = [
    pytest.param(name, marks=[pytest.mark.slow] if "Sketch" in name else [])
    for name, own in domains()
    if own.features and "Browser" not in name
]
ELSEWHERE = {"IAD/InterCodeBash-v0": "wc -l /no/such | sort -rn", "IAD/BIRD-v0": "submit[SELECT 1]"}
"""Actions that are not offered."""


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


@pytest.mark.parametrize("env_id", sorted(ELSEWHERE))
def test_an_action_that_is_not_offered_has_features_too(env_id: str) -> None:
    features = load_features(env_id)
    for state in states(env_id):
        (row,) = features.rows(state, [ELSEWHERE[env_id]])
        assert row[0] == 0.0
        assert row.any()


class Dice:
    """Proposes a number by its draw, and now and then no action."""

    identity = "dice"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        if temperature == 0:
            return Candidate("0")
        drawn = rng.randrange(4)
        return Candidate(None, error="no action") if drawn == 3 else Candidate(str(drawn))


class DiceFeatures(ProposedActions):
    def described(self, state: State, action: str) -> dict[str, float]:
        return {"number": float(action)}


def state_of(task: str, *actions: Any) -> State:
    history = tuple(Turn("", action) for action in actions)
    return State("", {"instruction": "roll", "task_id": task}, history=history)


def test_what_is_offered_is_what_the_agent_proposes_each_once_the_greedy_one_first() -> None:
    features: Features = DiceFeatures(Dice(), ["number"], "dice")  # type: ignore[arg-type]
    state = state_of("a")
    actions = list(features.actions(state))
    assert actions[0] == "0"
    assert set(actions) == {"0", "1", "2"}
    rows = features.rows(state, [*actions, "7"])
    assert rows[:, 0].sum() <= 1.0
    assert rows[:, 0] * N_PROPOSALS == pytest.approx(np.round(rows[:, 0] * N_PROPOSALS))
    assert rows[:, 1].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert rows[:, 2].tolist() == [*map(float, actions), 7.0]
    assert list(features.actions(state_of("a"))) == actions
    assert any(
        not np.array_equal(features.rows(state_of("a", step), ["0", "1", "2"]), features.rows(state, ["0", "1", "2"]))
        for step in range(5)
    )


def test_an_environment_without_features_says_what_to_write() -> None:
    with pytest.raises(NoFeatures, match=r"iad_policy\.trained\.features\.Features.* features=module:Class"):
        load_features("CartPole-v1")

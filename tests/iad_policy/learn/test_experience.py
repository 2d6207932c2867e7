"""Experience is what the agent saw, and nothing of gold; a trained policy as an agent; features."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import Feedback, evaluate
from iad_policy.agents import load_agent
from iad_policy.agents.learned import LearnedAgent
from iad_policy.errors import GoldError, NoFeatures
from iad_policy.learn.experience import Experience
from iad_policy.registry.domain import domains
from iad_policy.simulators.recorded import begun, stepped
from iad_policy.trained.attempts import AttemptFeatures
from iad_policy.trained.features import load_features
from iad_policy.trained.models import Model
from iad_policy.types import Candidate, ShownAttempt, State
from iad_policy.world import adapt
from tests.iad_policy.learn.conftest import SHOP


class Watched:
    """The rule-based agent, and the states that it was asked in."""

    name = "watched"

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        self.agent = load_agent("shopper", env)
        self.seen: dict[str, State] = {}

    def propose(self, state: State, **options: Any) -> Candidate:
        """Note the state, and ask the agent."""
        if not state.path:
            self.seen[state.id] = state
        return self.agent.propose(state, **options)


def test_states_are_those_that_the_agent_saw(tmp_path: Path) -> None:
    agent = Watched(gym.make(SHOP, split="train"))
    evaluate(SHOP, ["single"], agent=agent, split="train", tasks=3, out=tmp_path / "shop", baseline="single")
    steps = [step for one in Experience.of([tmp_path / "shop"]).trajectories for step in one.steps]
    assert len(steps) == len(agent.seen)
    for state in (step.state for step in steps):
        live = agent.seen[state.id]
        assert (state.observation, dict(state.info)) == (live.observation, dict(live.info))
        assert [turn[:2] for turn in state.history] == [turn[:2] for turn in live.history]
        assert state.steps_left == live.steps_left
    evaluate("IAD/BIRD-v0", ["single"], agent="random", tasks=1, out=tmp_path / "bird", baseline="single")
    with pytest.raises(ValueError, match="in one environment"):
        Experience.of([tmp_path / "bird", tmp_path / "shop"])


def test_no_gold_can_be_read_and_the_only_reward_is_at_the_end(demos: Experience) -> None:
    for one in demos.trajectories:
        for step in one.steps:
            assert not {"progress", "success", "reward_parts"} & set(step.state.info)
            with pytest.raises(GoldError, match="progress"):
                step.state.info["progress"]
            assert not any("success" in turn.info for turn in step.state.history)
        assert sum(step.reward for step in one.steps) == pytest.approx(one.reward)
        assert [step.done for step in one.steps] == [False] * (len(one.steps) - 1) + [True]
    assert demos.digest == demos.only(demos.trajectories).digest != demos.only(demos.trajectories[1:]).digest


def test_trees_begin_in_the_states_of_their_episodes(searched: Experience) -> None:
    for one in searched.trajectories:
        states = {step.state.id: step.state for step in one.steps}
        assert len(one.trees) == len(one.steps)
        for tree in one.trees:
            assert tree.root.state is states[tree.root.state.id]
            for node in tree.nodes():
                assert len(node.state.history) == len(tree.root.state.history) + node.depth


def test_other_candidates_are_those_of_the_same_state(cloned: Model, tmp_path: Path) -> None:
    given: dict[str, Any] = {"split": "train", "allow_trained_tasks": True, "baseline": "bon"}
    evaluate(SHOP, ["bon"], agent=f"learned:{cloned.folder}", tasks=3, n=4, out=tmp_path, **given)
    steps = [step for one in Experience.of([tmp_path]).trajectories for step in one.steps]
    assert any(step.rejected for step in steps)
    for step in steps:
        assert step.committed.key not in {one.key for one in step.rejected}
        assert all(one.at == step.state.id and not one.error for one in step.rejected)


def proposals(agent: LearnedAgent, state: State, n: int = 400, **given: Any) -> Counter[str]:
    rng = Random(0)
    asked: dict[str, Any] = {"feedback": None, "temperature": None, **given}
    return Counter(agent.propose(state, rng=rng, **asked).action for _ in range(n))


def test_a_policy_samples_its_distribution_is_greedy_at_0_and_after_feedback_proposes_something_else(
    demos: Experience, cloned: Model
) -> None:
    agent, backend = LearnedAgent(cloned), cloned.backend
    steps = [step for one in demos.trajectories for step in one.steps]
    state = next(one.state for one in steps if len(one.state.info["page"].get("products", ())) > 5)
    actions = list(backend.features.actions(state))  # type: ignore[attr-defined]
    scores = backend.scores(state, actions)
    likely = scores - np.log(np.exp(scores).sum())
    found = proposals(agent, state, 4000)
    assert [found[action] / 4000 for action in actions] == pytest.approx(np.exp(likely), abs=0.03)
    assert len(found) > 2
    assert set(proposals(agent, state, 20, temperature=0.0)) == {actions[int(scores.argmax())]}
    for temperature in (None, 0.0, 0.2, 3.0):
        one = agent.propose(state, feedback=None, temperature=temperature, rng=Random(1))
        assert one.logprob == pytest.approx(likely[actions.index(one.action)], abs=1e-12), "at the temperature 1"
    tried = [ShownAttempt(Candidate(action, key=action)) for action in actions]
    first = tried[actions.index(found.most_common(1)[0][0])]
    assert first.candidate.action not in proposals(agent, state, feedback=Feedback("no", (first,)))
    assert proposals(agent, state, 9, feedback=Feedback("no", tuple(tried)))  # all was tried: any is as good


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

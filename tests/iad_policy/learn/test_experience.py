"""Experience: what is read from a run folder is what the agent saw, and nothing of gold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from iad_policy import evaluate
from iad_policy.agents import load_agent
from iad_policy.errors import GoldError
from iad_policy.learn.experience import Experience
from iad_policy.trained.models import Model
from iad_policy.types import Candidate, State
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
    env = gym.make(SHOP, split="train")
    agent = Watched(env)
    evaluate(SHOP, ["single"], agent=agent, split="train", tasks=3, out=tmp_path, baseline="single")
    steps = [step for one in Experience.of([tmp_path]).trajectories for step in one.steps]
    assert len(steps) == len(agent.seen)
    for step in steps:
        live = agent.seen[step.state.id]
        assert step.state.observation == live.observation
        assert dict(step.state.info) == dict(live.info)
        assert [turn.action for turn in step.state.history] == [turn.action for turn in live.history]
        assert [turn.observation for turn in step.state.history] == [turn.observation for turn in live.history]
        assert step.state.steps_left == live.steps_left


def test_no_gold_can_be_read(demos: Experience) -> None:
    for one in demos.trajectories:
        for step in one.steps:
            info: Mapping[str, Any] = step.state.info
            assert not {"progress", "success", "reward_parts"} & set(info)
            with pytest.raises(GoldError, match="progress"):
                info["progress"]
            for turn in step.state.history:
                assert "success" not in turn.info


def test_the_only_reward_is_at_the_end(demos: Experience) -> None:
    for one in demos.trajectories:
        assert sum(step.reward for step in one.steps) == pytest.approx(one.reward)
        assert [step.done for step in one.steps] == [False] * (len(one.steps) - 1) + [True]


def test_trees_begin_in_the_states_of_their_episodes(searched: Experience) -> None:
    n_trees = 0
    for one in searched.trajectories:
        states = {step.state.id: step.state for step in one.steps}
        for tree in one.trees:
            assert tree.root.state is states[tree.root.state.id]
            for node in tree.nodes():
                assert len(node.state.history) == len(tree.root.state.history) + node.depth
            n_trees += 1
    assert n_trees == sum(len(one.steps) for one in searched.trajectories)


def test_other_candidates_are_those_of_the_same_state(cloned: Model, tmp_path: Path) -> None:
    given: dict[str, Any] = {"split": "train", "allow_trained_tasks": True, "baseline": "bon"}
    evaluate(SHOP, ["bon"], agent=f"learned:{cloned.folder}", tasks=3, n=4, out=tmp_path, **given)
    steps = [step for one in Experience.of([tmp_path]).trajectories for step in one.steps]
    assert any(step.rejected for step in steps)
    for step in steps:
        assert step.committed.key not in {one.key for one in step.rejected}
        assert all(one.at == step.state.id and not one.error for one in step.rejected)


def test_runs_of_two_environments_are_not_one_experience(demos: Experience, tmp_path: Path) -> None:
    evaluate("IAD/BIRD-v0", ["single"], tasks=1, out=tmp_path / "bird", baseline="single")
    evaluate(SHOP, ["single"], tasks=1, out=tmp_path / "shop", baseline="single")
    with pytest.raises(ValueError, match="in one environment"):
        Experience.of([tmp_path / "bird", tmp_path / "shop"])


def test_the_digest_is_of_what_is_learned_from(demos: Experience) -> None:
    assert demos.digest == demos.only(demos.trajectories).digest
    assert demos.digest != demos.only(demos.trajectories[1:]).digest

"""A trained policy as an agent: what it samples, and what feedback changes."""

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers IAD/...)
from iad_policy import Feedback, State
from iad_policy.agents.learned import LearnedAgent
from iad_policy.learn.experience import Experience
from iad_policy.trained.models import Model
from iad_policy.types import Candidate, ShownAttempt


@pytest.fixture(scope="module")
def agent(cloned: Model) -> LearnedAgent:
    return LearnedAgent(cloned)


def proposals(agent: LearnedAgent, state: State, n: int = 400, **given: Any) -> Counter[str]:
    rng = Random(0)
    asked: dict[str, Any] = {"feedback": None, "temperature": None, **given}
    return Counter(agent.propose(state, rng=rng, **asked).action for _ in range(n))


@pytest.fixture(scope="module")
def state(demos: Experience) -> State:
    """A page of results, with many products."""
    return next(
        step.state
        for one in demos.trajectories
        for step in one.steps
        if len(step.state.info["page"].get("products", ())) > 5
    )


def test_it_samples_its_own_distribution_is_greedy_at_0_and_says_how_likely_a_proposal_was(
    agent: LearnedAgent, state: State
) -> None:
    backend: Any = agent.trained.backend
    actions = list(backend.features.actions(state))
    scores = backend.scores(state, actions)
    likely = scores - np.log(np.exp(scores).sum())
    found = proposals(agent, state, 4000)
    assert [found[action] / 4000 for action in actions] == pytest.approx(np.exp(likely), abs=0.03)
    assert len(found) > 2
    assert set(proposals(agent, state, 20, temperature=0.0)) == {actions[int(scores.argmax())]}
    for temperature in (None, 0.0, 0.2, 3.0):
        one = agent.propose(state, feedback=None, temperature=temperature, rng=Random(1))
        assert one.logprob == pytest.approx(likely[actions.index(one.action)], abs=1e-12), "at the temperature 1"


def test_after_feedback_it_proposes_something_else(agent: LearnedAgent, state: State) -> None:
    first = proposals(agent, state).most_common(1)[0][0]
    feedback = Feedback("no", (ShownAttempt(Candidate(first, key=first)),))
    assert first not in proposals(agent, state, feedback=feedback)
    every = tuple(Candidate(action, key=action) for action in agent.trained.backend.features.actions(state))  # type: ignore[attr-defined]
    tried = tuple(map(ShownAttempt, every))
    assert proposals(agent, state, feedback=Feedback("no", tried))  # everything was tried: any is as good

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


def test_it_samples_its_own_distribution(agent: LearnedAgent, state: State) -> None:
    backend: Any = agent.trained.backend
    actions = list(backend.features.actions(state))
    scores = backend.scores(state, actions)
    p = np.exp(scores - scores.max())
    found = proposals(agent, state, 4000)
    share = np.array([found[action] / 4000 for action in actions])
    assert share == pytest.approx(p / p.sum(), abs=0.03)
    assert len(found) > 2


def test_a_candidate_has_its_log_probability_at_temperature_1(agent: LearnedAgent, state: State) -> None:
    backend: Any = agent.trained.backend
    actions = list(backend.features.actions(state))
    scores = backend.scores(state, actions)
    for temperature in (None, 0.0, 0.2, 3.0):
        one = agent.propose(state, feedback=None, temperature=temperature, rng=Random(1))
        likely = scores[actions.index(one.action)] - np.log(np.exp(scores).sum())
        assert one.logprob == pytest.approx(likely, abs=1e-12)


def test_at_temperature_0_it_is_greedy(agent: LearnedAgent, state: State) -> None:
    backend: Any = agent.trained.backend
    actions = list(backend.features.actions(state))
    best = actions[int(backend.scores(state, actions).argmax())]
    assert set(proposals(agent, state, 20, temperature=0.0)) == {best}


def test_after_feedback_it_proposes_something_else(agent: LearnedAgent, state: State) -> None:
    first = proposals(agent, state).most_common(1)[0][0]
    feedback = Feedback("no", (ShownAttempt(Candidate(first, key=first)),))
    assert first not in proposals(agent, state, feedback=feedback)
    every = tuple(Candidate(action, key=action) for action in agent.trained.backend.features.actions(state))  # type: ignore[attr-defined]
    tried = tuple(map(ShownAttempt, every))
    assert proposals(agent, state, feedback=Feedback("no", tried))  # everything was tried: any is as good

"""Wraps any agent so that it follows a strategy's plan: rule-based agents can't read the notes of a summary."""

from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.agents import load_agent
from iad_policy.registry.domain import default_agent
from iad_policy.types import Agent, Candidate, Feedback, State


class PlanFollowingAgent:
    """An agent that follows the plan of a state as long as it can, and otherwise asks another agent.

    It leaves the plan when the actions so far differ from it, or when its last action was not accepted.

    Args:
        env: The environment.
        agent: The other agent's name. By default it is the environment's own.
    """

    def __init__(self, env: gym.Env[Any, Any], agent: str | Agent | None = None) -> None:
        name = default_agent(env) if agent is None else agent
        self._agent = load_agent(name, env)
        inner = self._agent.identity or (name if isinstance(name, str) else type(name).__name__)
        self.identity = f"plan-following {inner}"
        self.model = self._agent.model
        self.trained_on = self._agent.trained_on
        self.takes_feedback = self._agent.takes_feedback
        self.information = self._agent.information  # an agent that knows gold knows it here too

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return the plan's next action, or else the other agent's proposal."""
        plan = state.plan if feedback is None else None
        if plan is not None:
            done = [turn.action for turn in state.history[plan.n_before :]]
            is_refused = bool(done) and state.info.get("invalid_action")
            if len(done) < len(plan.actions) and done == list(plan.actions[: len(done)]) and not is_refused:
                return Candidate(plan.actions[len(done)], thought="As planned.")
        return self._agent.propose(state, feedback=feedback, temperature=temperature, rng=rng)

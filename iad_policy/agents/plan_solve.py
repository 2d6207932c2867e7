"""Plan & Solve, as InterCode runs it (arXiv 2306.14898): a numbered plan first, then one step of it per turn."""

import math
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.agents.language import LanguageAgent, paper_agent
from iad_policy.models import Completion, LanguageModel
from iad_policy.types import Candidate, Feedback, Part, State


class PlanSolveAgent(LanguageAgent):
    """Proposes the action for the next step of a plan. The first proposal takes two calls, every later one takes one.

    The plan is a part of the first action, so the agent finds it in the history. A state without a plan gets a new one.
    When all steps are done, the model is asked to correct what is missing, or to finish. See `LanguageAgent`.
    """

    kind = "plan-solve"
    roles = ("plan", "actor_plan-solve")

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Make a plan if there is none, and ask the model for the action of its next step.

        Raises:
            ModelError: The model could not answer.
        """
        plan, n_done = _plan_of(state)
        new = []
        if plan is None:
            answer = self.complete(self.prompt("plan", state, None).messages(), temperature)
            plan = Part("plan", answer.text.strip(), _logprob(answer))
            new = [plan]
        reading, answer = self._asked(self.acting(state, plan.text, n_done, feedback), temperature, state)
        parts = (*new, Part("answer", answer.text.strip(), _logprob(answer)))
        return self._candidate(reading, answer, state, parts)

    def messages(self, state: State, feedback: Feedback | None = None) -> tuple[Mapping[str, Any], ...]:
        """Return the first messages for a state: they ask for a plan, or for the action of a step."""
        plan, n_done = _plan_of(state)
        if plan is None:
            return self.prompt("plan", state, None).messages()
        return self.acting(state, plan.text, n_done, feedback)

    def acting(self, state: State, plan: str, n_done: int, feedback: Feedback | None) -> tuple[Mapping[str, Any], ...]:
        """Return the messages that ask for an action once there is a plan."""
        steps = steps_of(plan)
        listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
        if n_done < len(steps):
            now = f"Carry out step {n_done + 1} of {len(steps)} now: {steps[n_done]}"
        else:
            now = "All steps of the plan are done. Put right what is missing, or finish the task."
        listed = f"Your plan:\n{listed}"
        return self.prompt("actor_plan-solve", state, feedback, plan=listed, plan_step=now).messages()


def plan_solve_agent(env: gym.Env[Any, Any], model: str | LanguageModel = "", **options: Any) -> PlanSolveAgent:
    """Ask a language model for a plan first, then for the action of each step (Plan & Solve)."""
    return paper_agent(env, PlanSolveAgent, model, **options)


def steps_of(plan: str) -> Sequence[str]:
    """Return the steps of a plan: its numbered lines, or all lines if none is numbered."""
    lines = [line.strip() for line in plan.splitlines() if line.strip()]
    number = re.compile(r"^\W*(?:step\s*)?\d+\W+\s*", re.IGNORECASE)
    numbered = [number.sub("", line) for line in lines if number.match(line)]
    return [step for step in numbered if step] or lines or ["do what the task asks for"]


def _plan_of(state: State) -> tuple[Part | None, int]:
    """Return the latest plan and the number of its steps that were carried out."""
    for place in reversed(range(len(state.history))):
        for part in state.history[place].parts:
            if part.name == "plan":
                return part, len(state.history) - place
    return None, 0


def _logprob(answer: Completion) -> float | None:
    return None if answer.logprobs is None else math.fsum(answer.logprobs)

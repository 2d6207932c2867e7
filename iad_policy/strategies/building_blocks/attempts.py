"""Simulated attempts: what the agent is told about them, and which of them the real execution may follow."""

import json
import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from iad_policy.strategies.building_blocks.rollouts import Rollout
from iad_policy.types import Candidate, PlannedActions, State
from iad_policy.types.answers import read_choice, read_field
from iad_policy.types.hashing import encode
from iad_policy.types.texts import shown


@dataclass(frozen=True, slots=True)
class Attempt:
    """One simulated attempt.

    Attributes:
        rollout: The simulated steps. Empty if the budget ended before them.
        evaluation: The evaluator's text. Empty if there is none.
    """

    rollout: Rollout
    evaluation: str = ""

    @property
    def first(self) -> Candidate | None:
        """Its first candidate, proposed in the real state, or None if not even that was granted."""
        return next(iter(self.rollout.candidates), self.rollout.untried)

    @property
    def has_passed(self) -> bool:
        """Whether the evaluator says that the attempt succeeded."""
        return passes(self.evaluation) is True

    @property
    def plan(self) -> PlannedActions:
        """Its actions."""
        return plan_between(self.rollout.start, self.rollout.end)

    def as_text(self, number: int) -> str:
        """Return the attempt as text: its actions, its last observation, and its evaluation."""
        return attempt_text(number, self.rollout.start, self.rollout.end, self.evaluation)


def attempt_text(number: int, start: State, end: State, evaluation: str) -> str:
    """Return a simulated attempt as text, from the state that it began in to its last one."""
    plan = plan_between(start, end)
    lines = [f"Attempt {number}, simulated", steps("Actions", plan)]
    lines += [f"At the end: {shown(end.observation, 400)}"] if plan.actions else []
    return "\n".join([*lines, evaluation]).strip()


def plan_between(start: State, end: State) -> PlannedActions:
    """Return the actions that led from one state to a later one."""
    n_before = len(start.history)
    return PlannedActions(n_before, tuple([turn.action for turn in end.history[n_before:]]))


def steps(label: str, plan: PlannedActions) -> str:
    """Return a line that lists actions with their numbers in the episode. A very long line is cut."""
    n_before, actions = plan
    if not actions:
        return f"{label}: none"
    content = json.dumps([encode(action) for action in actions], ensure_ascii=False)
    max_chars = 12_000
    content = content if len(content) <= max_chars else f"{content[:max_chars]}..."
    return f"{label} {n_before + 1}-{n_before + len(actions)}: {content}"


def passes(evaluation: str) -> bool | None:
    """Return whether an evaluation says `pass` or `fail`, or None if it can't be read."""
    content = read_choice(evaluation, "verdict", ("pass(?:e[ds])?", "fail(?:ed|s|ure)?"))
    return None if content is None else content.startswith("pass")


def score_in(evaluation: str) -> float:
    """Return the score that an evaluation names, or -inf if it names none."""
    with suppress(ValueError):
        return float(read_field(evaluation, "score") or "")
    return -math.inf


def best_plan(made: Iterable[tuple[PlannedActions, str]]) -> PlannedActions | None:
    """Return the actions of the best-scored attempt that passed, the first among equals, or None if none did.

    Args:
        made: The actions of each attempt, and its evaluation.
    """
    passed = [(plan, evaluation) for plan, evaluation in made if plan.actions and passes(evaluation)]
    return max(passed, key=lambda one: score_in(one[1]))[0] if passed else None

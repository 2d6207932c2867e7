"""Evaluations and summaries of simulated attempts without a language model."""

from collections.abc import Sequence
from typing import NamedTuple

from iad_policy.strategies.building_blocks.attempts import best_plan, steps
from iad_policy.types import Candidate, PlannedActions, State, score

PASSING_SCORE = 0.5
"""Score from which an attempt passes if the verifier gives only a score."""


class ToldAttempt(NamedTuple):
    """A simulated attempt: what is told about it, its actions, and its evaluation."""

    text: str
    plan: PlannedActions = PlannedActions(0, ())
    evaluation: str = ""


def evaluation_of(candidate: Candidate) -> str:
    """Return an evaluation without a model, from the verdict on the attempt's last action.

    It passes if the verdict says so. If the verdict does not say, it passes if the episode is over with a high enough
    score.
    """
    verdict, preview = candidate.verdict, candidate.preview
    if verdict is None:
        return "Verdict: fail\nCause: It was not verified.\nSuggestion: Bring it to an end."
    is_over = isinstance(preview, State) and preview.done
    has_passed = verdict.passed if verdict.passed is not None else is_over and score(candidate) >= PASSING_SCORE
    cause = " ".join(verdict.critique.split()) or "The verifier says no more."
    suggestion = "Do the same." if has_passed else "Do something else." if is_over else "Go on to the end."
    word = "pass" if has_passed else "fail"
    return f"Verdict: {word}\nCause: {cause}\nSuggestion: {suggestion}\nScore: {score(candidate):.4g}"


def summary_of(attempts: Sequence[ToldAttempt]) -> str:
    """Return the text of every attempt, and the best attempt that passed as the plan."""
    plan = best_plan((one.plan, one.evaluation) for one in attempts)
    lines = ["What was tried:", *(f"- {one.text}" for one in attempts)]
    return "\n".join([*lines, *([] if plan is None else [steps("Plan, actions", plan)])])

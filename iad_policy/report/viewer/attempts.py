"""Finds the simulated attempts of a decision: actions of which each was proposed in the state that the last one led to.

The log has candidates and states, not attempts. Attempts that begin with the same actions share their states, so the
later candidate of a state belongs to the later attempt.
"""

from dataclasses import dataclass

from iad_policy.strategies.building_blocks.attempts import passes
from iad_policy.types import Candidate, Decision


@dataclass(slots=True)
class SimulatedAttempt:
    """One attempt.

    Attributes:
        candidates: Its actions, in order.
        evaluation: The evaluator's text; "" where there is none, or where it can't be told which attempt one is about.
    """

    candidates: list[Candidate]
    evaluation: str = ""

    @property
    def has_passed(self) -> bool | None:
        """Whether the evaluator passed it; None where that is not known."""
        return passes(self.evaluation) if self.evaluation else None

    @property
    def is_over(self) -> bool:
        """Whether its last action ended the simulated episode."""
        last = self.candidates[-1].preview
        return last is not None and last.done


def attempts_of(decision: Decision) -> list[SimulatedAttempt]:
    """Return the simulated attempts, in the order in which they began: those with an evaluation or several actions.

    Evaluations were asked for in the order in which attempts ended. A single action after them is no attempt, even if
    an attempt began with it.
    """
    attempts: list[SimulatedAttempt] = []
    for one in decision.candidates:
        if one.at in ("", decision.state.id):
            attempts.append(SimulatedAttempt([one]))
            continue
        lasts = [begun.candidates[-1].preview for begun in attempts]
        led_here = (
            begun for begun, last in zip(attempts, lasts, strict=True) if last is not None and last.id == one.at
        )
        if (begun := next(led_here, None)) is not None:
            begun.candidates.append(one)
    attempts = [attempt for attempt in attempts if attempt.candidates[0].preview is not None]
    evaluations = [one.text for one in decision.role_answers if one.role == "evaluator"]
    if len(evaluations) <= len(attempts):
        places = {one.id: place for place, one in enumerate(decision.candidates)}
        ended = sorted(attempts, key=lambda attempt: places[attempt.candidates[-1].id])
        for attempt, evaluation in zip(ended, evaluations, strict=False):
            attempt.evaluation = evaluation
    return [attempt for attempt in attempts if attempt.evaluation or len(attempt.candidates) > 1]

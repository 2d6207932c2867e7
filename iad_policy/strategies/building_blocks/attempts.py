"""Attempts in simulation, put into words: what an agent is told of them, and how that is read back.

The words are for a language model; what stands on the lines `Actions`, `Plan` and `Verdict` can be read by an agent
without one too.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from iad_policy.hashing import decode, encode
from iad_policy.models.parsing import read_choice, read_field
from iad_policy.prompts.rendering import shown
from iad_policy.strategies.building_blocks.rollouts import Rollout
from iad_policy.types import Candidate, State, score

REAL = "What comes now is real and counts."
"""Stands above what is told for the one execution after the attempts."""
PASSING_SCORE = 0.5
"""Of an attempt at whose end the verifier only gives a score."""
SEEN_CHARS = 400
ACTIONS_CHARS = 12_000
_ACTIONS = re.compile(r"^(Actions|Plan, actions) (\d+)-\d+: (\[.*\])$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One simulated attempt.

    Attributes:
        rollout: What was simulated; empty where the budget ended before.
        evaluation: The evaluator's words; empty without any.
    """

    rollout: Rollout
    evaluation: str = ""

    @property
    def first(self) -> Candidate | None:
        """Its first candidate, proposed in the real state; None where not even that was granted."""
        return next(iter(self.rollout.candidates), self.rollout.untried)

    @property
    def has_passed(self) -> bool:
        """Whether the evaluator says that it succeeded."""
        return passes(self.evaluation) is True

    def told(self, number: int) -> str:
        """Return what is told of it: what was done, what was seen at the end, how it was evaluated."""
        done = len(self.rollout.start.history)
        actions = [turn.action for turn in self.rollout.end.history[done:]]
        lines = [f"Attempt {number}, simulated", steps("Actions", actions, done)]
        lines += [f"At the end: {shown(self.rollout.end.observation, SEEN_CHARS)}"] if actions else []
        return "\n".join([*lines, self.evaluation]).strip()


class Steps(NamedTuple):
    """Actions that stand in a text.

    Attributes:
        n_before: How many actions of the episode come before the first of them.
        actions: In order.
    """

    n_before: int
    actions: tuple[Any, ...]


def steps(label: str, actions: Sequence[Any], n_before: int) -> str:
    """Return a line that names actions by their place in the episode; a very long one is shortened, unreadably."""
    if not actions:
        return f"{label}: none"
    said = json.dumps([encode(action) for action in actions], ensure_ascii=False)
    said = said if len(said) <= ACTIONS_CHARS else f"{said[:ACTIONS_CHARS]}..."
    return f"{label} {n_before + 1}-{n_before + len(actions)}: {said}"


def passes(evaluation: str) -> bool | None:
    """Return whether an evaluation says `pass` or `fail`; None where it can't be read."""
    said = read_choice(evaluation, "verdict", ("pass(?:e[ds])?", "fail(?:ed|s|ure)?"))
    return None if said is None else said.startswith("pass")


def evaluation_of(candidate: Candidate) -> str:
    """Return an evaluation without a model, from the verdict on the attempt's last action.

    It passes where the verdict says so; where that says neither, if the episode is over there and scored high enough.
    """
    verdict, preview = candidate.verdict, candidate.preview
    if verdict is None:
        return "Verdict: fail\nCause: It was not verified.\nSuggestion: Bring it to an end."
    is_over = isinstance(preview, State) and preview.done
    has_passed = verdict.passed if verdict.passed is not None else is_over and score(candidate) >= PASSING_SCORE
    cause = " ".join(verdict.critique.split()) or "The verifier says no more."
    suggestion = "Do the same." if has_passed else "Do something else." if is_over else "Go on to the end."
    said = "pass" if has_passed else "fail"
    return f"Verdict: {said}\nCause: {cause}\nSuggestion: {suggestion}\nScore: {score(candidate):.4g}"


def summary_of(told: Iterable[str]) -> str:
    """Return a summary without a model: the best-scored attempt that passed as the plan, and what was said of each."""
    texts = list(told)
    passed = [text for text in texts if passes(text) and _read(text, "Actions")]
    lines = ["What was tried:", *(f"- {text}" for text in texts)]
    if passed:
        best = max(passed, key=_score)
        found = _read(best, "Actions")
        assert found is not None
        lines.append(steps("Plan, actions", found.actions, found.n_before))
    return "\n".join(lines)


def plan_of(notes: Iterable[str]) -> Steps | None:
    """Return what the notes of the real execution say to do: their plan, else what an attempt did that passed."""
    for note in reversed([note for note in notes if REAL in note]):
        found = _read(note, "Plan, actions")
        if found is not None:
            return found
        for attempt in re.split(r"^(?=Attempt \d+, simulated$)", note, flags=re.MULTILINE):
            if passes(attempt) and (found := _read(attempt, "Actions")) is not None:
                return found
    return None


def _score(evaluation: str) -> float:
    try:
        return float(read_field(evaluation, "score") or "")
    except ValueError:
        return -math.inf


def _read(text: str, label: str) -> Steps | None:
    for kind, first, listed in reversed(_ACTIONS.findall(text)):
        if kind == label:
            return Steps(int(first) - 1, tuple(decode(json.loads(listed))))
    return None

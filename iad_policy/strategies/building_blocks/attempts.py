"""Simulated attempts as text: what the agent is given about them, and how that text is read again.

The text is for a language model. An agent without one can read the lines `Actions`, `Plan` and `Verdict`.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from iad_policy.models.parsing import read_choice, read_field
from iad_policy.prompts.rendering import shown
from iad_policy.strategies.building_blocks.rollouts import Rollout
from iad_policy.types import Candidate, State, score
from iad_policy.types.hashing import decode, encode

REAL = "What comes now is real and counts."
"""First line of the text that the agent gets for the real execution."""
PASSING_SCORE = 0.5
"""Score from which an attempt passes if the verifier gives only a score."""
SEEN_CHARS = 400
ACTIONS_CHARS = 12_000
_ACTIONS = re.compile(r"^(Actions|Plan, actions) (\d+)-\d+: (\[.*\])$", re.MULTILINE)


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

    def as_text(self, number: int) -> str:
        """Return the attempt as text: its actions, its last observation, and its evaluation."""
        return attempt_text(number, self.rollout.start, self.rollout.end, self.evaluation)


def attempt_text(number: int, start: State, end: State, evaluation: str) -> str:
    """Return a simulated attempt as text, from the state that it began in to its last one."""
    done = len(start.history)
    actions = [turn.action for turn in end.history[done:]]
    lines = [f"Attempt {number}, simulated", steps("Actions", actions, done)]
    lines += [f"At the end: {shown(end.observation, SEEN_CHARS)}"] if actions else []
    return "\n".join([*lines, evaluation]).strip()


class Steps(NamedTuple):
    """Actions read from a text.

    Attributes:
        n_before: How many actions of the episode come before the first of them.
        actions: The actions, in order.
    """

    n_before: int
    actions: tuple[Any, ...]


def steps(label: str, actions: Sequence[Any], n_before: int) -> str:
    """Return a line that lists actions with their numbers in the episode. A very long line is cut and not readable."""
    if not actions:
        return f"{label}: none"
    content = json.dumps([encode(action) for action in actions], ensure_ascii=False)
    content = content if len(content) <= ACTIONS_CHARS else f"{content[:ACTIONS_CHARS]}..."
    return f"{label} {n_before + 1}-{n_before + len(actions)}: {content}"


def passes(evaluation: str) -> bool | None:
    """Return whether an evaluation says `pass` or `fail`, or None if it can't be read."""
    content = read_choice(evaluation, "verdict", ("pass(?:e[ds])?", "fail(?:ed|s|ure)?"))
    return None if content is None else content.startswith("pass")


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


def summary_of(attempts: Iterable[str]) -> str:
    """Return a summary without a model: the text of every attempt, and the best attempt that passed as the plan."""
    texts = list(attempts)
    passed = [text for text in texts if passes(text) and _read(text, "Actions")]
    lines = ["What was tried:", *(f"- {text}" for text in texts)]
    if passed:
        best = max(passed, key=_score)
        found = _read(best, "Actions")
        assert found is not None
        lines.append(steps("Plan, actions", found.actions, found.n_before))
    return "\n".join(lines)


def plan_of(notes: Iterable[str]) -> Steps | None:
    """Return the plan in the notes of the real execution, or else the actions of an attempt that passed."""
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

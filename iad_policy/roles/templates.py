"""Roles without a language model, which fill templates.

The ranker and the evaluator use the verifier's verdicts that come with the subject. The paraphraser exchanges phrases,
different ones at each call.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from iad_policy.errors import UnknownName
from iad_policy.prompts.rendering import leaves
from iad_policy.roles.rule_paraphraser import paraphrase
from iad_policy.strategies.building_blocks.attempts import attempt_text, best_plan, plan_between, steps
from iad_policy.types import Candidate, PlannedActions, State, score
from iad_policy.types.call_context import current_call
from iad_policy.types.names import NO_COMPLAINT, ROLES

PASSING_SCORE = 0.5
"""Score from which an attempt passes if the verifier gives only a score."""


class ToldAttempt(NamedTuple):
    """A simulated attempt: what is told about it, its actions, and its evaluation."""

    text: str
    plan: PlannedActions = PlannedActions(0, ())
    evaluation: str = ""


class TemplateRoles:
    """Answers without a model."""

    source = "template"

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Return the role's text. See the module."""
        if role not in ROLES:
            raise UnknownName("role", role, ROLES)
        candidates = [part for part in leaves(subject) if isinstance(part, Candidate)]
        texts = [_text_of(part) for part in leaves(subject)]
        if role == "ranker":
            return str(max(range(len(candidates)), key=lambda place: score(candidates[place]), default=0))
        if role == "evaluator":
            return "\n".join(map(evaluation_of, candidates)) or evaluation_of(Candidate(None))
        if role == "judge":
            return "\n".join(f"{_text_of(one)}: {one.score:.4g}. {_critique(one)}".strip() for one in candidates)
        if role == "critic":
            return " ".join(_critique(one) for one in candidates).strip() or NO_COMPLAINT
        if role == "summariser":
            return summary_of(_attempts(state, subject))
        if role == "reflector":
            return f"That attempt did not succeed: {'; '.join(texts)}. Do something different this time."
        call = current_call()
        return paraphrase("\n".join(texts), call.sample_index, call.stream)


def evaluation_of(candidate: Candidate) -> str:
    """Return an evaluation without a model, from the verdict on the attempt's last action.

    It passes if the episode is over and the verdict says so, or says nothing and has a high enough score.
    """
    verdict, preview = candidate.verdict, candidate.preview
    if verdict is None:
        return "Verdict: fail\nCause: It was not verified.\nSuggestion: Bring it to an end."
    is_over = isinstance(preview, State) and preview.done
    has_passed = is_over and (score(candidate) >= PASSING_SCORE if verdict.passed is None else verdict.passed)
    cause = " ".join(verdict.critique.split()) or "The verifier says no more."
    suggestion = "Do the same." if has_passed else "Do something else." if is_over else "Go on to the end."
    word = "pass" if has_passed else "fail"
    return f"Verdict: {word}\nCause: {cause}\nSuggestion: {suggestion}\nScore: {score(candidate):.4g}"


def summary_of(attempts: Sequence[ToldAttempt]) -> str:
    """Return the text of every attempt, and the best attempt that passed as the plan."""
    plan = best_plan((one.plan, one.evaluation) for one in attempts)
    lines = ["What was tried:", *(f"- {one.text}" for one in attempts)]
    return "\n".join([*lines, *([] if plan is None else [steps("Plan, actions", plan)])])


def _attempts(start: State, subject: Any) -> list[ToldAttempt]:
    """Return what is told of attempts. One that comes with its last state and its evaluation is told step by step."""
    told = []
    for number, part in enumerate(subject if isinstance(subject, list | tuple) else [subject], start=1):
        if isinstance(part, tuple) and isinstance(part[0], State):
            evaluation = "\n".join(map(_text_of, part[1:]))
            text = attempt_text(number, start, part[0], evaluation)
            told.append(ToldAttempt(text, plan_between(start, part[0]), evaluation))
        else:
            told += [ToldAttempt(_text_of(one)) for one in leaves(part)]
    return told


def _text_of(part: Any) -> str:
    if isinstance(part, Candidate):
        return part.error or str(part.action)
    return " -> ".join(str(turn.action) for turn in part.history) if isinstance(part, State) else str(part)


def _critique(candidate: Candidate) -> str:
    return "" if candidate.verdict is None else candidate.verdict.critique

"""Feedback forms: what an agent is told about the candidates tried so far before it proposes again.

A form is a generator too. Most make no request, and judge text asks the critic. It says as data what is told, and the
prompts make the words of it. Agents that are not language models read `Feedback.best`, `.worst` and `.tried`. Their
verdicts are removed, so only the scalar form shows a score. What the agent is asked to do with it is the instruction
(`iad_policy.types.INSTRUCTIONS`), which goes with any form that shows a candidate.

The form's name may limit how much is shown of a candidate, of its result or of the critic's text, in tokens:
`best-worst:300`, `best-worst-judge:300:100`, `findings:300:150`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from iad_policy.errors import UnknownName
from iad_policy.requests import Ask, Asking
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.stop import passed, repeated
from iad_policy.strategies.building_blocks.voting import previewed
from iad_policy.types import DIFFER, Candidate, Feedback, Said, ShownAttempt, ShownTokens, State, score

FeedbackForm = Callable[[State, Sequence[Candidate], float], Asking[Feedback | None]]
"""Generator function of a state, the candidates tried in it, oldest first and verified, and the strategy's delta.

The best one is the `incumbent` under that delta: what would be committed.
"""

SHOWN_TOKENS, RESULT_TOKENS, CRITIQUE_TOKENS, _ = ShownTokens()
WHOLE_TOKENS = 4000
"""Length up to which the attempt that is to be improved is shown whole: one that is cut can only be written anew."""


def fingerprint(feedback: Feedback | None) -> str:
    """Return what distinguishes feedbacks: the text, and the full candidates that it may show only in part."""
    if feedback is None:
        return ""
    told = [one.key or one.error for one in feedback.tried]
    shown = [one.key or one.error for one in (feedback.best, feedback.worst) if one is not None]
    asked = [] if feedback.instruction == DIFFER else [feedback.instruction]
    return "\n".join([feedback.text, *shown, *told, *asked])


def no_feedback(here: State, tried: Sequence[Candidate], delta: float = 0.0) -> Asking[Feedback | None]:
    """Give no feedback, so that the next proposal is independent of the earlier ones."""
    yield from ()
    return None


def scalar(
    here: State, tried: Sequence[Candidate], delta: float = 0.0, *, shown_tokens: int = SHOWN_TOKENS
) -> Asking[Feedback | None]:
    """Show the best candidate and its score."""
    yield from ()
    best = incumbent(tried, delta)
    shown = best.shown()
    return Feedback(
        attempts=(ShownAttempt(shown, "best", score=best.score),), best=shown, shown=ShownTokens(action=shown_tokens)
    )


def best_and_worst(
    here: State, tried: Sequence[Candidate], delta: float = 0.0, *, shown_tokens: int = SHOWN_TOKENS
) -> Asking[Feedback | None]:
    """Show the better and the worse one of the newest candidate and the incumbent before it: the papers' form.

    These are eqs 3-5 of arXiv 2504.01931 v2: the worst is of the two that were compared last.
    """
    yield from ()
    return _best_and_worst(tried, delta, ShownTokens(action=shown_tokens))


def best_and_worst_ever(
    here: State, tried: Sequence[Candidate], delta: float = 0.0, *, shown_tokens: int = SHOWN_TOKENS
) -> Asking[Feedback | None]:
    """Show the best candidate and the worst of all that were tried."""
    yield from ()
    return _best_and_worst(tried, delta, ShownTokens(action=shown_tokens), of_all=True)


def judge_text(
    here: State,
    tried: Sequence[Candidate],
    delta: float = 0.0,
    *,
    shown_tokens: int = SHOWN_TOKENS,
    critique_tokens: int = CRITIQUE_TOKENS,
) -> Asking[Feedback | None]:
    """Show the best candidate and the critic's text about it."""
    best = incumbent(tried, delta)
    said = Said("review", (yield from Ask("critic", here, best)))
    best = best.shown()
    shown = ShownTokens(action=shown_tokens, critique=critique_tokens)
    return Feedback(attempts=(ShownAttempt(best, "best", said=(said,)),), best=best, shown=shown)


def best_worst_and_judge_text(
    here: State,
    tried: Sequence[Candidate],
    delta: float = 0.0,
    *,
    shown_tokens: int = SHOWN_TOKENS,
    critique_tokens: int = CRITIQUE_TOKENS,
) -> Asking[Feedback | None]:
    """Show best, worst and the critic's text about the best: the papers' IAD-fb."""
    critique = yield from Ask("critic", here, incumbent(tried, delta))
    return _best_and_worst(tried, delta, ShownTokens(action=shown_tokens, critique=critique_tokens), critique)


def results(
    here: State,
    tried: Sequence[Candidate],
    delta: float = 0.0,
    *,
    shown_tokens: int = SHOWN_TOKENS,
    result_tokens: int = RESULT_TOKENS,
) -> Asking[Feedback | None]:
    """Show every candidate tried and what it led to, without a judgement; it is simulated if nobody looked yet."""
    attempts = [ShownAttempt(one.shown(), outcome=one.preview) for one in (yield from previewed(here, tried))]
    return _about(tried, delta, attempts, ShownTokens(shown_tokens, result_tokens))


def findings(
    here: State,
    tried: Sequence[Candidate],
    delta: float = 0.0,
    *,
    shown_tokens: int | None = None,
    result_tokens: int = RESULT_TOKENS,
    critique_tokens: int = CRITIQUE_TOKENS,
) -> Asking[Feedback | None]:
    """Show every candidate tried, what it led to, the verifier's findings, and which one the verifier prefers.

    Unless a length is given, the best one is shown whole. Nothing is simulated for it: results are those that the
    verifier looked at.

    Where there is nothing to go on there is no feedback, so the next proposal is independent: if the verifier passes
    the incumbent, or if the newest candidate only repeats an earlier one.
    """
    yield from ()
    if passed(incumbent(tried, delta), tried) or repeated(tried[-1], tried):
        return None
    attempts = [ShownAttempt(one.shown(), outcome=one.preview, findings=_critique(one)) for one in tried]
    best_tokens = WHOLE_TOKENS if shown_tokens is None else None
    shown = ShownTokens(shown_tokens or SHOWN_TOKENS, result_tokens, critique_tokens, best_tokens)
    feedback = _about(tried, delta, attempts, shown)
    distinct: dict[str, tuple[int, Candidate]] = {}
    for number, one in enumerate(tried, start=1):
        if not one.error and one.verdict is not None:
            distinct.setdefault(one.key, (number, one))
    if len(distinct) < 2:  # a single one is not compared
        return feedback
    highest = max(score(one) for _, one in distinct.values())
    return replace(feedback, preferred=tuple([number for number, one in distinct.values() if score(one) == highest]))


def hints(
    here: State,
    tried: Sequence[Candidate],
    delta: float = 0.0,
    *,
    result_tokens: int = RESULT_TOKENS,
    critique_tokens: int = CRITIQUE_TOKENS,
) -> Asking[Feedback | None]:
    """Show what was wrong with the candidates tried, without the candidates: small models copy those that they see.

    Where nothing is known to be wrong there is no feedback, so the next proposal is independent of the earlier ones.
    """
    yield from ()
    doubted = [one for one in tried if one.verdict is None or not one.verdict.passed]
    attempts = [ShownAttempt(one.shown(), "unshown", one.preview, _critique(one)) for one in doubted]
    attempts = [one for one in attempts if one.failure or one.findings]
    if not attempts:
        return None
    return _about(tried, delta, attempts, ShownTokens(result=result_tokens, critique=critique_tokens))


def facts(
    here: State, tried: Sequence[Candidate], delta: float = 0.0, *, result_tokens: int = RESULT_TOKENS
) -> Asking[Feedback | None]:
    """Show what the candidates tried led to, without the candidates and without a judgement.

    Small models copy what they see (docs/models-measured.md).
    """
    seen = yield from previewed(here, tried)
    attempts = [ShownAttempt(one.shown(), "unshown", one.preview) for one in seen]
    return _about(tried, delta, attempts, ShownTokens(result=result_tokens))


def about_last(last: Candidate, *said: Said) -> Feedback:
    """Show the last answer and texts about it, for methods that always revise the last answer.

    Agents that are not language models read `Feedback.best` as the answer to revise, whether it is the best or not.
    """
    shown = last.shown()
    return Feedback(attempts=(ShownAttempt(shown, "last", said=tuple([one for one in said if one.text])),), best=shown)


FORMS: Mapping[str, FeedbackForm] = {
    "none": no_feedback,
    "scalar": scalar,
    "best-worst": best_and_worst,
    "best-worst-ever": best_and_worst_ever,
    "judge": judge_text,
    "best-worst-judge": best_worst_and_judge_text,
    "results": results,
    "findings": findings,
    "hints": hints,
    "facts": facts,
}


def load_feedback(name: str) -> FeedbackForm:
    """Return a feedback form by name: `<form>[:<tokens>[:<tokens> ...]]`, in the order of the form's own options.

    Raises:
        UnknownName: There is no such form.
        ValueError: A length is not a whole number of 1 or more, or the form does not use it.
    """
    kind, *lengths = name.split(":")
    if kind not in FORMS:
        raise UnknownName("feedback form", kind, FORMS)
    truncations = list(inspect.signature(FORMS[kind]).parameters)[3:]
    if len(lengths) > len(truncations) or not all(length.isdecimal() and int(length) for length in lengths):
        form = ":".join([kind, *(f"<{truncation}>" for truncation in truncations)])
        raise ValueError(
            f"expected the feedback form {form}, with whole numbers of 1 or more, got {name!r}; such as best-worst:300"
        )
    given = {truncation: int(length) for truncation, length in zip(truncations, lengths, strict=False)}
    return partial(FORMS[kind], **given) if given else FORMS[kind]


def instructed(feedback: Feedback | None, instruct: str) -> Feedback | None:
    """Return a feedback with an instruction."""
    return None if feedback is None else replace(feedback, instruction=instruct)


def _about(tried: Sequence[Candidate], delta: float, attempts: Sequence[ShownAttempt], shown: ShownTokens) -> Feedback:
    best = incumbent(tried, delta)
    worst = _unlike(best, tried)
    return Feedback(attempts=tuple(attempts), best=best.shown(), worst=worst and worst.shown(), shown=shown)


def _best_and_worst(
    tried: Sequence[Candidate], delta: float, shown: ShownTokens, critique: str = "", *, of_all: bool = False
) -> Feedback:
    best = incumbent(tried, delta)
    if not of_all and len(tried) > 1:
        before = incumbent(tried[:-1], delta)
        tried = [before if best is tried[-1] else tried[-1]]
    said = (Said("review", critique),) if critique else ()
    attempts = [ShownAttempt(best.shown(), "best", said=said)]
    worst = _unlike(best, tried)
    if worst is not None:
        attempts.append(ShownAttempt(worst.shown(), "worst"))
    return Feedback(attempts=tuple(attempts), best=best.shown(), worst=worst and worst.shown(), shown=shown)


def _unlike(best: Candidate, tried: Sequence[Candidate]) -> Candidate | None:
    """Return the worst candidate, the last of several so that the newest counts; None if it is the best."""
    worst = min(reversed(tried), key=score)
    return None if worst.key == best.key else worst


def _critique(candidate: Candidate) -> str:
    return "" if candidate.verdict is None else candidate.verdict.critique.strip()

"""Feedback forms: what an agent is told about the candidates tried so far before it proposes again.

A form is a generator too. Most make no request, and judge text asks the critic. It says as data what is told, and the
prompts make the words of it. Agents that are not language models read `Feedback.best`, `.worst` and `.tried`. Their
verdicts are removed, so only the scalar form shows a score.

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
from iad_policy.strategies.building_blocks.voting import previewed
from iad_policy.types import Candidate, Feedback, Said, ShownAttempt, ShownTokens, State, score

FeedbackForm = Callable[[State, Sequence[Candidate]], Asking[Feedback | None]]
"""Generator function of a state and the candidates tried in it, oldest first and verified."""

SHOWN_TOKENS, RESULT_TOKENS, CRITIQUE_TOKENS = ShownTokens()


def fingerprint(feedback: Feedback | None) -> str:
    """Return what distinguishes feedbacks: the text, and the full candidates that it may show only in part."""
    if feedback is None:
        return ""
    told = [one.key or one.error for one in feedback.tried]
    shown = [one.key or one.error for one in (feedback.best, feedback.worst) if one is not None]
    return "\n".join([feedback.text, *shown, *told])


def no_feedback(here: State, tried: Sequence[Candidate]) -> Asking[Feedback | None]:
    """Give no feedback, so that the next proposal is independent of the earlier ones."""
    yield from ()
    return None


def scalar(here: State, tried: Sequence[Candidate], *, shown_tokens: int = SHOWN_TOKENS) -> Asking[Feedback | None]:
    """Show the best candidate and its score."""
    yield from ()
    best = incumbent(tried)
    shown = best.shown()
    return Feedback(
        attempts=(ShownAttempt(shown, "best", score=best.score),), best=shown, shown=ShownTokens(action=shown_tokens)
    )


def best_and_worst(
    here: State, tried: Sequence[Candidate], *, shown_tokens: int = SHOWN_TOKENS
) -> Asking[Feedback | None]:
    """Show the best and the worst candidate and nothing else (eqs 3-5 of arXiv 2504.01931 v2): the paper's form."""
    yield from ()
    return _best_and_worst(tried, ShownTokens(action=shown_tokens))


def judge_text(
    here: State,
    tried: Sequence[Candidate],
    *,
    shown_tokens: int = SHOWN_TOKENS,
    critique_tokens: int = CRITIQUE_TOKENS,
) -> Asking[Feedback | None]:
    """Show the best candidate and the critic's text about it."""
    best = incumbent(tried)
    said = Said("review", (yield from Ask("critic", here, best)))
    best = best.shown()
    shown = ShownTokens(action=shown_tokens, critique=critique_tokens)
    return Feedback(attempts=(ShownAttempt(best, "best", said=(said,)),), best=best, shown=shown)


def best_worst_and_judge_text(
    here: State,
    tried: Sequence[Candidate],
    *,
    shown_tokens: int = SHOWN_TOKENS,
    critique_tokens: int = CRITIQUE_TOKENS,
) -> Asking[Feedback | None]:
    """Show best, worst and the critic's text about the best: the papers' IAD-fb."""
    critique = yield from Ask("critic", here, incumbent(tried))
    return _best_and_worst(tried, ShownTokens(action=shown_tokens, critique=critique_tokens), critique)


def results(
    here: State,
    tried: Sequence[Candidate],
    *,
    shown_tokens: int = SHOWN_TOKENS,
    result_tokens: int = RESULT_TOKENS,
) -> Asking[Feedback | None]:
    """Show every candidate tried and what it led to, without a judgement; it is simulated if nobody looked yet."""
    attempts = [ShownAttempt(one.shown(), outcome=one.preview) for one in (yield from previewed(here, tried))]
    return _about(tried, attempts, ShownTokens(shown_tokens, result_tokens))


def findings(
    here: State,
    tried: Sequence[Candidate],
    *,
    shown_tokens: int = SHOWN_TOKENS,
    result_tokens: int = RESULT_TOKENS,
    critique_tokens: int = CRITIQUE_TOKENS,
) -> Asking[Feedback | None]:
    """Show every candidate tried, what it led to, the verifier's findings, and which one the verifier prefers.

    Nothing is simulated for it: results are those that the verifier looked at.
    """
    yield from ()
    attempts = [ShownAttempt(one.shown(), outcome=one.preview, findings=_critique(one)) for one in tried]
    feedback = _about(tried, attempts, ShownTokens(shown_tokens, result_tokens, critique_tokens))
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
    return _about(tried, attempts, ShownTokens(result=result_tokens, critique=critique_tokens)) if attempts else None


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
    "judge": judge_text,
    "best-worst-judge": best_worst_and_judge_text,
    "results": results,
    "findings": findings,
    "hints": hints,
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
    truncations = list(inspect.signature(FORMS[kind]).parameters)[2:]
    if len(lengths) > len(truncations) or not all(length.isdecimal() and int(length) for length in lengths):
        form = ":".join([kind, *(f"<{truncation}>" for truncation in truncations)])
        raise ValueError(
            f"expected the feedback form {form}, with whole numbers of 1 or more, got {name!r}; such as best-worst:300"
        )
    given = {truncation: int(length) for truncation, length in zip(truncations, lengths, strict=False)}
    return partial(FORMS[kind], **given) if given else FORMS[kind]


def best_and_worst_of(tried: Sequence[Candidate]) -> tuple[Candidate, Candidate | None]:
    """Return the best and the worst candidate; no worst one if it is the same action as the best.

    The first of several best ones counts, and the last of several worst ones, so that the newest is not passed over.
    """
    best = incumbent(tried)
    worst = min(reversed(tried), key=score)
    return best, None if worst.key == best.key else worst


def _about(tried: Sequence[Candidate], attempts: Sequence[ShownAttempt], shown: ShownTokens) -> Feedback:
    best, worst = best_and_worst_of(tried)
    unlike = None if worst is None else worst.shown()
    return Feedback(attempts=tuple(attempts), best=best.shown(), worst=unlike, shown=shown)


def _best_and_worst(tried: Sequence[Candidate], shown: ShownTokens, critique: str = "") -> Feedback:
    best, worst = best_and_worst_of(tried)
    said = (Said("review", critique),) if critique else ()
    attempts = [ShownAttempt(best.shown(), "best", said=said)]
    if worst is not None:
        attempts.append(ShownAttempt(worst.shown(), "worst"))
    return _about(tried, attempts, shown)


def _critique(candidate: Candidate) -> str:
    return "" if candidate.verdict is None else candidate.verdict.critique.strip()

"""Feedback forms: what an agent is told about the candidates tried so far before it proposes again.

A form is a generator too. Most make no request, and judge text asks the critic. Agents that are not language models
read `Feedback.best`, `.worst` and `.tried`. Their verdicts are removed, so only the scalar form shows a score.

The form's name may limit how much is shown of a candidate, of its result or of the critic's text, in tokens:
`best-worst:300`, `best-worst-judge:300:100`, `findings:300:150`.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from iad_policy.errors import BudgetExhausted, UnknownName
from iad_policy.requests import Ask, Asking, Simulate
from iad_policy.strategies.building_blocks.failures import failure_of
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.results import result_text, truncated
from iad_policy.strategies.building_blocks.voting import result_of
from iad_policy.types import Candidate, Feedback, State, score

FeedbackForm = Callable[[State, Sequence[Candidate]], Asking[Feedback | None]]
"""Generator function of a state and the candidates tried in it, oldest first and verified."""

HINTS = "Mind:"
"""The first line of a feedback that shows no candidate."""
SHOWN_TOKENS = 300
"""Tokens shown of a candidate (arXiv 2504.01931 v2 shows 200-300)."""
RESULT_TOKENS = 150
"""Tokens shown of what a candidate led to."""
CRITIQUE_TOKENS = 100
"""Tokens shown of the judge's text, or of the verifier's findings."""


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
    return Feedback(f"{_labelled('Best', best, shown_tokens)}\nScore: {best.score:.4g}", best=best.shown())


def best_and_worst(
    here: State, tried: Sequence[Candidate], *, shown_tokens: int = SHOWN_TOKENS
) -> Asking[Feedback | None]:
    """Show the best and the worst candidate and nothing else (eqs 3-5 of arXiv 2504.01931 v2): the paper's form."""
    yield from ()
    return _best_and_worst(tried, "", shown_tokens)


def judge_text(
    here: State,
    tried: Sequence[Candidate],
    *,
    shown_tokens: int = SHOWN_TOKENS,
    critique_tokens: int = CRITIQUE_TOKENS,
) -> Asking[Feedback | None]:
    """Show the best candidate and the critic's text about it."""
    best = incumbent(tried)
    critique = truncated((yield from Ask("critic", here, best)), critique_tokens)
    return Feedback(f"{_labelled('Best', best, shown_tokens)}\nReview: {critique}", best.shown(), critique=critique)


def best_worst_and_judge_text(
    here: State,
    tried: Sequence[Candidate],
    *,
    shown_tokens: int = SHOWN_TOKENS,
    critique_tokens: int = CRITIQUE_TOKENS,
) -> Asking[Feedback | None]:
    """Show best, worst and the critic's text about the best: the papers' IAD-fb."""
    critique = truncated((yield from Ask("critic", here, incumbent(tried))), critique_tokens)
    return _best_and_worst(tried, critique, shown_tokens)


def results(
    here: State,
    tried: Sequence[Candidate],
    *,
    shown_tokens: int = SHOWN_TOKENS,
    result_tokens: int = RESULT_TOKENS,
) -> Asking[Feedback | None]:
    """Show every candidate tried and what it led to, without a judgement; it is simulated if nobody looked yet."""
    previewed = yield from _previewed(here, tried)
    blocks = _attempts(here, previewed, shown_tokens, result_tokens)
    return _told("\n".join(blocks), tried)


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
    blocks = [*_attempts(here, tried, shown_tokens, result_tokens, critique_tokens), _preference(tried)]
    return _told("\n".join(block for block in blocks if block), tried)


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
    remarks = dict.fromkeys(remark for one in tried for remark in _remarks(one, result_tokens, critique_tokens))
    if not remarks:
        return None
    return _told("\n".join([HINTS, *(f"- {remark}" for remark in remarks)]), tried, lists_all=False)


def about_last(last: Candidate, *said: tuple[str, str]) -> Feedback:
    """Show the last answer and labelled texts about it, for methods that always revise the last answer.

    Agents that are not language models read `Feedback.best` as the answer to revise, whether it is the best or not.
    """
    shown = [(label, truncated(text, CRITIQUE_TOKENS)) for label, text in said if text]
    blocks = [f"Last: {truncated(last.error or str(last.action), SHOWN_TOKENS)}", *map(": ".join, shown)]
    critique = "\n".join(text for _, text in shown)
    return Feedback("\n".join(blocks), best=last.shown(), critique=critique, tried=(last.shown(),))


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


def _told(text: str, tried: Sequence[Candidate], critique: str = "", *, lists_all: bool = True) -> Feedback:
    best, worst = best_and_worst_of(tried)
    told = tuple(one.shown() for one in tried) if lists_all else ()
    return Feedback(text, best.shown(), None if worst is None else worst.shown(), critique, told)


def _best_and_worst(tried: Sequence[Candidate], critique: str, shown_tokens: int) -> Feedback:
    best, worst = best_and_worst_of(tried)
    blocks = [_labelled("Best", best, shown_tokens)]
    if worst is not None:
        blocks.append(_labelled("Worst", worst, shown_tokens))
    if critique:
        blocks.append(f"Review: {critique}")
    return _told("\n".join(blocks), tried, critique, lists_all=False)


def _labelled(label: str, candidate: Candidate, shown_tokens: int) -> str:
    return f"{label}: {truncated(candidate.error or str(candidate.action), shown_tokens)}"


def _previewed(here: State, tried: Sequence[Candidate]) -> Asking[list[Candidate]]:
    """Return the candidates with their simulated results, as far as the budget goes."""
    previewed = []
    for candidate in tried:
        if candidate.preview is None and not candidate.error:
            with suppress(BudgetExhausted):
                candidate = replace(candidate, preview=(yield from Simulate(here, candidate)))
        previewed.append(candidate)
    return previewed


def _attempts(
    here: State, tried: Sequence[Candidate], shown_tokens: int, result_tokens: int, critique_tokens: int = 0
) -> Iterator[str]:
    """Yield a block per candidate, oldest first: the action, its result, and the verifier's findings if asked for.

    What was said of an earlier candidate is not said again. Blocks never change when a candidate is added, except for
    revised findings, so a server that keeps prompts reads only the new ones.
    """
    actions: dict[str, int] = {}
    seen: dict[str, int] = {}
    said: dict[str, int] = {}
    for number, one in enumerate(tried, start=1):
        if one.error:
            yield f"Tried {number}, which is no action: {truncated(one.error, shown_tokens)}"
            continue
        if one.key in actions:
            yield f"Tried {number}: the same as {actions[one.key]}."
            continue
        actions[one.key] = number
        lines = [f"Tried {number}: {truncated(str(one.action), shown_tokens)}"]
        result = "" if one.preview is None else result_text(here, one.preview, shown_tokens=result_tokens)
        if one.preview is not None:
            first = seen.setdefault(f"{result_of(one.preview)}\n{result}", number)
            lines.append(f"Result: {result}" if first == number else f"Result: equal to that of {first}.")
        critique = _critique(one, critique_tokens)
        if critique and critique.rstrip(".") not in result:
            first = said.setdefault(critique, number)
            lines.append(f"Findings: {critique}" if first == number else f"Findings: as of {first}.")
        yield "\n".join(lines)


def _remarks(one: Candidate, result_tokens: int, critique_tokens: int) -> Iterator[str]:
    """Yield what is known to be wrong with a candidate: its error, or else the findings, in one line each."""
    if one.verdict is not None and one.verdict.passed:
        return
    if one.error:
        yield truncated(" ".join(one.error.split()), result_tokens)
    elif critique := _critique(one, critique_tokens):
        yield critique
    elif one.preview is not None and (failure := failure_of(one.preview)):
        yield truncated(" ".join(failure.split()), result_tokens)


def _critique(candidate: Candidate, critique_tokens: int) -> str:
    """Return the verifier's findings in one line."""
    if not critique_tokens or candidate.verdict is None:
        return ""
    return truncated(" ".join(candidate.verdict.critique.split()), critique_tokens)


def _preference(tried: Sequence[Candidate]) -> str:
    """Return which candidates the verifier prefers, by their numbers, without scores."""
    distinct: dict[str, tuple[int, Candidate]] = {}
    for number, one in enumerate(tried, start=1):
        if not one.error and one.verdict is not None:
            distinct.setdefault(one.key, (number, one))
    if len(distinct) < 2:
        return ""
    highest = max(score(one) for _, one in distinct.values())
    best = [str(number) for number, one in distinct.values() if score(one) == highest]
    if len(best) == len(distinct):
        return f"The verifier finds {_listed(best)} equally good."
    return f"The verifier prefers {_listed(best)}."


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last

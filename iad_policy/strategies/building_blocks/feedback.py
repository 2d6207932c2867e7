"""Feedback forms: what an agent is given about its best and worst candidates before it proposes again.

A form is a generator too. Most make no request, and judge text asks the critic. Agents that are not language models
read `Feedback.best` and `.worst`. Their verdicts are removed, so only the scalar form shows a score.

The form's name may limit how much of a candidate and of the critic's text is shown, in tokens: `best-worst:300`,
`best-worst-judge:300:100`.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from iad_policy.errors import UnknownName
from iad_policy.requests import Ask, Asking
from iad_policy.types import Candidate, Feedback, State

FeedbackForm = Callable[[State, Candidate, Candidate | None], Asking[Feedback | None]]

SHOWN_TOKENS = 300
"""Tokens shown of a best or worst candidate (arXiv 2504.01931 v2 shows 200-300)."""
CRITIQUE_TOKENS = 100
"""Tokens shown of the judge's text."""
CHARS_PER_TOKEN = 4


def fingerprint(feedback: Feedback | None) -> str:
    """Return what distinguishes feedbacks: the text, and the full candidates that it may show only in part."""
    if feedback is None:
        return ""
    shown = [one.key or one.error for one in (feedback.best, feedback.worst) if one is not None]
    return "\n".join([feedback.text, *shown])


def truncated(text: str, n_tokens: int) -> str:
    """Return the start of a text, in tokens of four characters. No tokenizer is needed."""
    limit = n_tokens * CHARS_PER_TOKEN
    return text if len(text) <= limit else f"{text[:limit]}..."


def no_feedback(here: State, best: Candidate, worst: Candidate | None) -> Asking[Feedback | None]:
    """Give no feedback, so that the next proposal is independent of the earlier ones."""
    yield from ()
    return None


def scalar(
    here: State, best: Candidate, worst: Candidate | None, *, shown_tokens: int = SHOWN_TOKENS
) -> Asking[Feedback | None]:
    """Show the incumbent and its score."""
    yield from ()
    return Feedback(f"{_block('Best', best, shown_tokens)}\nScore: {best.score:.4g}", best=best.shown())


def best_and_worst(
    here: State, best: Candidate, worst: Candidate | None, *, shown_tokens: int = SHOWN_TOKENS
) -> Asking[Feedback | None]:
    """Show the best and the worst candidate (eqs 3-5 of arXiv 2504.01931 v2), or the best if there is only one."""
    yield from ()
    return _best_and_worst(best, worst, "", shown_tokens)


def judge_text(
    here: State,
    best: Candidate,
    worst: Candidate | None,
    *,
    shown_tokens: int = SHOWN_TOKENS,
    critique_tokens: int = CRITIQUE_TOKENS,
) -> Asking[Feedback | None]:
    """Show the incumbent and the critic's text about it."""
    critique = truncated((yield from Ask("critic", here, best)), critique_tokens)
    return Feedback(f"{_block('Best', best, shown_tokens)}\nReview: {critique}", best=best.shown(), critique=critique)


def best_worst_and_judge_text(
    here: State,
    best: Candidate,
    worst: Candidate | None,
    *,
    shown_tokens: int = SHOWN_TOKENS,
    critique_tokens: int = CRITIQUE_TOKENS,
) -> Asking[Feedback | None]:
    """Show best, worst and the critic's text about the best: the papers' IAD-fb."""
    critique = truncated((yield from Ask("critic", here, best)), critique_tokens)
    return _best_and_worst(best, worst, critique, shown_tokens)


def about_last(last: Candidate, *said: tuple[str, str]) -> Feedback:
    """Show the last answer and labelled texts about it, for methods that always revise the last answer.

    Agents that are not language models read `Feedback.best` as the answer to revise, whether it is the best or not.
    """
    shown = [(label, truncated(text, CRITIQUE_TOKENS)) for label, text in said if text]
    blocks = [f"Last: {truncated(last.error or str(last.action), SHOWN_TOKENS)}", *map(": ".join, shown)]
    return Feedback("\n".join(blocks), best=last.shown(), critique="\n".join(text for _, text in shown))


FORMS: Mapping[str, FeedbackForm] = {
    "none": no_feedback,
    "scalar": scalar,
    "best-worst": best_and_worst,
    "judge": judge_text,
    "best-worst-judge": best_worst_and_judge_text,
}


def load_feedback(name: str) -> FeedbackForm:
    """Return a feedback form by name: `<form>[:<shown tokens>[:<critique tokens>]]`.

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


def _best_and_worst(best: Candidate, worst: Candidate | None, critique: str, shown_tokens: int) -> Feedback:
    blocks = [_block("Best", best, shown_tokens)]
    if worst is not None and worst.key != best.key:
        blocks.append(_block("Worst", worst, shown_tokens))
    else:
        worst = None
    if critique:
        blocks.append(f"Review: {critique}")
    return Feedback("\n".join(blocks), best.shown(), None if worst is None else worst.shown(), critique)


def _block(label: str, candidate: Candidate, shown_tokens: int) -> str:
    said: Any = candidate.error if candidate.error else candidate.action
    return f"{label}: {truncated(str(said), shown_tokens)}"

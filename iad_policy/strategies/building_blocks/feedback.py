"""Feedback forms: what an agent is told of its best and worst candidates before it proposes again.

A form is a generator too: most ask nothing, judge text asks the critic. An agent that is no language model reads
`Feedback.best` and `.worst`; their verdicts are left out, so only the scalar form shows a score.

How much of a candidate and of the critic's text is shown can stand in the form's name, in tokens: `best-worst:300`,
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
"""Of a best or worst candidate (arXiv 2504.01931 v2 shows 200-300)."""
CRITIQUE_TOKENS = 100
"""Of the judge's text."""
CHARS_PER_TOKEN = 4


def told(feedback: Feedback | None) -> str:
    """Return what tells feedbacks apart: the text, and what it leaves out of the candidates it shows."""
    if feedback is None:
        return ""
    shown = [one.key or one.error for one in (feedback.best, feedback.worst) if one is not None]
    return "\n".join([feedback.text, *shown])


def truncated(text: str, n_tokens: int) -> str:
    """Return the head of a text, in tokens of four characters: needs no tokenizer."""
    limit = n_tokens * CHARS_PER_TOKEN
    return text if len(text) <= limit else f"{text[:limit]}..."


def no_feedback(here: State, best: Candidate, worst: Candidate | None) -> Asking[Feedback | None]:
    """Tell nothing: the next proposal is independent of the ones before."""
    yield from ()
    return None


def scalar(
    here: State, best: Candidate, worst: Candidate | None, *, shown_tokens: int = SHOWN_TOKENS
) -> Asking[Feedback | None]:
    """Tell the incumbent and its score."""
    yield from ()
    return Feedback(f"{_block('Best', best, shown_tokens)}\nScore: {best.score:.4g}", best=best.shown())


def best_and_worst(
    here: State, best: Candidate, worst: Candidate | None, *, shown_tokens: int = SHOWN_TOKENS
) -> Asking[Feedback | None]:
    """Tell the best and the worst candidate (eqs 3-5 of arXiv 2504.01931 v2); the best alone while it is the only."""
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
    """Tell the incumbent and what the critic says of it."""
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
    """Tell best, worst and what the critic says of the best: the papers' IAD-fb."""
    critique = truncated((yield from Ask("critic", here, best)), critique_tokens)
    return _best_and_worst(best, worst, critique, shown_tokens)


def about_last(last: Candidate, *said: tuple[str, str]) -> Feedback:
    """Tell the last answer, and under a label each what is said of it: for methods that always revise the last one.

    Agents that are no language models read `Feedback.best` as what is to be revised, whether it is the best or not.
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
        UnknownName: No such form.
        ValueError: A length that is no whole number of 1 or more, or one that the form has no use for.
    """
    kind, *lengths = name.split(":")
    if kind not in FORMS:
        raise UnknownName("feedback form", kind, FORMS)
    truncations = list(inspect.signature(FORMS[kind]).parameters)[3:]
    if len(lengths) > len(truncations) or not all(length.isdecimal() and int(length) for length in lengths):
        form = ":".join([kind, *(f"<{truncation}>" for truncation in truncations)])
        raise ValueError(f"expected the feedback form {form}, with whole numbers of 1 or more, got {name!r}")
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

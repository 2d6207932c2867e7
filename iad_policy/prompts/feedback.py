"""Makes the words of a feedback: which earlier proposals there were, what they led to, and what was said about them."""

from collections.abc import Iterator

from iad_policy.prompts.rendering import Rendering
from iad_policy.types import Feedback, ShownAttempt, State
from iad_policy.types.texts import tail, truncated


def feedback_text(feedback: Feedback, words: Rendering) -> str:
    """Return a feedback in words, with an environment's words for results."""
    attempts = feedback.attempts
    if is_hint(feedback):
        remarks = dict.fromkeys(filter(None, (_remark(one, feedback, words) for one in attempts)))
        are_faults = all(one.findings or one.failure for one in attempts)
        head = "Mind:" if are_faults else "Earlier attempts led to:"
        return "\n".join([head, *(f"- {remark}" for remark in remarks)])
    if attempts and attempts[0].shown_as == "tried":
        return "\n".join([*_listed(feedback, words), *_preference(feedback)])
    heads = [_headed(one.shown_as.capitalize(), one, feedback, words) for one in attempts]
    scores = [f"Score: {one.score:.4g}" for one in attempts if one.score is not None]
    said = [
        f"{kind.capitalize()}: {truncated(text, feedback.shown.critique)}"
        for one in attempts
        for kind, text in one.said
    ]
    return "\n".join([*heads, *scores, *said])


def is_hint(feedback: Feedback) -> bool:
    """Whether a feedback shows no proposal, but only what was wrong with some, or what they led to."""
    return bool(feedback.attempts) and feedback.attempts[0].shown_as == "unshown"


def tells_results(feedback: Feedback) -> bool:
    """Whether a feedback tells what a proposal led to."""
    return any(
        (one.outcome is not None and one.shown_as == "tried" and not one.candidate.error)
        or any(said.kind in ("output", "error") for said in one.said)
        for one in feedback.attempts
    )


def all_failed(feedback: Feedback) -> bool:
    """Whether no proposal that a feedback shows can be carried out, so that none of them may be repeated."""
    shown = [one for one in feedback.attempts if one.shown_as in ("tried", "last")]
    known = {one.candidate.key: one for one in reversed(shown) if not one.candidate.error}
    first = [known.get(one.candidate.key, one) for one in shown]
    return len(shown) == len(feedback.attempts) > 0 and all(_is_told_as_failed(one) for one in first)


def result_text(after: State, words: Rendering, n_tokens: int) -> str:
    """Return what an action led to: the failure, or what changed and the parts of the observation that are new."""
    if after.failure:
        return f"it failed: {tail(after.failure, n_tokens)}"
    before = after.history[-1] if after.history else None
    told = [*words.changes(before, after), *filter(None, [words.news(before, after, n_tokens)])]
    if after.is_awaiting:
        told.append("it waits for an answer that can't be simulated")
    return "\n".join(told) or ("it ends the task" if after.done else "nothing that can be seen changed")


def _is_told_as_failed(one: ShownAttempt) -> bool:
    # An answer that is no action is revised like any other by methods that always revise the last answer.
    return any(said.kind == "error" for said in one.said) if one.shown_as == "last" else bool(one.failure)


def _headed(label: str, one: ShownAttempt, feedback: Feedback, words: Rendering) -> str:
    error, n_tokens = one.candidate.error, feedback.shown.action
    if feedback.best is not None and one.candidate.key == feedback.best.key:
        n_tokens = feedback.shown.best or n_tokens
    shown = truncated(error, n_tokens) if error else words.tried(one.candidate.action, n_tokens)
    return f"{label}:{shown}" if shown.startswith("\n") else f"{label}: {shown}"


def _listed(feedback: Feedback, words: Rendering) -> Iterator[str]:
    """Yield a block per attempt, oldest first: the action, its result, and the verifier's findings where told.

    What was said of an earlier attempt is not said again. Blocks never change when an attempt is added, except for
    revised findings, so a server that keeps prompts reads only the new ones.
    """
    actions: dict[str, int] = {}
    seen: dict[str, int] = {}
    said: dict[str, int] = {}
    for number, one in enumerate(feedback.attempts, start=1):
        candidate = one.candidate
        if candidate.error:
            yield f"Tried {number}, which is no action: {truncated(candidate.error, feedback.shown.action)}"
            continue
        if candidate.key in actions:
            yield f"Tried {number}: the same as {actions[candidate.key]}."
            continue
        actions[candidate.key] = number
        lines = [_headed(f"Tried {number}", one, feedback, words)]
        result = "" if one.outcome is None else result_text(one.outcome, words, feedback.shown.result)
        if one.outcome is not None:
            first = seen.setdefault(f"{one.outcome.result}\n{result}", number)
            lines.append(f"Result: {result}" if first == number else f"Result: equal to that of {first}.")
        findings = _in_one_line(one.findings, feedback.shown.critique)
        if findings and findings.rstrip(".") not in result:
            first = said.setdefault(findings, number)
            lines.append(f"Findings: {findings}" if first == number else f"Findings: as of {first}.")
        yield "\n".join(lines)


def _remark(one: ShownAttempt, feedback: Feedback, words: Rendering) -> str:
    """Return what is known of an attempt in one line: its error, or else the findings, a failure or the result."""
    if one.findings and not one.candidate.error:
        return _in_one_line(one.findings, feedback.shown.critique)
    if one.failure or one.outcome is None:
        return _in_one_line(one.failure, feedback.shown.result)
    return " ".join(result_text(one.outcome, words, feedback.shown.result).split())


def _in_one_line(text: str, n_tokens: int) -> str:
    return truncated(" ".join(text.split()), n_tokens)


def _preference(feedback: Feedback) -> Iterator[str]:
    """Yield which attempts the verifier prefers, by their numbers, without scores."""
    if not feedback.preferred:
        return
    *others, last = map(str, feedback.preferred)
    names = f"{', '.join(others)} and {last}" if others else last
    usable = {one.candidate.key for one in feedback.attempts if not one.candidate.error}
    are_equal = len(feedback.preferred) == len(usable)
    yield f"The verifier finds {names} equally good." if are_equal else f"The verifier prefers {names}."

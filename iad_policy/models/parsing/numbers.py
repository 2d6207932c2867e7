"""Reads a whole number as an action."""

import re
from collections.abc import Iterator

from iad_policy.models.parsing.actions import CUT
from iad_policy.models.parsing.fences import fence_at, fences
from iad_policy.models.parsing.grammar import Reading
from iad_policy.models.parsing.tool_calls import tool_call
from iad_policy.types.answers.headings import ACTION, ANSWER, HEADLINE, INPUT, NEXT_PART, without_stop_tokens
from iad_policy.types.answers.reasoning import split_reasoning

_INTEGER = re.compile(r"(?<![\w.])[-+]?\d{1,18}(?!\d|[\w.]*\d)")
_CHOICE = re.compile(r"[)\].*`\"']*\s*(?:/|,|or\b|and\b|oder\b|ou\b|или\b|或)\s*[(\[*`\"']*[-+]?\d")
"""Matches a second number behind the first one, between which no choice was made."""


def read_integer(text: str, *, is_cut: bool = False) -> Reading:
    """Read the whole number that an answer gives.

    It is the number that begins the text after `Action:`, or that is alone on the first or last line, or the only one
    of the text.

    Args:
        text: The model's answer.
        is_cut: Whether the answer ended at the limit of its length. Then a number at its very end doesn't count.
    """
    if not text.strip():
        return Reading(None, "", CUT if is_cut else "an empty answer")
    reasoned = split_reasoning(text)
    visible = without_stop_tokens(reasoned.rest)
    for thought, body in _places(visible, is_open=reasoned.is_open):
        found = _number_at_start(body)
        if found is None:
            continue
        if is_cut and not body[found.end() :]:
            break
        thoughts = (reasoned.reasoning, "" if reasoned.is_open else thought.strip())
        return Reading(int(found[0]), "\n".join(filter(None, thoughts)))
    if is_cut:
        return Reading(None, text, CUT)
    return Reading(None, text, "reasoning that doesn't end" if reasoned.is_open else "")


def _places(text: str, *, is_open: bool) -> Iterator[tuple[str, str]]:
    """Yield the thought before each place that may give the number, and the text from there; the surest come first."""
    headings = sorted((match.start(), match.end()) for one in (ACTION, HEADLINE) for match in one.finditer(text))
    for start, end in headings[-1:] if is_open else headings[:1]:
        yield text[:start], _given(text[end:])
    if is_open or headings:
        return
    if text.lstrip()[:1] in ("{", "[", "<"):
        yield "", _given(text)
    for fence in fences(text)[:1]:
        yield text[: fence.start], _given(text[fence.start :])
    for match in ANSWER.finditer(text):
        yield text[: match.start()], _given(text[match.end() :])
        break
    first, last = text.strip().partition("\n")[0], text.strip().rpartition("\n")[2]
    yield from (("", line) for line in (first, last) if not re.search(r"[^\W\d]", line))
    numbers = list(_INTEGER.finditer(text))
    if len({number[0] for number in numbers}) == 1:
        yield text[: numbers[0].start()], text[numbers[0].start() :]


def _given(body: str) -> str:
    """Return the text that gives the number: what a fence or an object holds, or what stands before the next part."""
    fence = fence_at(body)
    if fence is not None:
        return _given(fence.text) if fence.is_closed else ""
    call = tool_call(body)
    if call is not None:
        given = call.name if call.argument is None else call.argument
        return f"{given}\n"
    given_input = INPUT.search(body)
    body = body[given_input.end() :] if given_input else body
    following = NEXT_PART.search(body)
    return body[: following.start()] if following else body


def _number_at_start(text: str) -> "re.Match[str] | None":
    """Return the number that a text begins with, or the only one of its first line."""
    start = len(text) - len(text.lstrip())
    line_end = text.find("\n", start)
    end = len(text) if line_end < 0 else line_end
    numbers = list(_INTEGER.finditer(text, start, end))
    if not numbers:
        return None
    first = numbers[0]
    begins = not re.search(r"\w", text[start : first.start()]) and not _CHOICE.match(text, first.end(), end)
    return first if begins or len({number[0] for number in numbers}) == 1 else None

"""Reads a whole number as an action."""

import re
from collections.abc import Iterator

from iad_policy.models.parsing.calls import call_at
from iad_policy.models.parsing.fences import fence_at, fences
from iad_policy.models.parsing.grammar import CUT, OPEN, Reading
from iad_policy.types.answers import ACTION, NEXT_PART, split_reasoning, within_turn

_INTEGER = re.compile(r"(?<![\w.])[-+]?\d{1,18}(?!\d|[\w.]*\d)")


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
    # Matches a second number behind the first one, between which no choice was made
    choice = re.compile(r"[)\].*`\"']*\s*(?:/|,|or\b|and\b)\s*[(\[*`\"']*[-+]?\d")
    for thought, body in _places(within_turn(reasoned.rest), is_open=reasoned.is_open):
        line = body.lstrip().partition("\n")[0]
        numbers = list(_INTEGER.finditer(line))
        begins = numbers and not re.search(r"\w", line[: numbers[0].start()])
        is_choice = begins and not choice.match(line, numbers[0].end())
        if not is_choice and len({number[0] for number in numbers}) != 1:
            continue
        if is_cut and body.lstrip()[numbers[0].end() :] == "":
            break
        thoughts = (reasoned.reasoning, "" if reasoned.is_open else thought.strip())
        return Reading(int(numbers[0][0]), "\n".join(filter(None, thoughts)))
    return Reading(None, text, CUT if is_cut else OPEN if reasoned.is_open else "")


def _places(text: str, *, is_open: bool) -> Iterator[tuple[str, str]]:
    """Yield the thought before each place that may give the number, and the text from there; the surest come first."""
    headings = list(ACTION.finditer(text))
    for heading in headings[-1:] if is_open else headings[:1]:
        yield text[: heading.start()], _given(text[heading.end() :])
    if is_open or headings:
        return
    if text.lstrip()[:1] in ("{", "[", "<"):
        yield "", _given(text)
    for fence in fences(text)[:1]:
        yield text[: fence.start], _given(text[fence.start :])
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
    if call := call_at(body):
        return f"{call.name if not call.arguments else call.argument}\n"
    following = NEXT_PART.search(body)
    return body[: following.start()] if following else body

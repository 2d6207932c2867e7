"""Reads an action that may be any text. Where examples are listed, it has one line as they have."""

import re
from collections.abc import Iterator

from iad_policy.models.parsing.brackets import call_at_start
from iad_policy.models.parsing.calls import ToolCall
from iad_policy.models.parsing.fences import Fence
from iad_policy.models.parsing.grammar import NOTHING_READ, FoundAction, Grammar, Problem, ended
from iad_policy.models.parsing.words import REMARK, is_prose, unwrapped
from iad_policy.types.answers import EARLIER_PART, NEXT_PART


def plain(body: str, grammar: Grammar) -> FoundAction | Problem:
    """Read the action that a text begins with."""
    following = NEXT_PART.search(body, 1)
    read = _text(body[: following.start()] if following else body, grammar)
    return ended(read, is_closed=True) if following else read


def fenced(fence: Fence, grammar: Grammar) -> FoundAction | Problem:
    """Read a fence: its whole text is the action."""
    return FoundAction(fence.text, fence.is_closed) if fence.text.strip() else NOTHING_READ


def called(call: ToolCall, grammar: Grammar) -> FoundAction | Problem:
    """Return the action that an object holds as its one text."""
    return (
        _text(call.name, grammar) if not call.arguments else Problem(f"a call of {call.name}, which is no action here")
    )


def alone(text: str, grammar: Grammar, *, bare: bool) -> Iterator[tuple[str, FoundAction | Problem]]:
    """Yield what a text without any heading states: a listed action on its first or last line, or itself."""
    first, newline, _ = text.partition("\n")
    if listed := grammar.listed_as(first):
        yield "", FoundAction(listed, is_closed=bool(newline))
    if bare and not (newline and grammar.listed):
        yield "", _text(text, grammar)
    before, _, last = text.rpartition("\n")
    if (is_prose(first) or EARLIER_PART.match(first)) and (listed := grammar.listed_as(last)):
        yield before, FoundAction(listed, is_closed=False)


def _text(body: str, grammar: Grammar) -> FoundAction | Problem:
    line, newline, _ = body.strip().partition("\n")
    if listed := grammar.listed_as(line):
        return FoundAction(listed, is_closed=bool(newline))
    call = call_at_start(body.strip(), ())
    if not grammar.listed and call is not None and REMARK.match(body.strip(), call.end):
        return FoundAction(body.strip()[: call.end])
    text = unwrapped(line if grammar.listed else body)
    if not text:
        return NOTHING_READ
    if re.fullmatch(r"<[^<>\n]{1,80}>|\.\.\.|…|none|n/a|\[?(?:your )?(?:next )?action\]?", text, re.IGNORECASE):
        return Problem(f"the placeholder {text!r}")
    return FoundAction(text, is_closed=bool(newline) and bool(grammar.listed))

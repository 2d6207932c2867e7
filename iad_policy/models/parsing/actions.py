"""Reads the action of an answer, for environments whose actions are texts.

An answer may have reasoning, a heading, code fences, objects and remarks around its action. The action is taken out as
it is written, and nothing is executed that can't be told from a remark. docs/models.md says what is looked for, in
order. What an action looks like is the matter of a module per language: `shell`, `brackets` for the shop and SQL,
`page`, `any_text`. Each has `plain`, `fenced`, `called` and `alone`.
"""

import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import NamedTuple

from iad_policy.models.parsing import any_text, brackets, page, shell
from iad_policy.models.parsing.calls import MAX_PLACES, ToolCall, call_at
from iad_policy.models.parsing.fences import Fence, fence_at, fences
from iad_policy.models.parsing.grammar import CUT, NOTHING_READ, OPEN, FoundAction, Grammar, Problem, Reading
from iad_policy.models.parsing.shell_syntax import is_inside_document
from iad_policy.models.parsing.sql import begins_sql
from iad_policy.types.answers import ACTION, EARLIER_PART, closing_marks, split_reasoning, within_turn


class _Stated(NamedTuple):
    """A place where an answer states an action: the thought before it, and what was read."""

    thought: str
    read: FoundAction | Problem


def read_action(text: str, grammar: Grammar, *, bare: bool = True, is_cut: bool = False) -> Reading:
    """Read the action of an answer. No text makes it raise.

    Args:
        text: The model's answer.
        grammar: The actions of the state.
        bare: Whether the answer may be the action alone, without a heading, a fence or brackets.
        is_cut: Whether the answer ended at the limit of its length. Then an action counts only if it ends before.
    """
    if not text.strip():
        return Reading(None, "", CUT if is_cut else "an empty answer")
    reasoned = split_reasoning(text)
    bare = not reasoned.is_open and (bare or bool(reasoned.reasoning))
    problem = ""
    for stated in _stated(within_turn(reasoned.rest), grammar, bare=bare, is_open=reasoned.is_open):
        if isinstance(stated.read, Problem):
            problem = problem or stated.read.got
            continue
        if is_cut and not stated.read.is_closed:
            break
        before = stated.thought if not reasoned.is_open else ""
        thoughts = (reasoned.reasoning, before.strip(), stated.read.thought.strip())
        return Reading(stated.read.action, "\n".join(filter(None, thoughts)))
    return Reading(None, text, CUT if is_cut else OPEN if reasoned.is_open else problem)


def _stated(text: str, grammar: Grammar, *, bare: bool, is_open: bool) -> Iterator[_Stated]:
    """Yield what is read at each place that may state the action, the surest places first."""
    found = fences(text, holds_marks=_marks_in(grammar))
    spans = iter([*((fence.start, fence.end) for fence in found), (len(text), len(text))])
    start, end = next(spans)
    places: list[tuple[int, int, str]] = []  # start, end and closing marks of each heading or object outside fences
    headings = ((one.start(), one.end(), closing_marks(one)) for one in ACTION.finditer(text))
    begins_object = re.compile(r"(?m)^[ \t]*(?:(?:\[\s*)?\{\s*[\"'][^\n]|<(?:tool_calls?>|function_calls?>|function=))")
    objects = ((one.start(), one.start(), "") for one in begins_object.finditer(text))
    for place in sorted([*headings, *list(objects)[:MAX_PLACES]]):
        while end <= place[0] < len(text):
            start, end = next(spans)
        is_object = place[0] == place[1]
        if place[0] < start and not (is_object and grammar.syntax == "shell" and is_inside_document(text[: place[0]])):
            places.append(place)
    is_refused = False
    for start, end, marks in places[-1:] if is_open else places[:MAX_PLACES]:
        line, newline, rest = text[end:].partition("\n")
        read = _interpreted(f"{line.rstrip().removesuffix(marks)}{newline}{rest}" if marks else text[end:], grammar)
        is_refused |= isinstance(read, Problem) and bool(read.got)
        yield _Stated(text[:start], read)
    if is_open:
        return
    chosen = found[:MAX_PLACES]
    if grammar.syntax == "shell":  # a fence in none of its languages may hold output
        chosen.sort(key=lambda fence: fence.language in brackets.PLAIN_LANGUAGES)
    elif all(begins_sql(one.text) for one in chosen if one.language in brackets.LANGUAGES):
        chosen.reverse()  # of several bare queries the last is the improved one; else later ones depend on the first
    for fence in chosen:
        yield _Stated(text[: fence.start], _fenced(fence, grammar, depth=0))
    if not is_refused:
        yield from (_Stated(*stated) for stated in _language(grammar).alone(text.strip(), grammar, bare=bare))


def _interpreted(body: str, grammar: Grammar, *, depth: int = 0) -> FoundAction | Problem:
    """Read the action that a text begins with, behind a heading or inside a wrapper."""
    body = body.lstrip()
    if depth > 4 or not body:  # so many wrappers inside each other, such as an object in a fence, are taken off
        return NOTHING_READ
    if fence := fence_at(body, holds_marks=_marks_in(grammar)):
        return _fenced(fence, grammar, depth=depth + 1)
    if call := call_at(body):
        return _called(call, grammar)
    if heading := ACTION.match(body):
        return _interpreted(body[heading.end() :], grammar, depth=depth + 1)
    read: FoundAction | Problem = _language(grammar).plain(body, grammar)
    fence = fence_at(body.partition("\n")[2], holds_marks=_marks_in(grammar)) if read == NOTHING_READ else None
    return _fenced(fence, grammar, depth=depth + 1) if fence else read


def _fenced(fence: Fence, grammar: Grammar, *, depth: int) -> FoundAction | Problem:
    """Read the action that a fence holds: one with a heading, an object, or the whole text."""
    heading = ACTION.match(fence.text)
    if not heading and EARLIER_PART.match(fence.text):
        heading = ACTION.search(fence.text)
    if heading and not (heading["before"].strip() and heading.start() == 0):
        return _interpreted(fence.text[heading.end() :], grammar, depth=depth)
    if fence.language in {*brackets.PLAIN_LANGUAGES, "json"} and (call := call_at(fence.text)):
        return _called(call, grammar)
    read: FoundAction | Problem = _language(grammar).fenced(fence, grammar)
    return read


def _called(call: ToolCall, grammar: Grammar) -> FoundAction | Problem:
    read: FoundAction | Problem = _language(grammar).called(call, grammar)
    return read._replace(is_closed=True, thought=call.thought) if isinstance(read, FoundAction) else read


def _language(grammar: Grammar) -> ModuleType:
    """Return the module that knows what an action looks like."""
    if grammar.syntax == "sql" or grammar.names:
        return brackets
    return {"shell": shell, "page": page}.get(grammar.syntax, any_text)


def _marks_in(grammar: Grammar) -> Callable[[str], bool] | None:
    return is_inside_document if grammar.syntax == "shell" else None

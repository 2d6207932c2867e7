"""Reads the action of an answer, for environments whose actions are texts.

An answer may have reasoning, headings, code fences, tags and remarks around its action. The action is taken out as it
is written, and nothing is executed that can't be told from a remark. docs/models.md describes the order of the readers.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple

from iad_policy.models.parsing.call_actions import SQL_LANGUAGES, action_of_call, call_in_prose, query_action, read_call
from iad_policy.models.parsing.calls import call_at_start
from iad_policy.models.parsing.fences import Fence, fence_at, fences
from iad_policy.models.parsing.grammar import NOTHING_READ, FoundAction, Grammar, Problem, Reading, ended
from iad_policy.models.parsing.page_actions import (
    page_action_in_prose,
    page_action_of_call,
    page_action_of_input,
    read_page_action,
)
from iad_policy.models.parsing.prose import REMARK, is_prose
from iad_policy.models.parsing.shell_actions import (
    LANGUAGES,
    command_of_call,
    read_command,
    read_script,
    without_prompt,
)
from iad_policy.models.parsing.shell_syntax import is_inside_document
from iad_policy.models.parsing.sql import begins_sql, end_of_statement
from iad_policy.models.parsing.tool_calls import ToolCall, function_call, tool_call
from iad_policy.models.parsing.wrapping import unwrapped
from iad_policy.types.answers.headings import (
    ACTION,
    ANSWER,
    EARLIER_PART,
    HEADLINE,
    INLINE,
    INPUT,
    NEXT_PART,
    closing_marks,
    without_stop_tokens,
)
from iad_policy.types.answers.reasoning import split_reasoning

CUT = "half an answer, which was cut off at max_tokens"
MAX_DEPTH = 4
"""Number of wrappers inside each other, such as a fence in a tag, that are taken off."""
_OBJECT_LANGUAGES = frozenset(
    {"json", "json5", "jsonc", "tool_call", "tool_calls", "tool_code", "python", "py", "javascript", "js"}
)
_PLAIN_LANGUAGES = frozenset({"", "text", "txt", "plaintext", "plain", "action", "markdown", "md", "command", "output"})
_TAGS = "action|act|command|cmd|answer|final_answer|response|output|bash|shell|execute|execute_bash|run|sql|query|code"
_OBJECT = re.compile(r"^[ \t]*(?:\[\s*)?\{\s*[\"'][^\n]", re.MULTILINE)
_TOOL_TAG = re.compile(
    r"^[ \t]*(?:<(?:[\w-]+:)?(?:tool_calls?|function_calls?|tool_use|tool_code|invoke|function)\b"
    r"|\[TOOL_CALLS\]|<\|python_|<｜tool▁call|<\|tool_call|functools\[)",
    re.MULTILINE,
)
_PLACEHOLDER = re.compile(
    r"<[^<>\n]{1,80}>|\.\.\.|…|none|n/a|\[(?:your )?action\]|your (?:next )?action", re.IGNORECASE
)
N_OBJECTS = 3
"""Number of lines that begin an object which are tried."""
MAX_PLACES = 20
"""Number of headings, tags or fences that are tried, so that reading takes linear time."""


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
    visible = without_stop_tokens(reasoned.rest)
    bare = not reasoned.is_open and (bare or bool(reasoned.reasoning))
    problems: list[Problem] = []
    for stated in _stated(visible, grammar, bare=bare, is_open=reasoned.is_open):
        if isinstance(stated.read, Problem):
            problems.append(stated.read)
            continue
        if is_cut and not stated.read.is_closed:
            break
        before = stated.thought if not reasoned.is_open else ""
        thoughts = (reasoned.reasoning, before.strip(), stated.read.thought.strip())
        return Reading(stated.read.action, "\n".join(filter(None, thoughts)))
    if is_cut:
        return Reading(None, text, CUT)
    if reasoned.is_open:
        return Reading(None, text, "reasoning that doesn't end")
    return Reading(None, text, next((problem.got for problem in problems if problem.got), ""))


def _stated(text: str, grammar: Grammar, *, bare: bool, is_open: bool) -> Iterator[_Stated]:
    """Yield what is read at each place that may state the action, the surest places first."""
    inner = unwrapped(text)
    text = inner if ACTION.match(inner) else text
    found = fences(text, holds_marks=_marks_in(grammar))
    explicit = _explicit_places(text, found, grammar)
    is_refused = False
    for start, end, marks in explicit[-1:] if is_open else explicit[:MAX_PLACES]:
        read = _interpreted(_without_closing(text[end:], marks), grammar)
        is_refused |= isinstance(read, Problem) and bool(read.got)
        yield _Stated(text[:start], read)
    if is_open:
        return
    yield from _in_fences(text, found, grammar)
    if not is_refused:
        yield from _behind_weak_headings(text, found, grammar)
        yield from _without_heading(text, grammar, bare=bare)


def _behind_weak_headings(text: str, found: list[Fence], grammar: Grammar) -> Iterator[_Stated]:
    """Yield what stands behind `Answer:` and the like, and behind an `Action:` that ends a sentence's line."""
    for answer in islice(_outside(ANSWER.finditer(text), found), MAX_PLACES):
        body = _without_closing(text[answer.end() :], closing_marks(answer))
        yield _Stated(text[: answer.start()], _answered(body, grammar))
    for inline in islice(_outside(INLINE.finditer(text), found), MAX_PLACES):
        line = text[text.rfind("\n", 0, inline.start()) + 1 : inline.start()]
        if is_prose(line) or EARLIER_PART.match(line):
            yield _Stated(text[: inline.start()], _interpreted(text[inline.end() :], grammar))


def _explicit_places(text: str, found: list[Fence], grammar: Grammar) -> list[tuple[int, int, str]]:
    """Return start, end and closing marks of each heading or tag of an action outside fences, in order."""
    places = [(match.start(), match.end(), closing_marks(match)) for match in _outside(ACTION.finditer(text), found)]
    places += [(match.start(), match.end(), "") for match in _outside(HEADLINE.finditer(text), found)]
    for pattern in (_tag(grammar), _TOOL_TAG):
        places += [(match.start(), match.start(), "") for match in _outside(pattern.finditer(text), found)]
    objects = [match.start() for match in _outside(_OBJECT.finditer(text), found)][:N_OBJECTS]
    if grammar.syntax == "shell":
        objects = [start for start in objects if not is_inside_document(text[:start])]
    places += [(start, start, "") for start in objects]
    return sorted(places)


def _outside(matches: "Iterator[re.Match[str]]", found: list[Fence]) -> "Iterator[re.Match[str]]":
    """Yield the matches outside fences."""
    remaining = iter(found)
    fence = next(remaining, None)
    for match in matches:
        while fence is not None and fence.end <= match.start():
            fence = next(remaining, None)
        if fence is None or match.start() < fence.start:
            yield match


def _interpreted(body: str, grammar: Grammar, *, depth: int = 0) -> FoundAction | Problem:
    """Read the action that a text begins with, behind a heading or inside a wrapper."""
    body = body.lstrip()
    if depth > MAX_DEPTH or not body:
        return NOTHING_READ
    if fence := fence_at(body, holds_marks=_marks_in(grammar)):
        return _fenced(fence, grammar, depth=depth + 1)
    if tag := _tag(grammar).match(body):
        return _tagged(body, tag, grammar, depth=depth + 1)
    if call := tool_call(body):
        return _called(call, grammar, depth=depth + 1)
    if heading := ACTION.match(body):
        return _interpreted(body[heading.end() :], grammar, depth=depth + 1)
    line, _, rest = body.partition("\n")
    if given := INPUT.match(rest.lstrip()):
        return _with_input(line, rest.lstrip()[given.end() :], grammar, depth=depth + 1)
    fence = fence_at(rest, holds_marks=_marks_in(grammar))
    if fence and line.strip(" :").casefold() in grammar.names:
        return ended(action_of_call(line.strip(" :"), fence.text, grammar), is_closed=fence.is_closed)
    read = _plain(body, grammar)
    return _fenced(fence, grammar, depth=depth + 1) if fence and read == NOTHING_READ else read


def _plain(body: str, grammar: Grammar) -> FoundAction | Problem:
    """Read the action that a text without wrappers begins with."""
    if grammar.syntax == "shell":
        return read_command(body, grammar)
    following = NEXT_PART.search(body, 1)
    body = body[: following.start()] if following else body
    if grammar.syntax == "page":
        return read_page_action(f"{body}\n" if following else body, grammar)
    if not grammar.has_calls:
        return ended(_text(body, grammar), is_closed=following is not None)
    read = next((read for read in _calls_in(body, grammar) if read != NOTHING_READ), NOTHING_READ)
    return ended(read, is_closed=True) if following else read


def _calls_in(body: str, grammar: Grammar) -> Iterator[FoundAction | Problem]:
    """Yield what is read in each way that a text may name an action, the surest ways first."""
    yield read_call(body, grammar)
    yield query_action(body, grammar, is_code=False)
    yield call_in_prose(body, grammar)


def _text(body: str, grammar: Grammar) -> FoundAction | Problem:
    """Read an action that may be any text. Where examples are listed, it has one line as they have."""
    line, newline, _ = body.strip().partition("\n")
    listed = grammar.listed_as(line)
    if listed:
        return FoundAction(listed, is_closed=bool(newline))
    call = call_at_start(body.strip(), ())
    if not grammar.listed and call is not None and REMARK.match(body.strip(), call.end):
        return FoundAction(body.strip()[: call.end])
    text = unwrapped(line if grammar.listed else body)
    if not text or _PLACEHOLDER.fullmatch(text):
        return Problem(f"the placeholder {text!r}") if text else NOTHING_READ
    return FoundAction(text, is_closed=bool(newline) and bool(grammar.listed))


def _fenced(fence: Fence, grammar: Grammar, *, depth: int) -> FoundAction | Problem:
    """Read the action that a fence holds: one with a heading, an object, or the whole text."""
    if depth > MAX_DEPTH:
        return NOTHING_READ
    text, language = fence.text, fence.language
    heading = ACTION.match(text)
    if heading and not heading["before"].strip():
        return _interpreted(text[heading.end() :], grammar, depth=depth)
    if EARLIER_PART.match(text) and (later := ACTION.search(text)):
        return _interpreted(text[later.end() :], grammar, depth=depth)
    call = tool_call(text) or (function_call(text) if language in _OBJECT_LANGUAGES else None)
    if call is not None and (language in _OBJECT_LANGUAGES or language in _PLAIN_LANGUAGES):
        return _called(call, grammar, depth=depth)
    if grammar.syntax == "shell":
        read = read_script(text, grammar) if language in LANGUAGES else NOTHING_READ
        return read if fence.is_closed else ended(read, is_closed=False)
    if grammar.syntax == "page":
        return page_action_in_prose(text, grammar)
    if not grammar.has_calls:
        return FoundAction(text, fence.is_closed) if text.strip() else NOTHING_READ
    reads = [read_call(text, grammar)]
    if language in _PLAIN_LANGUAGES or language in SQL_LANGUAGES:
        reads.append(ended(query_action(text, grammar, is_code=True), is_closed=fence.is_closed))
    reads.append(call_in_prose(text, grammar))
    return next((read for read in reads if read != NOTHING_READ), NOTHING_READ)


def _tagged(body: str, tag: "re.Match[str]", grammar: Grammar, *, depth: int) -> FoundAction | Problem:
    """Read the action between tags such as `<action>`, or `<search>` for one of a known name."""
    name = tag["name"].lower()
    closing = re.compile(rf"</{re.escape(name)}\s*>", re.IGNORECASE).search(body, tag.end())
    inner = body[tag.end() : closing.start() if closing else len(body)].strip()
    if name in grammar.names:
        read = action_of_call(name, inner, grammar)
    elif grammar.syntax == "shell" and not _is_wrapped(inner, grammar):
        read = read_script(inner, grammar)
    else:
        heading = ACTION.search(inner)
        read = _interpreted(inner[heading.end() :] if heading else inner, grammar, depth=depth)
        return ended(read, is_closed=True) if closing else read
    return ended(read, is_closed=closing is not None)


def _is_wrapped(text: str, grammar: Grammar) -> bool:
    """Whether a text begins with a fence, a tag, an object or a heading, or has a heading on a line of its own."""
    has_wrapper = fence_at(text) is not None or _tag(grammar).match(text) or tool_call(text)
    return bool(has_wrapper) or (EARLIER_PART.match(text) is not None or ACTION.match(text) is not None)


def _called(call: ToolCall, grammar: Grammar, *, depth: int) -> FoundAction | Problem:
    """Return the action of a call. An object may also hold the whole action as one text."""
    if grammar.syntax == "page":
        read = page_action_of_call(call.name, call.argument, call.given, grammar)
    elif call.argument is None and (grammar.has_calls or grammar.syntax == "text"):
        read = _interpreted(call.name, grammar, depth=depth)
    elif grammar.syntax == "shell":
        read = command_of_call(call.name, call.argument, grammar)
    elif grammar.has_calls:
        read = action_of_call(call.name, call.argument, grammar)
    else:
        read = Problem(f"a call of {call.name}, which is no action here")
    return read._replace(is_closed=True, thought=call.thought) if isinstance(read, FoundAction) else read


def _with_input(name: str, text: str, grammar: Grammar, *, depth: int) -> FoundAction | Problem:
    """Read a tool's name and its input on a line of its own."""
    following = NEXT_PART.search(text)
    argument = text[: following.start()] if following else text
    name, fence, call = unwrapped(name), fence_at(text), tool_call(text)
    if grammar.syntax == "page":
        read = page_action_of_input(name, argument, grammar)
        return ended(read, is_closed=True) if following is not None else read
    if grammar.has_calls and (whole := read_call(name, grammar, is_alone=False)) != NOTHING_READ:
        return whole
    if fence is not None:
        given, is_closed = fence.text, fence.is_closed
    elif call is not None:
        given, is_closed = call.argument, True
    elif grammar.syntax == "shell":
        named = command_of_call(name, None, grammar)
        return named if isinstance(named, FoundAction) else _interpreted(text, grammar, depth=depth)
    elif begins_sql(argument):
        end = end_of_statement(argument)
        given, is_closed = argument[:end].strip(), end < len(argument)
    else:
        line, newline, _ = argument.strip().partition("\n")
        given, is_closed = unwrapped(line), bool(newline)
    of_call = command_of_call if grammar.syntax == "shell" else action_of_call
    return ended(of_call(name, given, grammar), is_closed=is_closed or following is not None)


def _in_fences(text: str, found: list[Fence], grammar: Grammar) -> Iterator[_Stated]:
    """Yield what fences without a heading hold.

    Of several, the first counts, as later ones depend on what it shows. Of several bare queries the last one does, as
    it is the improved one. A fence in the shell's language comes before one in none, which may hold output.
    """
    chosen = found[:MAX_PLACES]
    if grammar.syntax == "shell":
        chosen.sort(key=lambda fence: fence.language in _PLAIN_LANGUAGES)
    elif all(begins_sql(fence.text) for fence in chosen if fence.language in _PLAIN_LANGUAGES | SQL_LANGUAGES):
        chosen.reverse()
    for fence in chosen:
        yield _Stated(text[: fence.start], _fenced(fence, grammar, depth=0))


def _answered(body: str, grammar: Grammar) -> FoundAction | Problem:
    """Read what stands behind `Answer:`. In a shell an answer is no command, but it may be a listed action."""
    if grammar.syntax != "shell":
        return _interpreted(body, grammar)
    line, newline, _ = body.lstrip().partition("\n")
    return _listed_line(line, grammar, is_closed=bool(newline))


def _without_heading(text: str, grammar: Grammar, *, bare: bool) -> Iterator[_Stated]:
    """Yield what an answer states without any heading: a call, a listed action on its first or last line, or itself."""
    text = text.strip()
    if grammar.has_calls:
        if begins_sql(text):
            yield _Stated("", query_action(text, grammar, is_code=False))
        yield _Stated("", read_call(text, grammar, is_alone=bare and "\n" not in text))
        yield _Stated("", call_in_prose(text, grammar))
        return
    if grammar.syntax == "page":
        if bare:
            yield _Stated("", read_page_action(text, grammar))
        yield _Stated("", page_action_in_prose(text, grammar))
        return
    first, newline, _ = text.partition("\n")
    yield _Stated("", _listed_line(first, grammar, is_closed=bool(newline)))
    if grammar.syntax == "shell" and (bare or not newline):
        yield _Stated("", read_command(without_prompt(text), grammar, quoted=False))
    elif bare and not (newline and grammar.listed):
        yield _Stated("", _text(text, grammar))
    if is_prose(first) or EARLIER_PART.match(first):
        before, _, last = text.rpartition("\n")
        yield _Stated(before, _listed_line(last, grammar, is_closed=False))


def _listed_line(line: str, grammar: Grammar, *, is_closed: bool) -> FoundAction | Problem:
    listed = grammar.listed_as(line)
    return FoundAction(listed, is_closed) if listed else NOTHING_READ


def _tag(grammar: Grammar) -> "re.Pattern[str]":
    return _tag_of(tuple(grammar.names))


@cache
def _tag_of(names: tuple[str, ...]) -> "re.Pattern[str]":
    own = "|".join([_TAGS, *map(re.escape, names)])
    return re.compile(rf"^[ \t]*<(?P<name>{own})>", re.MULTILINE | re.IGNORECASE)


def _marks_in(grammar: Grammar) -> Callable[[str], bool] | None:
    return is_inside_document if grammar.syntax == "shell" else None


def _without_closing(body: str, marks: str) -> str:
    """Return a text without the end of the emphasis that began before its heading."""
    line, newline, rest = body.partition("\n")
    return f"{line.rstrip().removesuffix(marks)}{newline}{rest}" if marks else body

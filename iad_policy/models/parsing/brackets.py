"""Reads `name[argument]` from what an answer gives as its action, and finds the bracket that ends it."""

import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from iad_policy.models.parsing.calls import ToolCall
from iad_policy.models.parsing.fences import Fence, fence_at
from iad_policy.models.parsing.grammar import NAMED, NOTHING_READ, FoundAction, Grammar, Problem, ended
from iad_policy.models.parsing.sql import begins_sql, closing_bracket, end_of_statement, has_gap, is_whole
from iad_policy.models.parsing.words import is_prose, unwrapped, without_mark
from iad_policy.types.answers import NEXT_PART

PLAIN_LANGUAGES = frozenset({"", "text", "txt", "plaintext", "action", "markdown", "md"})
LANGUAGES = PLAIN_LANGUAGES | {"sql", "sqlite", "sqlite3", "postgresql", "mysql"}
"""Languages of fences that may hold an action."""


class BracketCall(NamedTuple):
    """A call, and where it stands in the text.

    Attributes:
        name: Name before the bracket.
        argument: Argument as written, without a code fence around it.
        start: Place of the name.
        end: Place after the closing bracket.
        is_matched: Whether its brackets match. If not, the last one of its line was taken.
    """

    name: str
    argument: str
    start: int
    end: int
    is_matched: bool


def plain(body: str, grammar: Grammar) -> FoundAction | Problem:
    """Read the action that a text begins with, or the one that it names."""
    following = NEXT_PART.search(body, 1)
    body = body[: following.start()] if following else body
    reads = (read(body, grammar) for read in (_at_start, _query, in_prose))
    read = next((read for read in reads if read != NOTHING_READ), NOTHING_READ)
    return ended(read, is_closed=True) if following else read


def fenced(fence: Fence, grammar: Grammar) -> FoundAction | Problem:
    """Read a fence: one action or several, or a query."""
    read = _at_start(fence.text, grammar)
    if read == NOTHING_READ and fence.language in LANGUAGES:
        read = ended(_query(fence.text, grammar, is_code=True), is_closed=fence.is_closed)
    return in_prose(fence.text, grammar) if read == NOTHING_READ else read


def called(call: ToolCall, grammar: Grammar) -> FoundAction | Problem:
    """Return the action of a call, or of an object that holds a whole action as its one text."""
    if not call.arguments:
        return plain(call.name, grammar)
    if isinstance(call.argument, str) and _known(call.name, grammar) is None:
        whole = _at_start(call.argument, grammar)
        if isinstance(whole, FoundAction):
            return whole
    return _made(call.name, call.argument, grammar)


def alone(text: str, grammar: Grammar, *, bare: bool) -> Iterator[tuple[str, FoundAction | Problem]]:
    """Yield what a text without any heading states."""
    if begins_sql(text):
        yield "", _query(text, grammar)
    yield "", _at_start(text, grammar)
    yield "", in_prose(text, grammar)


def in_prose(text: str, grammar: Grammar) -> FoundAction | Problem:
    """Read the one call of a known name in a text.

    If there are several different ones, the first that has a line of its own counts: it is a plan. Otherwise none does.
    """
    read = [(call, _of_brackets(call, text, grammar)) for call in calls(text, grammar.names, is_sql=_is_sql(grammar))]
    usable = [(call, one) for call, one in read if isinstance(one, FoundAction)]
    if not usable:
        return next((one for _, one in read), NOTHING_READ)
    if len({one.action for _, one in usable}) == 1:
        return usable[0][1]
    alone = [one for call, one in usable if _has_own_line(text, call)]
    return alone[0] if alone else Problem(f"{len({one.action for _, one in usable})} actions in one sentence")


def calls(text: str, names: Collection[str], *, is_sql: bool = False) -> Iterator[BracketCall]:
    """Yield the calls in a text in order, without those inside another one.

    Args:
        text: The text.
        names: Names in lower case. Only calls of them may have a blank before the bracket. If there are none, every
            word is a name.
        is_sql: Whether arguments are SQL.
    """
    place = n_unclosed = 0  # after a few calls without an end no further one is looked for, to take linear time
    while n_unclosed < 3 and (match := NAMED.search(text, place)):
        place = match.end()
        if match[1].casefold() not in names and (names or match["space"]):
            continue
        call = _call(text, match, is_wrapped=text[match.start() - 1 : match.start()] == "[", is_sql=is_sql)
        if call is None:
            n_unclosed += 1
            continue
        yield call
        place = call.end


def call_at_start(text: str, names: Collection[str], *, is_sql: bool = False) -> BracketCall | None:
    """Return the call that a text begins with. Its name may be any, but only behind a known one may be a blank."""
    match = NAMED.match(text)
    if match is None or (match["space"] and match[1].casefold() not in names):
        return None
    call = _call(text, match, is_wrapped=False, is_sql=is_sql)
    query = text[match.end() :].strip()
    if call is not None or not (is_sql and begins_sql(query)):
        return call
    # A query that is whole and the last thing in the text may lack its bracket.
    is_last = end_of_statement(query) == len(query) and is_whole(query)
    if not is_last or any(is_prose(line) for line in query.splitlines()[1:]):
        return None
    return BracketCall(match[1], query, match.start(), len(text), is_matched=False)


def _call(text: str, match: "re.Match[str]", *, is_wrapped: bool, is_sql: bool) -> BracketCall | None:
    """Return the call that begins at a match, or None if nothing closes it.

    Brackets inside the argument are skipped in pairs, and in SQL with everything quoted. If they don't match, the
    argument ends with the last bracket of its line, and SQL with the last one that ends a line of its paragraph.
    """
    start = match.end()
    end: int | None
    if re.compile(r"\s*+```[\w-]*+[ \t]*+\n").match(text, start):
        fence_end = re.compile(r"(?:(?<=\n)[ \t]*|(?<=\S))```\s*\]").search(text, start)
        end, is_matched = fence_end.end() - 1 if fence_end else None, True
    elif is_sql and begins_sql(text[start : start + 2000]):
        end = closing_bracket(text, start)
        is_matched = end is not None and not text[end + 1 : end + 2].isalnum()
        end = end if is_matched else _last_of_paragraph(text, start)
    else:
        end, depth = None, 1
        for bracket in re.compile(r"[\[\]]").finditer(text, start):
            depth += 1 if bracket[0] == "[" else -1
            if depth == 0:
                end = bracket.start()
                break
        is_matched = end is not None
        newline = text.find("\n", start if end is None else end)
        last = text.rfind("]", start, len(text) if newline < 0 else newline)
        # Brackets with nothing but signs between them belong to the argument too.
        if end is None or not (is_wrapped or re.search(r"\w", text[end:last])):
            end = last if last >= 0 else None
    if end is None:
        return None
    return BracketCall(match[1], _unfenced(text[start:end]), match.start(), end + 1, is_matched)


def _last_of_paragraph(text: str, start: int) -> int | None:
    line_ending = re.compile(r"\](?=[ \t.;,*`\"')]*$)", re.MULTILINE)
    while start < len(text):
        blank = re.compile(r"\n[ \t]*\n").search(text, start)
        end = blank.start() if blank else len(text)
        ending = [match.start() for match in line_ending.finditer(text, start, end)]
        last = ending[-1] if ending else text.rfind("]", start, end)
        if last >= 0:
            return last
        start = blank.end() if blank else len(text)
    return None


def _at_start(body: str, grammar: Grammar) -> FoundAction | Problem:
    """Read the `name[argument]` that a text begins with."""
    body = without_mark(body.strip())
    first = body.partition("\n")[0]
    inner = unwrapped(first)
    for text in dict.fromkeys((body, inner if inner != first else body)):
        # The longest listed action, so that its brackets may be any.
        listed = [one for one in grammar.listed if text[: len(one)].casefold() == one.casefold()]
        listed = [one for one in listed if not text[len(one) : len(one) + 1].isalnum()]
        if listed:
            return FoundAction(max(listed, key=len))
        if call := call_at_start(text, grammar.names, is_sql=_is_sql(grammar)):
            return _of_brackets(call, text, grammar)
    return NOTHING_READ


def _query(text: str, grammar: Grammar, *, is_code: bool = False) -> FoundAction | Problem:
    """Return the action of a query without `name[...]` around it: that of the only pattern, if there is just one."""
    if not begins_sql(text) or (not is_code and is_prose(text.partition("\n")[0])):
        return NOTHING_READ
    if len(grammar.patterns) != 1:
        return Problem(f"a query without {grammar.forms()} around it")
    end = len(text) if is_code else end_of_statement(text)
    statement = text[:end].strip()
    if has_gap(statement):
        return Problem(f"a query with dots in place of a part: {statement}")
    is_closed = is_code or end < len(text) or statement.endswith(";")
    return FoundAction(f"{grammar.patterns[0]}[{statement}]", is_closed=is_closed)


def _made(name: str, argument: Any, grammar: Grammar) -> FoundAction | Problem:
    """Return the action that a name and an argument make, from brackets or a call."""
    text = _unfenced("" if argument is None else str(argument))
    written = _known(name, grammar)
    if written is None and begins_sql(text) and re.fullmatch(r"(?:final_)?(?:sql|query|answer|action)", name.lower()):
        return _query(text, grammar, is_code=True)
    written = name if written is None and re.fullmatch(r"[a-z]+", name) else written
    if written is None:
        return Problem(f"a call of {name}, which is no action here") if name else NOTHING_READ
    if listed := grammar.listed_call(written, text):
        return FoundAction(listed)
    if not text.strip():
        return Problem(f"{written}[] without an argument")
    placeholder = re.compile(
        r"\.\.\.|…|<[^<>\n]{1,60}>|(?:your |search )*(?:query|keywords|terms)|sql(?: query| statement)?|words|name"
        r"|button(?: name)?|argument|value|text|none",
        re.IGNORECASE,
    )
    if (_is_sql(grammar) and has_gap(text)) or placeholder.fullmatch(text.strip()):
        return Problem(f"the pattern {written}[{text.strip()}], which stands for actions and is none")
    return FoundAction(f"{written}[{text}]")


def _known(name: str, grammar: Grammar) -> str | None:
    """Return a known name as the environment writes it. A tool's name may have more words, as `execute_sql` has."""
    words = {name.strip().casefold(), *re.findall(r"[a-z]+", name.lower())} & set(grammar.names)
    return grammar.names[words.pop()] if len(words) == 1 else None


def _of_brackets(call: BracketCall, text: str, grammar: Grammar) -> FoundAction | Problem:
    read = _made(call.name, call.argument, grammar)
    return ended(read, is_closed=call.is_matched or "\n" in text[call.end :])


def _has_own_line(text: str, call: BracketCall) -> bool:
    start = text.rfind("\n", 0, call.start) + 1
    end = text.find("\n", call.end)
    after = text[call.end : end if end >= 0 else len(text)]
    return not re.search(r"[^\W\d]", text[start : call.start]) and not re.search(r"\w", after)


def _unfenced(argument: str) -> str:
    fence = fence_at(argument)
    return fence.text if fence and fence.is_closed else argument


def _is_sql(grammar: Grammar) -> bool:
    return grammar.syntax == "sql"

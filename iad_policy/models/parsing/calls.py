"""Finds `name[argument]` in a text, and the bracket that ends it, whatever the argument holds."""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from iad_policy.models.parsing.fences import fence_at
from iad_policy.models.parsing.prose import is_prose
from iad_policy.models.parsing.sql import begins_sql, closing_bracket, end_of_statement, is_whole

CALL = re.compile(r"(?<!\w)([A-Za-z_]\w*)(?P<space>[ ]?)\[")
N_UNCLOSED = 3
"""Number of calls without an end after which no further one is searched for, so that reading takes linear time."""
_BRACKET = re.compile(r"[\[\]]")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_FENCED = re.compile(r"\s*+```[\w-]*+[ \t]*+\n")
_FENCE_END = re.compile(r"(?<=\n)[ \t]*```\s*\]|(?<=\S)```\s*\]")
_LINE_ENDING = re.compile(r"\](?=[ \t.;,*`\"')]*$)", re.MULTILINE)
LEAD_CHARS = 2000
"""Length of an argument's beginning that tells whether it is SQL."""


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


def calls(text: str, names: Collection[str], *, is_sql: bool = False) -> Iterator[BracketCall]:
    """Yield the calls in a text in order, without those inside another one.

    Args:
        text: The text.
        names: Names in lower case. Only calls of them may have a blank before the bracket. If there are none, every
            word is a name.
        is_sql: Whether arguments are SQL.
    """
    place = n_unclosed = 0
    while n_unclosed < N_UNCLOSED and (match := CALL.search(text, place)):
        place = match.end()
        is_known = match[1].casefold() in names
        if not is_known and (names or match["space"]):
            continue
        call = _call(text, match, is_wrapped=text[match.start() - 1 : match.start()] == "[", is_sql=is_sql)
        if call is None:
            n_unclosed += 1
            continue
        yield call
        place = call.end


def call_at_start(text: str, names: Collection[str], *, is_sql: bool = False) -> BracketCall | None:
    """Return the call that a text begins with. Its name may be any, but only behind a known one may be a blank."""
    match = CALL.match(text)
    if match is None or (match["space"] and match[1].casefold() not in names):
        return None
    call = _call(text, match, is_wrapped=False, is_sql=is_sql)
    return _unclosed_query(text, match) if call is None and is_sql else call


def _unclosed_query(text: str, match: "re.Match[str]") -> BracketCall | None:
    """Return the call of a query that is whole and the last thing in the text, but for its bracket."""
    query = text[match.end() :].strip()
    is_last = begins_sql(query) and end_of_statement(query) == len(query) and is_whole(query)
    if not is_last or any(is_prose(line) for line in query.splitlines()[1:]):
        return None
    return BracketCall(match[1], query, match.start(), len(text), is_matched=False)


def _call(text: str, match: "re.Match[str]", *, is_wrapped: bool, is_sql: bool) -> BracketCall | None:
    """Return the call that begins at a match, or None if nothing closes it.

    Brackets inside the argument are skipped in pairs, and in SQL with everything quoted. If they don't match, the
    argument ends with the last bracket of its line, and SQL with the last one that ends a line of its paragraph.
    """
    start = match.end()
    if _FENCED.match(text, start):
        fence_end = _FENCE_END.search(text, start)
        end, is_matched = fence_end.end() - 1 if fence_end else None, True
    elif is_sql and begins_sql(text[start : start + LEAD_CHARS]):
        end = closing_bracket(text, start)
        is_matched = end is not None and not text[end + 1 : end + 2].isalnum()
        end = end if is_matched else _last_of_paragraph(text, start)
    else:
        end = _matching(text, start)
        is_matched = end is not None
        line_end = _line_end(text, start if end is None else end)
        last = text.rfind("]", start, line_end)
        # Brackets with nothing but signs between them belong to the argument too.
        if end is None or not (is_wrapped or re.search(r"\w", text[end:last])):
            end = last if last >= 0 else None
    if end is None:
        return None
    return BracketCall(match[1], _unfenced(text[start:end]), match.start(), end + 1, is_matched)


def _matching(text: str, start: int) -> int | None:
    depth = 1
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] == "[" else -1
        if depth == 0:
            return bracket.start()
    return None


def _last_of_paragraph(text: str, start: int) -> int | None:
    while start < len(text):
        blank = _BLANK_LINE.search(text, start)
        end = blank.start() if blank else len(text)
        ending = [match.start() for match in _LINE_ENDING.finditer(text, start, end)]
        last = ending[-1] if ending else text.rfind("]", start, end)
        if last >= 0:
            return last
        start = blank.end() if blank else len(text)
    return None


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _unfenced(argument: str) -> str:
    fence = fence_at(argument)
    return fence.text if fence and fence.is_closed else argument

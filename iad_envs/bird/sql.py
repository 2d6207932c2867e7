"""Analyses SQL text without running it: tokens, canonical form, kind of statement, and whether it may be cached.

It does not check whether a query is valid. Only SQLite can.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["word", "string", "name", "number", "sign"]

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<string>'(?:[^']++|'')*+(?:'|\Z))
    |(?P<name>"(?:[^"]++|"")*+(?:"|\Z)|`(?:[^`]++|``)*+(?:`|\Z)|\[[^\]]*+(?:\]|\Z))
    |(?P<number>0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<word>[^\W\d][\w$]*)
    |(?P<sign><>|<=|>=|!=|==|\|\||<<|>>|->>?|.)""",
    re.VERBOSE | re.DOTALL,
)
WRITING = frozenset(
    {"INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "PRAGMA", "ATTACH", "DETACH", "VACUUM"}
    | {"ANALYZE", "REINDEX", "EXPLAIN", "BEGIN", "COMMIT", "ROLLBACK", "END", "SAVEPOINT", "RELEASE"}
)


class SqlToken(NamedTuple):
    """A token of SQL.

    Attributes:
        kind: Kind of token. `word` is an unquoted name or keyword, `name` a quoted name. An unclosed token extends to
            the end of the text.
        text: The token as written.
        value: The token without quotes. Words are in upper case.
    """

    kind: Kind
    text: str
    value: str


def tokens(sql: str) -> tuple[SqlToken, ...]:
    """Return the tokens of a text, without spaces and comments."""
    return _kept_tokens(sql) if len(sql) <= 10_000 else tuple(_tokens(sql))


def _tokens(sql: str) -> Iterator[SqlToken]:
    for match in _TOKEN.finditer(sql):
        kind, text = match.lastgroup, match.group()
        if kind == "string":
            yield SqlToken("string", text, text[1:-1].replace("''", "'"))
        elif kind == "name":
            yield SqlToken("name", text, text[1:-1].replace(text[0] * 2, text[0]))
        elif kind == "word":
            yield SqlToken("word", text, text.upper())
        elif kind in ("number", "sign"):
            yield SqlToken(kind, text, text)  # type: ignore[arg-type]


_kept_tokens = lru_cache(maxsize=512)(lambda sql: tuple(_tokens(sql)))


def without_end(parts: Sequence[SqlToken]) -> Sequence[SqlToken]:
    """Return tokens without trailing semicolons."""
    n = len(parts)
    while n and parts[n - 1].text == ";":
        n -= 1
    return parts[:n]


def canonical(sql: str) -> str:
    """Return a query with one space between tokens, words in upper case, no comments and no final semicolon."""
    return " ".join(part.value if part.kind == "word" else part.text for part in without_end(tokens(sql)))


def first_word(sql: str) -> str:
    """Return the first token in upper case if it is a word, else ""."""
    first = next(_tokens(sql), None)
    return first.value if first is not None and first.kind == "word" else ""


def looks_like_sql(text: str) -> bool:
    """Whether a text starts like an SQL statement."""
    return first_word(text) in WRITING | {"SELECT", "WITH", "VALUES"}


def refusal(sql: str) -> str:
    """Return why a text is not a single reading query, or "". Covers cases that SQLite's authorizer can't detect."""
    if all(part.text == ";" for part in _tokens(sql)):
        return "expected one SELECT, got a blank text"
    word = first_word(sql)
    return f"expected one SELECT, got {word}" if word in WRITING else ""


def is_volatile(sql: str) -> bool:
    """Whether the result may depend on time or chance, so that it must not be cached."""
    volatile = (
        *("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "RANDOM", "RANDOMBLOB", "NOW", "LOCALTIME"),
        *("LOCALTIMESTAMP", "CLOCK_TIMESTAMP", "STATEMENT_TIMESTAMP", "TRANSACTION_TIMESTAMP", "TIMEOFDAY"),
        *("GEN_RANDOM_UUID", "TABLESAMPLE", "UUID_SHORT", "CONNECTION_ID", "RAND", "UUID", "UNIX_TIMESTAMP"),
        *("CURDATE", "CURTIME", "SYSDATE", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP"),
    )
    # These only with `'now'` or without argument.
    clocks = (
        *("DATE", "TIME", "DATETIME", "JULIANDAY", "UNIXEPOCH", "STRFTIME", "TIMEDIFF", "AGE", "TIMESTAMP"),
        "TIMESTAMPTZ",
    )
    words = {part.value for part in tokens(sql) if part.kind == "word"}
    if not words.isdisjoint(volatile):
        return True
    words.intersection_update(clocks)
    if not words:
        return False
    parts = tokens(sql)
    now = ("now", "subsec", "subsecond", "today", "yesterday", "tomorrow")
    if any(part.kind in ("string", "name") and part.value.strip().lower() in now for part in parts):
        return True
    # A date function without argument, or with only a format, uses the current time. So may a computed 'no' || 'w'.
    return any(
        part.value in words and _argument_count(parts, place) <= (part.value in ("STRFTIME", "AGE"))
        for place, part in enumerate(parts)
        if part.kind == "word"
    ) or any(part.text == "||" for part in parts)


def _argument_count(parts: Sequence[SqlToken], place: int) -> int:
    """Return the number of arguments of the call at a position, or a large number if it is not a call."""
    if place + 1 >= len(parts) or parts[place + 1].text != "(":
        return 99
    if place + 2 < len(parts) and parts[place + 2].text == ")":
        return 0
    depth, n = 0, 1
    for part in parts[place + 1 :]:
        depth += (part.text == "(") - (part.text == ")")
        n += part.text == "," and depth == 1
        if depth == 0:
            break
    return n


def depths(parts: Sequence[SqlToken]) -> list[int]:
    """Return the depth of parentheses at each token."""
    found, depth = [], 0
    for part in parts:
        depth -= part.text == ")"
        found.append(depth)
        depth += part.text == "("
    return found


def plain_limit(sql: str) -> int:
    """Return the outermost LIMIT, or 0 if there is no plain one at the end."""
    parts = without_end(tokens(sql))
    is_plain = len(parts) > 1 and parts[-2].value == "LIMIT" and parts[-1].text.isdigit()
    return int(parts[-1].text) if is_plain else 0


def order_terms(sql: str) -> list[tuple[SqlToken, ...]]:
    """Return the terms of the outermost ORDER BY, if any, without direction, collation and null order."""
    parts = without_end(tokens(sql))
    starts = [
        place
        for place, (part, depth) in enumerate(zip(parts, depths(parts), strict=True))
        if depth == 0 and part.value == "ORDER" and part.kind == "word"
    ]
    terms: list[list[SqlToken]] = [[]]
    if not starts:
        return []
    depth = 0
    for part in parts[starts[-1] + 2 :]:
        depth += (part.text == "(") - (part.text == ")")
        if depth == 0 and part.kind == "word" and part.value in ("LIMIT", "OFFSET"):
            break
        if depth == 0 and part.text == ",":
            terms.append([])
        elif not (depth == 0 and part.kind == "word" and part.value in ("ASC", "DESC", "NULLS", "FIRST", "LAST")):
            terms[-1].append(part)
    return [tuple(term) for term in terms if term]

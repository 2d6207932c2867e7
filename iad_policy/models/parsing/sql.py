"""Finds the ends of SQL statements and of the brackets around them, skipping quotes, names in brackets and comments."""

import re
from itertools import accumulate

_SKIPPED = r"""'(?:[^']++|'')*+(?P<text>'|\Z)|"(?:[^"]++|"")*+(?P<name>"|\Z)|`[^`]*+(?P<tick>`|\Z)
    |--[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?P<remark>\*/|\Z)|\[[^\]]*+(?P<bracket>\]|\Z)"""
_STATEMENT = re.compile(rf"{_SKIPPED}|(?P<end>;)|(?P<paren>[()])|(?P<blank>\n[ \t]*\n\s*)", re.VERBOSE)
_CLAUSES = frozenset(
    {"and", "as", "asc", "between", "by", "case", "cross", "desc", "else", "end", "except", "exists", "from", "full"}
    | {"group", "having", "in", "inner", "intersect", "is", "join", "left", "like", "limit", "natural", "not", "offset"}
    | {"on", "or", "order", "outer", "over", "partition", "right", "select", "then", "union", "using", "values", "when"}
    | {"where", "window", "with"}
)
"""Words that go on with a statement behind a blank line."""


def begins_sql(text: str) -> bool:
    """Whether a text begins as an SQL statement does, perhaps after comments."""
    lead = re.match(r"(?:\s++|--[^\n]*+\n|/\*(?:[^*]++|\*(?!/))*+\*/|\()*+", text)
    beginning = re.compile(
        r"""select\b\s*\S | values\s*\( | pragma\s+\w | explain\s+\w
        |insert\s+(?:or\s+\w+\s+)?into\b | update\s+\S+\s+set\b | delete\s+from\b
        |create\s+\w+\s+\w | drop\s+\w+\s+\w | alter\s+table\b
        |with\s+(?:recursive\s+)?[\w"`\[\]]+\s*(?:\([^)]*\)\s*)?as\s*(?:(?:not\s+)?materialized\s*)?\(""",
        re.IGNORECASE | re.VERBOSE,
    )
    return beginning.match(text, lead.end() if lead else 0) is not None


def closing_bracket(text: str, start: int) -> int | None:
    """Return the place of the bracket that ends the SQL from `start`, or None if quotes don't match or none is there.

    If only comments have one left, it is the last that ends a comment.
    """
    in_comment = None
    for match in re.compile(rf"{_SKIPPED}|(?P<close>\])", re.VERBOSE).finditer(text, start):
        if match["close"]:
            return match.start()
        if _is_unclosed(match):
            return in_comment
        comment = match[0].rstrip(" .;") if match[0].startswith("--") else ""
        if comment.endswith("]"):
            in_comment = match.start() + len(comment) - 1
    return in_comment


def end_of_statement(text: str) -> int:
    """Return the end of the statement that a text begins with.

    It ends with its semicolon, or before a blank line outside parentheses that no clause follows.
    """
    depth = 0
    for match in _STATEMENT.finditer(text):
        if match["end"]:
            return match.end()
        depth += {"(": 1, ")": -1}.get(match["paren"] or "", 0)
        if match["blank"] and depth <= 0 and not _goes_on(text, match.end()):
            return match.start()
    return len(text)


def is_whole(text: str) -> bool:
    """Whether a statement's quotes and parentheses are all closed."""
    found = list(_STATEMENT.finditer(text))
    depths = list(accumulate({"(": 1, ")": -1}.get(match["paren"] or "", 0) for match in found))
    return not any(map(_is_unclosed, found)) and min(depths, default=0) >= 0 and (not depths or depths[-1] == 0)


def has_gap(text: str) -> bool:
    """Whether a statement has dots in place of a part of it, outside of quotes and comments."""
    return any(match["gap"] for match in re.finditer(rf"{_SKIPPED}|(?P<gap>\.\.\.|…)", text, re.VERBOSE))


def _goes_on(text: str, place: int) -> bool:
    """Whether a clause begins at a place. It is written in the case of the statement's first word, unlike prose."""
    letters = re.compile(r"[a-z]+", re.IGNORECASE)
    first, word = letters.search(text), letters.match(text, place)
    if word is None or first is None:
        return text[place : place + 1] in (",", ")", "(")
    return word.group().lower() in _CLAUSES and word.group().isupper() == first.group().isupper()


def _is_unclosed(match: "re.Match[str]") -> bool:
    return any(match[name] == "" for name in ("text", "name", "tick", "remark", "bracket"))

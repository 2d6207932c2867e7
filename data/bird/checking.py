"""What is wrong with a gold query: it must run, say something, be the only answer, and need each of its conditions."""

import re
import sqlite3
from collections.abc import Iterator

MAX_ROWS = 60
_WORD = re.compile(r"[A-Za-z_]+|.", re.DOTALL)


def complaints(connection: sqlite3.Connection, sql: str) -> list[str]:
    """Return what is wrong with a query, in words."""
    try:
        rows = connection.execute(sql).fetchall()
    except sqlite3.Error as error:
        return [str(error)]
    found = []
    if not rows or all(cell is None for row in rows for cell in row):
        found.append("empty")
    if rows == [(0,)]:
        found.append("a single zero")
    if len(rows) > MAX_ROWS:
        found.append(f"{len(rows)} rows")
    if _tied(connection, sql):
        found.append("a tie at its limit")
    for name, weaker in _weaker(sql):
        if set(connection.execute(weaker).fetchall()) == set(rows):
            found.append(f"the same without {name}")
    return found


def _clauses(sql: str) -> dict[str, tuple[int, int]]:
    """Where the clauses of the outermost query are: keyword -> (start of its content, end)."""
    heads = "SELECT|FROM|WHERE|GROUP|HAVING|ORDER|LIMIT"
    starts: list[tuple[str, int]] = []
    depth, quoted = 0, False
    for token in _WORD.finditer(sql):
        word = token.group()
        if word == "'":
            quoted = not quoted
        elif not quoted:
            depth += {"(": 1, ")": -1}.get(word, 0)
            if depth == 0 and re.fullmatch(heads, word):
                starts.append((word, token.start()))
    ends = [start for _, start in starts[1:]] + [len(sql)]
    return {word: (start + len(word), end) for (word, start), end in zip(starts, ends, strict=True)}


def _tied(connection: sqlite3.Connection, sql: str) -> bool:
    """Whether the row after the last one returned has the same rank."""
    clauses = _clauses(sql)
    if "LIMIT" not in clauses or "ORDER" not in clauses:
        return False
    ranks = [
        re.sub(r"\s+(ASC|DESC)\s*$", "", part.removeprefix(" BY").strip())
        for part in _split(sql[slice(*clauses["ORDER"])], ",")
    ]
    n = int(sql[slice(*clauses["LIMIT"])])
    before, after = sql[: clauses["FROM"][0] - len("FROM")], sql[clauses["FROM"][0] - len("FROM") : clauses["LIMIT"][0]]
    rows = connection.execute(f"{before}, {', '.join(ranks)} {after} {n + 1}").fetchall()
    ranked = [row[-len(ranks) :] for row in rows]
    return len(ranked) > n and ranked[n - 1] == ranked[n]


def _weaker(sql: str) -> Iterator[tuple[str, str]]:
    """The query without one of its conditions, for each."""
    clauses = _clauses(sql)
    for clause in ("WHERE", "HAVING"):
        if clause not in clauses:
            continue
        start, end = clauses[clause]
        conditions = _split(sql[start:end], "AND")
        for place, condition in enumerate(conditions):
            kept = conditions[:place] + conditions[place + 1 :]
            yield condition.strip(), f"{sql[:start]} {' AND '.join(kept) or '1'} {sql[end:]}"


def _split(text: str, at: str) -> list[str]:
    """Split at a word or character outside of brackets and quotes; the AND of a BETWEEN stays."""
    parts, depth, quoted, between = [""], 0, False, False
    for token in _WORD.finditer(text):
        word = token.group()
        if word == "'":
            quoted = not quoted
        if not quoted:
            depth += {"(": 1, ")": -1}.get(word, 0)
            between = between or word == "BETWEEN"
            if depth == 0 and word == at and not between:
                parts.append("")
                continue
            if word == "AND":
                between = False
        parts[-1] += word
    return parts

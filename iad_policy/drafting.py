"""Draws a query for a question: its form, columns and conditions, each choice as likely as it fits."""

import math
import re
from collections.abc import Hashable, Mapping
from random import Random
from typing import Any, NamedTuple, TypeVar

from iad_policy.linking import Asked, Clue, Column, Join, Schema, identifiers, stems_of
from iad_policy.querying import Query, joined

T = TypeVar("T", bound=Hashable)
_HEAD = re.compile(
    r"(?:what (?:is|are|was|were) the|which|in which|(?:please )?(?:list|give)(?: the| its)?|for each|at what|what)"
    r" (?:different |full )?(.+?)"
    r"(?= of | that | who | with | by | from | has | have | is | are | was | were | do | did | does | lies |[.,?]|$)"
)
_LAST = re.compile(r"(?:give|list)(?: the| its| their)? ([^.]+)\.\Z")
_COUNTED = re.compile(r"(?:how many|number of|how much)(?: of the| of| more)?(?: different)? (.+)")


class Chooser:
    """Chooses among options by their fit: the largest when cold, as likely as `exp(fit / heat)` when warm."""

    def __init__(self, heat: float, rng: Random) -> None:
        self._scale = 0.6 * heat
        self._rng = rng

    def one(self, options: Mapping[T, float]) -> T:
        """Return one of the options, the first of equals when cold."""
        top = max(options.values())
        if self._scale <= 0.0:
            return next(option for option, fit in options.items() if fit == top)
        weights = [math.exp((fit - top) / self._scale) for fit in options.values()]
        return self._rng.choices(list(options), weights)[0]

    def takes(self, fit: float) -> bool:
        """Whether something that fits that well is taken."""
        return self.one({True: fit, False: 0.0})


class Scope(NamedTuple):
    """What a draft is made from."""

    asked: Asked
    schema: Schema
    choose: Chooser
    base: str


def draft(asked: Asked, schema: Schema, choose: Chooser) -> Query | None:
    """Return a query for a question, or None if its tables can't be joined."""
    base = choose.one({table: _table_fit(table, asked, schema) for table in schema.tables})
    scope = Scope(asked, schema, choose, base)
    where = _conditions(scope)
    form = choose.one(_forms(asked))
    query = FORMS[form](scope)._replace(where=where)
    if not where and form == "list":
        query = query._replace(select=f"DISTINCT {query.select}")
    wished = {join: _join_fit(join, asked) for join in schema.joins}
    order = []
    while wished:
        join = choose.one(wished)
        order.append(join)
        del wished[join]
    return joined(query, schema, order)


def _table_fit(table: str, asked: Asked, schema: Schema) -> float:
    """How much the question is about rows of a table."""
    own = set(stems_of(table)) | {s for c in schema.of(table) if c.is_key for s in c.stems if c.name != "name"}
    own -= {"id", "code"}
    counted = _COUNTED.search(asked.text.lower())
    near = stems_of(counted[1])[:3] if counted else ()
    said = {s for column in schema.of(table) for s in column.stems | column.said}
    in_clues = sum(
        any(column.table == table for column in schema.named(word.group()))
        for clue in asked.clues
        for word in identifiers(clue.text)
    )
    fit = 1.0 * any(s in own for s in asked.stems) + 1.2 * any(s in own for s in near)
    fit += 0.5 * min(in_clues, 2) + 0.08 * sum(s in said for s in set(asked.stems))
    n_keys = sum(join.table == table for join in schema.joins)
    return fit + 0.1 * n_keys


def _join_fit(join: Join, asked: Asked) -> float:
    stems = set(stems_of(join.column)) - {"id"}
    clues = " ".join(clue.text for clue in asked.clues)
    return 0.5 * len(stems & set(asked.stems)) + 2.0 * (join.column in clues)


def _forms(asked: Asked) -> dict[str, float]:
    """How well each form of query fits the wording."""
    kinds = {clue.kind for clue in asked.clues}
    many = asked.says(r"\bhow many\b")
    return {
        "list": 0.6,
        "count": 2.0 * many + 0.4 * asked.says("number of"),
        "distinct": 2.4 * (many and asked.says("how many different")),
        "average": 2.2 * asked.says(r"\baverage\b"),
        "total": 1.9 * asked.says(r"\btotal\b|altogether|how much") + 1.2 * ("total" in kinds),
        "extreme": 2.3 * ("extreme" in kinds) + 1.0 * asked.says(r"\b\w+est\b|first"),
        "top": 2.2 * asked.says(r"\bthe most\b|\bmost (often|trips|\w+s)\b") - 1.4 * ("extreme" in kinds),
        "groups": 2.6 * asked.says(r"\bfor each\b|\bof each\b"),
        "having": 2.8 * ("having" in kinds),
        "formula": 3.2 * ("formula" in kinds),
    }


def _column_fit(column: Column, words: tuple[str, ...], scope: Scope) -> float:
    shared = len(column.stems & set(words)) - 0.12 * len(column.stems - set(words))
    fit = 1.2 * shared + 0.25 * len(column.said & set(words)) + 0.5 * (column.table == scope.base)
    table = set(stems_of(column.table))
    fit += 0.4 * bool(table & set(scope.asked.stems)) + 0.4 * bool(table & set(words))
    return fit - 0.4 * (column.name.endswith("id") and "id" not in words)


def _column(scope: Scope, words: tuple[str, ...], *, numbers: bool = False) -> Column:
    """Draw the column that words mean; a table's name means the name or title of its rows."""
    options: dict[Column, float] = {}
    for column in scope.schema.columns:
        if numbers and not column.is_number:
            continue
        fit = _column_fit(column, words, scope)
        if column.name in ("name", "title") and set(stems_of(column.table)) & set(words):
            fit += 1.2
        options[column] = fit
    return scope.choose.one(options or dict.fromkeys(scope.schema.columns, 0.0))


def _resolved(expression: str, scope: Scope) -> str:
    """Give each column of an expression its table: the one the question is about, where there are several."""
    parts, end = [], 0
    for word in identifiers(expression):
        options = {
            column: 1.0 * (column.table == scope.base) + 0.4 * bool(set(stems_of(column.table)) & set(scope.asked.stems))
            for column in scope.schema.named(word.group())
        }
        if options:
            parts += [expression[end : word.start()], scope.choose.one(options).full]
            end = word.end()
    return "".join(parts) + expression[end:]


def _conditions(scope: Scope) -> tuple[str, ...]:
    asked = scope.asked
    formulas = " ".join(clue.text for clue in asked.clues if clue.kind == "formula")
    found = []
    for clue in asked.clues:
        if clue.kind == "condition" and clue.text not in formulas and scope.choose.takes(1.6):
            found.append(_resolved(clue.text, scope))
        elif clue.kind == "column" and _is_name(clue.phrase, scope) and scope.choose.takes(1.6):
            column = _column(scope, stems_of(clue.text))
            found.append(f"{column.full} = {_literal(clue.phrase)}")
    for name in asked.names:
        if scope.choose.takes(1.5):
            found.append(f"{_column_of(name, scope).full} = {_literal(name)}")
    if not found and not asked.days:
        found += [f"{c.full} = {_literal(value)}" for c, value in _said_values(scope) if scope.choose.takes(1.5)]
    if asked.days and scope.choose.takes(1.6):
        found += _between(scope)
    return tuple(dict.fromkeys(found))


def _is_name(phrase: str, scope: Scope) -> bool:
    """Whether a phrase that refers to a column is a value of it, and not a word for the column."""
    words = {s for table in scope.schema.tables for s in stems_of(table)}
    words |= {s for column in scope.schema.columns for s in column.stems}
    return phrase in scope.asked.text and (phrase[:1].isupper() or not words & set(stems_of(phrase)))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _column_of(name: str, scope: Scope) -> Column:
    """Draw the column that a name in the question is a value of."""
    options = {}
    for column in scope.schema.columns:
        if column.type.upper() != "TEXT":
            continue
        fit = 0.8 * len(column.stems & set(scope.asked.stems)) + 0.5 * (column.table == scope.base)
        fit += 0.15 * len(column.said & set(scope.asked.stems))
        fit += 3.0 * any(str(value) == name for value in column.values)
        fit += 0.6 * any(_shape(str(value)) == _shape(name) for value in column.values)
        options[column] = fit
    return scope.choose.one(options)


def _shape(text: str) -> str:
    return re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", re.sub(r"\d+", "9", text)))


def _said_values(scope: Scope) -> list[tuple[Column, Any]]:
    """Columns whose sample value the question says, word for word."""
    text = f" {re.sub(r'[?.,]', ' ', scope.asked.text)} "
    explained = " ".join(clue.phrase for clue in scope.asked.clues)
    return [
        (column, value)
        for column in scope.schema.columns
        for value in column.values
        if isinstance(value, str) and len(value) > 2 and f" {value} " in text and value not in explained
    ]


def _between(scope: Scope) -> list[str]:
    days = scope.asked.days
    clue = next((c.text for c in scope.asked.clues if c.kind == "column" and scope.schema.named(c.text)), "")
    options = {
        column: _column_fit(column, scope.asked.stems, scope) + 2.0 * (column.name == clue)
        for column in scope.schema.columns
        if column.is_day
    }
    if not options:
        return []
    column = scope.choose.one(options)
    when = f"date({column.full})" if column.type.upper() == "DATETIME" else column.full
    if len(days) == 1:
        sign = "<" if scope.asked.says("before|until") else ">"
        return [] if any(days[0] in c.text for c in scope.asked.clues) else [f"{when} {sign} '{days[0]}'"]
    return [f"{when} BETWEEN '{days[0]}' AND '{days[1]}'"]


def _targets(scope: Scope) -> str:
    """The columns that the question wants to see."""
    lowered = scope.asked.text.lower()
    head = _LAST.search(lowered) or _HEAD.search(lowered)
    nouns = re.split(r" and (?:the )?|, ", head[1]) if head else [lowered]
    if lowered.startswith("when "):
        days = {c: _column_fit(c, scope.asked.stems, scope) for c in scope.schema.columns if c.is_day}
        return scope.choose.one(days).full if days else "*"
    shown = []
    for noun in nouns[:2]:
        clue = next((c for c in scope.asked.clues if c.kind == "column" and c.phrase in noun), None)
        if clue is not None and all(scope.schema.named(w.group()) for w in identifiers(clue.text)):
            shown.append(_resolved(clue.text, scope))
        else:
            after = stems_of(lowered[head.end() :])[:2] if head else ()
            shown.append(_column(scope, stems_of(noun) + after[:1]).full)
    return ", ".join(dict.fromkeys(shown))


def _list(scope: Scope) -> Query:
    limit = re.search(r"\b(?:the|which) (two|three|five|ten|\d+) (\w+est)\b", scope.asked.text.lower())
    query = Query(_targets(scope), scope.base)
    if limit is None:
        return query
    number = {"two": "2", "three": "3", "five": "5", "ten": "10"}.get(limit[1], limit[1])
    by = _column(scope, stems_of(" ".join(clue.text for clue in scope.asked.clues)), numbers=True).full
    is_least = scope.choose.takes(0.6 if limit[2].startswith(("cheap", "low", "small", "old", "short")) else -0.6)
    return query._replace(order=by if is_least else f"{by} DESC", limit=number)


def _count(scope: Scope) -> Query:
    counted = _COUNTED.search(scope.asked.text.lower())
    words = stems_of(counted[1])[:1] if counted else ()
    numbers = [c for c in scope.schema.columns if c.is_number and set(words) & c.stems]
    options = {"COUNT(*)": 1.0, **{f"SUM({c.full})": 0.2 + _column_fit(c, words, scope) * 0.5 for c in numbers}}
    return Query(scope.choose.one(options), scope.base)


def _distinct(scope: Scope) -> Query:
    counted = _COUNTED.search(scope.asked.text.lower())
    words = stems_of(counted[1])[:1] if counted else ()
    return Query(f"COUNT(DISTINCT {_column(scope, (*words, 'id')).full})", scope.base)


def _average(scope: Scope) -> Query:
    return Query(f"AVG({_measured(scope, 'average')})", scope.base)


def _total(scope: Scope) -> Query:
    clue = next((clue for clue in scope.asked.clues if clue.kind == "total"), None)
    if clue is not None and scope.choose.takes(1.5):
        return Query(_translated(clue.text, scope), scope.base)
    return Query(f"SUM({_measured(scope, 'total')})", scope.base)


def _measured(scope: Scope, word: str) -> str:
    """The number that is averaged or summed up: named after the word, or anywhere."""
    lowered = scope.asked.text.lower()
    aliases = [c for c in scope.asked.clues if c.kind == "column" and scope.schema.named(c.text) and c.phrase in lowered]
    if aliases and scope.choose.takes(1.0):
        return _resolved(aliases[0].text, scope)
    found = re.search(rf"\b{word}\b (?:number of )?(.+?)(?: of | for | that |\?|$)", lowered)
    return _column(scope, stems_of(found[1]) if found else scope.asked.stems, numbers=True).full


def _extreme(scope: Scope) -> Query:
    clue = next((clue for clue in scope.asked.clues if clue.kind == "extreme"), None)
    if clue is None:
        is_least = scope.asked.says("lowest|first|cheapest|shortest|smallest|oldest")
        column = _column(scope, scope.asked.stems, numbers=True).full
    else:
        is_least, column = clue.text.startswith("MIN"), _resolved(clue.text[4:], scope)
    of_value = Query(f"{'MIN' if is_least else 'MAX'}({column})", scope.base)
    of_row = Query(_targets(scope), scope.base, order=column if is_least else f"{column} DESC", limit="1")
    is_value = 0.8 if scope.asked.says(r"the (highest|lowest) |at what|when") else -0.8
    return of_value if scope.choose.takes(is_value) else of_row


def _top(scope: Scope) -> Query:
    target = _targets(scope)
    table = target.partition(".")[0]
    key = next((c.full for c in scope.schema.of(table) if c.is_key), target)
    group = key if target.endswith((".name", ".title")) or "," in target else target
    money = [c for c in scope.schema.columns if c.is_number and c.stems & set(scope.asked.stems)]
    options = {"COUNT(*)": 1.0, **{f"SUM({c.full})": 0.3 + 0.4 * scope.asked.says("earn|revenue|sold") for c in money}}
    return Query(target, scope.base, group=group, order=f"{scope.choose.one(options)} DESC", limit="1")


def _groups(scope: Scope) -> Query:
    found = re.search(r"(?:for|of) each ([a-z ]+?)(?:,| that | who | with | has |\?|$)", scope.asked.text.lower())
    group = _column(scope, stems_of(found[1]) if found else scope.asked.stems).full
    kinds = {clue.kind for clue in scope.asked.clues}
    inner = FORMS[scope.choose.one({"count": 1.0, "total": 2.0 * ("total" in kinds), "formula": 2.5 * ("formula" in kinds)})]
    return Query(f"{group}, {inner(scope).select}", scope.base, group=group)


def _having(scope: Scope) -> Query:
    clue = next((clue for clue in scope.asked.clues if clue.kind == "having"), None)
    target = _targets(scope)
    return Query(target, scope.base, group=target, having=_translated(clue.text, scope) if clue else "")


def _formula(scope: Scope) -> Query:
    clue = next((clue for clue in scope.asked.clues if clue.kind == "formula"), None)
    if clue is None:
        return _count(scope)
    text = _translated(clue.text, scope)
    if not re.search(r"\b(?:SUM|AVG|COUNT)\(", text):
        text = f"{'MAX' if scope.asked.says('longest|highest') else 'AVG'}({text})"
    return Query(text, scope.base)


def _translated(formula: str, scope: Scope) -> str:
    """A formula of the evidence in SQL: DIVIDE and its kind are spelt out, what is summed where something holds too."""
    for name, sign in (("DIVIDE", "/"), ("SUBTRACT", "-"), ("MULTIPLY", "*")):
        while (start := formula.find(f"{name}(")) >= 0:
            first, second, end = _arguments(formula, start + len(name))
            first = f"CAST({first} AS REAL)" if sign == "/" and scope.choose.takes(0.8) else first
            formula = f"{formula[:start]}({first} {sign} {second}){formula[end:]}"
    formula = re.sub(r"\(CAST\((.+) AS REAL\) / (.+)\) \* 100", r"CAST(\1 AS REAL) * 100 / \2", formula)
    formula = re.sub(r"(SUM|AVG)\((\w+) where ([^()]+)\)", r"\1(CASE WHEN \3 THEN \2 END)", formula)
    formula = re.sub(r"SUM\(((?:[^()]|\([^()]*\))*?(?:=|>|<| IN | IS )(?:[^()]|\([^()]*\))*)\)(?! *END)", _summed, formula)
    return _resolved(formula, scope)


def _summed(match: re.Match[str]) -> str:
    return match[0] if "CASE" in match[1] else f"SUM(CASE WHEN {match[1]} THEN 1 ELSE 0 END)"


def _arguments(text: str, opening: int) -> tuple[str, str, int]:
    """The two arguments of a call whose bracket opens at a place, and where it ends."""
    depth, comma, end = 0, len(text), len(text)
    for place in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if text[place] == "," and depth == 1:
            comma = min(comma, place)
        if depth == 0:
            end = place
            break
    return text[opening + 1 : comma].strip(), text[comma + 1 : end].strip(), end + 1


FORMS = {
    "list": _list,
    "count": _count,
    "distinct": _distinct,
    "average": _average,
    "total": _total,
    "extreme": _extreme,
    "top": _top,
    "groups": _groups,
    "having": _having,
    "formula": _formula,
}


def clue_texts(clues: tuple[Clue, ...]) -> frozenset[str]:
    """What the evidence's conditions come to, to see which of them a query uses."""
    return frozenset(clue.text for clue in clues if clue.kind in ("condition", "having"))

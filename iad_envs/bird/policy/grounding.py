"""Links the words of a question to tables, columns and conditions. Better fits are more likely choices."""

import math
import re
from collections.abc import Hashable, Mapping
from random import Random
from typing import NamedTuple, TypeVar

from iad_envs.bird.policy.question import Join, ParsedQuestion, ReadableColumn, ReadableSchema, identifiers, stems_of

T = TypeVar("T", bound=Hashable)
COUNTED = re.compile(r"(?:how many|number of|how much)(?: of the| of| more)?(?: different)? (.+)")


class Chooser:
    """Chooses among options by their fit: the largest at heat 0, else with probability ~ exp(fit / heat)."""

    def __init__(self, heat: float, rng: Random) -> None:
        self._scale = 0.6 * heat
        self._rng = rng

    def one(self, options: Mapping[T, float]) -> T:
        """Return one of the options. At heat 0, ties go to the first."""
        top = max(options.values())
        if self._scale <= 0.0:
            return next(option for option, fit in options.items() if fit == top)
        weights = [math.exp((fit - top) / self._scale) for fit in options.values()]
        return self._rng.choices(list(options), weights)[0]

    def takes(self, fit: float) -> bool:
        """Return whether an option with this fit is taken, rather than nothing with fit 0."""
        return self.one({True: fit, False: 0.0})


class Scope(NamedTuple):
    """The inputs of a draft: parsed question, schema, chooser and base table."""

    question: ParsedQuestion
    schema: ReadableSchema
    choose: Chooser
    base: str


def table_fit(table: str, question: ParsedQuestion, schema: ReadableSchema) -> float:
    """Return how much the question is about rows of a table."""
    own = set(stems_of(table)) | {s for c in schema.of(table) if c.is_key for s in c.stems if c.name != "name"}
    own -= {"id", "code"}
    counted = COUNTED.search(question.text.lower())
    near = stems_of(counted[1])[:3] if counted else ()
    known_stems = {s for column in schema.of(table) for s in column.stems | column.description_stems}
    in_clues = sum(
        any(column.table == table for column in schema.named(word.group()))
        for clue in question.clues
        for word in identifiers(clue.text)
    )
    fit = 1.0 * any(s in own for s in question.stems) + 1.2 * any(s in own for s in near)
    fit += 0.5 * min(in_clues, 2) + 0.08 * sum(s in known_stems for s in set(question.stems))
    n_keys = sum(join.table == table for join in schema.joins)
    return fit + 0.1 * n_keys


def join_fit(join: Join, question: ParsedQuestion) -> float:
    """Return how likely it is that this key is meant, if two tables have several."""
    stems = set(stems_of(join.column)) - {"id"}
    clues = " ".join(clue.text for clue in question.clues)
    return 0.5 * len(stems & set(question.stems)) + 2.0 * (join.column in clues)


def column_fit(column: ReadableColumn, words: tuple[str, ...], scope: Scope) -> float:
    """Return how well the stems of some words fit a column."""
    shared = len(column.stems & set(words)) - 0.12 * len(column.stems - set(words))
    fit = 1.2 * shared + 0.25 * len(column.description_stems & set(words)) + 0.5 * (column.table == scope.base)
    table = set(stems_of(column.table))
    fit += 0.4 * bool(table & set(scope.question.stems)) + 0.4 * bool(table & set(words))
    return fit - 0.4 * (column.name.endswith("id") and "id" not in words)


def column_for(scope: Scope, words: tuple[str, ...], *, numbers: bool = False) -> ReadableColumn:
    """Draw the column that words mean. A table's name means the name or title of its rows."""
    options: dict[ReadableColumn, float] = {}
    for column in scope.schema.columns:
        if numbers and not column.is_number:
            continue
        fit = column_fit(column, words, scope)
        if column.name in ("name", "title") and set(stems_of(column.table)) & set(words):
            fit += 1.2
        options[column] = fit
    return scope.choose.one(options or dict.fromkeys(scope.schema.columns, 0.0))


def resolved(expression: str, scope: Scope) -> str:
    """Add its table to each column of an expression. Among several tables, the question's topic is preferred."""
    parts, end = [], 0
    for word in identifiers(expression):
        options = {
            column: 1.0 * (column.table == scope.base)
            + 0.4 * bool(set(stems_of(column.table)) & set(scope.question.stems))
            for column in scope.schema.named(word.group())
        }
        if options:
            parts += [expression[end : word.start()], scope.choose.one(options).full]
            end = word.end()
    return "".join(parts) + expression[end:]


def conditions_of(scope: Scope) -> tuple[str, ...]:
    """Draw the conditions: those of the evidence, names in the question, quoted values, and dates."""
    question = scope.question
    formulas = " ".join(clue.text for clue in question.clues if clue.kind == "formula")
    found = []
    words = {s for table in scope.schema.tables for s in stems_of(table)}
    words |= {s for column in scope.schema.columns for s in column.stems}
    for clue in question.clues:
        # A phrase that refers to a column may be a value of it, and not a word for the column.
        is_name = clue.phrase in question.text and (clue.phrase[:1].isupper() or not words & set(stems_of(clue.phrase)))
        if clue.kind == "condition" and clue.text not in formulas and scope.choose.takes(1.6):
            found.append(resolved(clue.text, scope))
        elif clue.kind == "column" and is_name and scope.choose.takes(1.6):
            column = column_for(scope, stems_of(clue.text))
            found.append(f"{column.full} = {_literal(clue.phrase)}")
    for name in question.names:
        if scope.choose.takes(1.5):
            found.append(f"{_column_of(name, scope).full} = {_literal(name)}")
    if not found and not question.days:
        # Sample values that the question contains word for word.
        text = f" {re.sub(r'[?.,]', ' ', question.text)} "
        explained = " ".join(clue.phrase for clue in question.clues)
        found += [
            f"{column.full} = {_literal(value)}"
            for column in scope.schema.columns
            for value in column.values
            if isinstance(value, str) and len(value) > 2 and f" {value} " in text and value not in explained
            if scope.choose.takes(1.5)
        ]
    if question.days and scope.choose.takes(1.6):
        found += _between(scope)
    return tuple(dict.fromkeys(found))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _column_of(name: str, scope: Scope) -> ReadableColumn:
    """Draw the column of which a name in the question is a value."""
    options = {}
    for column in scope.schema.columns:
        if column.type.upper() != "TEXT":
            continue
        fit = 0.8 * len(column.stems & set(scope.question.stems)) + 0.5 * (column.table == scope.base)
        fit += 0.15 * len(column.description_stems & set(scope.question.stems))
        fit += 3.0 * any(str(value) == name for value in column.values)
        fit += 0.6 * any(_shape(str(value)) == _shape(name) for value in column.values)
        options[column] = fit
    return scope.choose.one(options)


def _shape(text: str) -> str:
    return re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", re.sub(r"\d+", "9", text)))


def _between(scope: Scope) -> list[str]:
    days = scope.question.days
    clue = next((c.text for c in scope.question.clues if c.kind == "column" and scope.schema.named(c.text)), "")
    options = {
        column: column_fit(column, scope.question.stems, scope) + 2.0 * (column.name == clue)
        for column in scope.schema.columns
        if column.is_day
    }
    if not options:
        return []
    column = scope.choose.one(options)
    when = f"date({column.full})" if column.type.upper() == "DATETIME" else column.full
    if len(days) == 1:
        sign = "<" if scope.question.says("before|until") else ">"
        return [] if any(days[0] in c.text for c in scope.question.clues) else [f"{when} {sign} '{days[0]}'"]
    return [f"{when} BETWEEN '{days[0]}' AND '{days[1]}'"]


def translated(formula: str, scope: Scope) -> str:
    """Return a formula of the evidence in SQL: DIVIDE and the like as operators, and conditional sums as CASE."""
    for name, sign in (("DIVIDE", "/"), ("SUBTRACT", "-"), ("MULTIPLY", "*")):
        while (start := formula.find(f"{name}(")) >= 0:
            first, second, end = _arguments(formula, start + len(name))
            first = f"CAST({first} AS REAL)" if sign == "/" and scope.choose.takes(0.8) else first
            formula = f"{formula[:start]}({first} {sign} {second}){formula[end:]}"
    formula = re.sub(r"\(CAST\((.+) AS REAL\) / (.+)\) \* 100", r"CAST(\1 AS REAL) * 100 / \2", formula)
    formula = re.sub(r"(SUM|AVG)\((\w+) where ([^()]+)\)", r"\1(CASE WHEN \3 THEN \2 END)", formula)
    formula = re.sub(
        r"SUM\(((?:[^()]|\([^()]*\))*?(?:=|>|<| IN | IS )(?:[^()]|\([^()]*\))*)\)(?! *END)",
        lambda sum_: sum_[0] if "CASE" in sum_[1] else f"SUM(CASE WHEN {sum_[1]} THEN 1 ELSE 0 END)",
        formula,
    )
    return resolved(formula, scope)


def _arguments(text: str, opening: int) -> tuple[str, str, int]:
    """Return the two arguments of the call whose bracket opens at a position, and the position of its end."""
    depth, comma, end = 0, len(text), len(text)
    for place in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if text[place] == "," and depth == 1:
            comma = min(comma, place)
        if depth == 0:
            end = place
            break
    return text[opening + 1 : comma].strip(), text[comma + 1 : end].strip(), end + 1

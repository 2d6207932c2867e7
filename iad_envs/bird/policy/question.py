"""Parses questions to a database, using only what an agent may see: question, evidence and schema, but no gold.

Words are linked to tables and columns by their names and descriptions. Evidence of the form "phrase refers to
expression" gives conditions, columns, extremes and formulas. Names and dates in the question are its literals.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from iad_policy.types import State

_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_STRING = re.compile(r"'((?:[^']|'')*)'")
_FILLER = "the a an of in on is are was were that who whose to for it its and or at by"

ClueKind = Literal["condition", "having", "extreme", "formula", "column", "total"]


class ReadableColumn(NamedTuple):
    """A column, with the stems of its name and of its description."""

    table: str
    name: str
    type: str
    is_key: bool
    stems: frozenset[str]
    description_stems: frozenset[str]
    values: tuple[Any, ...]

    @property
    def full(self) -> str:
        """The name with its table: `table.column`."""
        return f"{self.table}.{self.name}"

    @property
    def is_number(self) -> bool:
        """Whether it can be summed up: a number that is not a key."""
        return self.type.upper() in ("INTEGER", "REAL", "NUMERIC", "FLOAT") and not self.name.lower().endswith("id")

    @property
    def is_day(self) -> bool:
        """Whether it holds dates or times."""
        return self.type.upper().startswith("DATE")


class Join(NamedTuple):
    """A declared foreign key: a column of one table refers to a column of another."""

    table: str
    column: str
    to_table: str
    to_column: str


@dataclass(frozen=True, slots=True)
class ReadableSchema:
    """The tables of a database, as an agent sees them."""

    columns: tuple[ReadableColumn, ...]
    joins: tuple[Join, ...]

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(dict.fromkeys(column.table for column in self.columns))

    def of(self, table: str) -> tuple[ReadableColumn, ...]:
        """Return a table's columns."""
        return tuple(column for column in self.columns if column.table == table)

    def named(self, name: str) -> tuple[ReadableColumn, ...]:
        """Return the columns that `column` or `table.column` may mean."""
        table, _, column = name.lower().rpartition(".")
        return tuple(c for c in self.columns if c.name.lower() == column and table in ("", c.table.lower()))


class Clue(NamedTuple):
    """A part of the evidence: a phrase of the question and its meaning, with columns not yet resolved."""

    phrase: str
    kind: ClueKind
    text: str


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A parsed question.

    Attributes:
        text: The question.
        stems: Stems of its words.
        clues: The parts of the evidence.
        names: Capitalised names in the question that no clue explains.
        days: Dates in the question.
    """

    text: str
    stems: tuple[str, ...]
    clues: tuple[Clue, ...]
    names: tuple[str, ...]
    days: tuple[str, ...]

    def says(self, pattern: str) -> bool:
        """Return whether the question, in lower case, matches a pattern."""
        return re.search(pattern, self.text.lower()) is not None


def stem(word: str) -> str:
    """Return a word without its endings: plural, past tense, -ing."""
    if len(word) > 4 and word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif len(word) > 4 and word.endswith(("ches", "shes", "xes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=8192)
def stems_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words, without filler words. Underscores separate words."""
    words, filler = re.findall(r"[a-z]+|\d+", text.lower()), _FILLER.split()
    return tuple(stem(word) for word in words if word not in filler)


def schema_of(state: State) -> ReadableSchema | None:
    """Return the schema that was shown in this state or before it, or None if there was none.

    Tables and columns whose names would need quotes are left out.
    """
    for info in (state.info, *(turn.info for turn in state.history)):
        tables = info.get("page", {}).get("tables")
        if not tables:
            continue
        columns = tuple(
            ReadableColumn(
                table["name"],
                column["name"],
                column["type"],
                column["is_key"],
                frozenset(stems_of(f"{column['name']} {column['full_name']}")),
                frozenset(stems_of(f"{column['description']} {column['value_description']}")),
                tuple(column["values"]),
            )
            for table in tables
            for column in table["columns"]
            if table["name"].isidentifier() and column["name"].isidentifier()
        )
        joins = dict.fromkeys(Join(**key) for table in tables for key in table["foreign_keys"])
        return ReadableSchema(columns, tuple(joins)) if columns else None
    return None


@lru_cache(maxsize=1024)
def read_question(question: str, evidence: str) -> ParsedQuestion:
    """Parse a question and its evidence."""
    clues = tuple(_clues(evidence))
    explained = {text.lower() for clue in clues for text in (clue.phrase, *_STRING.findall(clue.text))}
    names = tuple(name for name in _names(question) if not any(name.lower() in known for known in explained))
    return ParsedQuestion(question, stems_of(question), clues, names, tuple(_DATE.findall(question)))


def _names(question: str) -> Iterator[str]:
    """Yield capitalised names and codes, except for the first word of a sentence."""
    name_form = r"(?:[A-Z0-9][\w'.+-]*)(?: (?:(?:of|from|for|the) (?=[A-Z]))?[A-Z0-9(][\w'.+)-]*)*"
    for match in re.finditer(name_form, _DATE.sub(lambda day: " " * len(day[0]), question)):
        before = question[: match.start()].rstrip()
        name = match.group().rstrip(".,'")
        starts_sentence = not before or before[-1] in ".?!"
        if starts_sentence:
            _, _, name = name.partition(" ")
        if name and not name.replace(".", "").isdigit():
            yield name


def _clues(evidence: str) -> Iterator[Clue]:
    for part in evidence.split(";"):
        phrase, found, expression = part.strip().partition(" refers to ")
        if not found:
            phrase, found, expression = part.strip().partition(" refer to ")
        if found:
            yield _clue(phrase, expression.strip())
        elif match := re.match(r"([a-z ]+?)\s*=\s*(.+)", part.strip()):
            yield Clue(match[1], "formula", match[2])


def _clue(phrase: str, expression: str) -> Clue:
    if "DIVIDE" in expression or "SUBTRACT" in expression or "MULTIPLY" in expression:
        return Clue(phrase, "formula", expression)
    if match := re.match(r"(MAX|MIN)\((.+)\)\Z", expression):
        return Clue(phrase, "extreme", f"{match[1]} {match[2]}")
    if re.match(r"(?:COUNT|SUM|AVG)\([^()]*\)\s*(?:>=|<=|>|<|=)", expression):
        return Clue(phrase, "having", expression)
    if expression.startswith(("SUM(", "COUNT(", "AVG(")):
        return Clue(phrase, "total", expression)
    kind: ClueKind = "column"
    if re.match(r"[\w.() ,'%]+?\s*(?:!=|>=|<=|=|>|<| IS NOT NULL| IS NULL| IN \(| LIKE )", expression):
        kind = "condition"
    return Clue(phrase, kind, re.sub(r" because .*| in [a-z]+\Z| of the .*", "", expression))


def identifiers(expression: str) -> Iterator[re.Match[str]]:
    """Yield the words of an expression that may be columns: not quoted, and not called as functions."""
    blanked = _STRING.sub(lambda quoted: " " * len(quoted[0]), expression)
    return re.finditer(r"\b([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)\b(?!\s*\()", blanked)

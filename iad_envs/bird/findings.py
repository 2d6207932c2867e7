"""Finds possible problems of a query without gold, as data for verifiers, judges and tests.

Findings come from the query's text, the schema, the database's values and the query's result, never from a gold query.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from threading import Lock
from typing import Any, Literal, NamedTuple

from rapidfuzz import fuzz, process

from iad_envs.bird.data import Question
from iad_envs.bird.database import Dialect, Queried, QueryResult
from iad_envs.bird.reading import Compared, QueryText, is_declared
from iad_envs.bird.schema import Schema, quoted
from iad_envs.bird.sql import first_word, refusal
from iad_envs.bird.strict_match import tie_query

Severity = Literal["error", "warning", "note"]
MAX_VALUES = 20_000
VALUES_LIMIT_S = 1.0
NEAR_SCORE = 65.0
N_NEAR = 3
N_SEARCHED = 3
"""Maximum number of literals for which similar values are searched. Further literals are only reported."""
NEAR_CHARS = 100
READ_CHARS = 10_000
"""Maximum length of a query's text that is analysed, because an agent's query may be written to take long."""
MANY_ROWS = 100
COUNTING = re.compile(r"\b(how many|what is the (total )?number of|count the)\b", re.IGNORECASE)
GROUPING = re.compile(r"\b(each|every|per|respectively|for all|list|which|group)\b", re.IGNORECASE)
QUOTED = re.compile(r"'([^']{2,})'")
UNKNOWN = (
    ("unknown_column", re.compile(r"no such column: (?:\w+\.)?(.+)")),
    ("unknown_column", re.compile(r'column (?:\w+\.)?"?(.+?)"? does not exist')),
    ("unknown_table", re.compile(r"no such table: (?:\w+\.)?(.+)")),
    ("unknown_table", re.compile(r'relation "(?:\w+\.)?(.+?)" does not exist')),
    ("unknown_function", re.compile(r"no such function: (.+)")),
    ("unknown_function", re.compile(r"function (.+?)\(.*\) does not exist")),
    ("ambiguous_column", re.compile(r"ambiguous column name: (.+)")),
    ("ambiguous_column", re.compile(r'column reference "(.+?)" is ambiguous')),
)
"""Finding codes and patterns for the error messages of SQLite and PostgreSQL."""
SYNTAX = ("syntax error", "incomplete input", "unrecognized token", "unterminated")
TEXT_TESTS = {"sqlite": "typeof({}) = 'text'", "postgresql": "pg_typeof({})::text = 'text'"}


class QueryFinding(NamedTuple):
    """A finding about a query.

    Attributes:
        code: Kind of finding.
        severity: `error` (there is no result), `warning` (often a sign of a wrong query) or `note`.
        message: Explanation for the agent.
    """

    code: str
    severity: Severity
    message: str


class Values:
    """The distinct texts of a database's columns, read through its worker on first use. Thread-safe.

    Args:
        run: Executes a query with a time limit in seconds.
        dialect: SQL dialect, `sqlite` or `postgresql`.
    """

    def __init__(self, run: Callable[[str, float], QueryResult], dialect: Dialect = "sqlite") -> None:
        self.run = run
        self.dialect = dialect
        self._known: dict[tuple[str, str], frozenset[str] | None] = {}
        self._lock = Lock()

    def of(self, table: str, column: str) -> frozenset[str] | None:
        """Return a column's texts, or None if there are too many or none."""
        key = (table, column)
        with self._lock:
            if key not in self._known:
                name = quoted(column)
                is_text = TEXT_TESTS[self.dialect].format(name)
                sql = f"SELECT DISTINCT {name} FROM {quoted(table)} WHERE {is_text} LIMIT {MAX_VALUES + 1}"
                result = self.run(sql, VALUES_LIMIT_S)
                is_known = result.status == "ok" and not result.is_cut and 0 < len(result.rows) <= MAX_VALUES
                self._known[key] = frozenset(row[0] for row in result.rows) if is_known else None
            return self._known[key]


def values_of(database: Queried, dialect: Dialect = "sqlite") -> Values:
    """Return the values of a database, read through its worker."""
    return Values(database.run, dialect)


def findings(
    sql: str, result: QueryResult, question: Question, schema: Schema, values: Values
) -> tuple[QueryFinding, ...]:
    """Return all findings about an executed query."""
    if result.status != "ok" or refusal(sql):
        return (_failure(sql, result, schema),)
    if len(sql) > READ_CHARS:
        return tuple(_of_result(result, question))
    reading = QueryText(sql, schema)
    return (
        *_of_result(result, question),
        *_of_literals(reading, values),
        *_of_evidence(reading, sql, question),
        *_of_text(reading, values.dialect),
        *_of_ties(sql, result, values),
    )


def _failure(sql: str, result: QueryResult, schema: Schema) -> QueryFinding:
    refused = refusal(sql)
    if refused or result.status == "rejected":
        return QueryFinding("rejected", "error", refused or f"{result.message}; only one reading query is")
    if result.status == "timeout":
        return QueryFinding("timeout", "error", "timed out")
    if result.status == "limit":
        return QueryFinding("limit", "error", f"over a limit: {result.message}")
    for code, pattern in UNKNOWN:
        if match := pattern.search(result.message):
            return QueryFinding(code, "error", f"{result.message}{_near_name(code, match[1], schema)}")
    is_syntax = any(text in result.message for text in SYNTAX) or not first_word(sql)
    return QueryFinding("syntax" if is_syntax else "error", "error", result.message)


def _near_name(code: str, name: str, schema: Schema) -> str:
    if code == "unknown_column":
        known = {f"{table.name}.{column.name}": column.name for table in schema.tables for column in table.columns}
    elif code == "unknown_table":
        known = {table.name: table.name for table in schema.tables}
    else:
        return ""
    near = process.extract(name, known, scorer=fuzz.WRatio, limit=N_NEAR, score_cutoff=NEAR_SCORE)
    return f"; near: {', '.join(key for _, _, key in near)}" if near else ""


def _of_result(result: QueryResult, question: Question) -> Iterator[QueryFinding]:
    rows = result.rows
    if not rows:
        yield QueryFinding("empty", "warning", "the result has no rows")
        return
    nulls = [cell is None for row in rows for cell in row]
    if all(nulls):
        yield QueryFinding("all_null", "warning", "the result holds only NULL")
    elif any(nulls):
        yield QueryFinding("some_null", "warning", "some cells of the result are NULL")
    if len(rows) == 1 and rows[0] in ((0,), (0.0,)):
        yield QueryFinding("single_zero", "warning", "the result is a single zero")
    if len(set(rows)) < len(rows):
        yield QueryFinding("duplicates", "note", "some rows come more than once")
    if len(rows) > MANY_ROWS:
        yield QueryFinding("many_rows", "note", f"the result has over {MANY_ROWS} rows")
    if COUNTING.search(question.question) and not GROUPING.search(question.question):
        is_number = len(rows) == 1 and any(isinstance(cell, int | float | Decimal) for cell in rows[0])
        if not is_number:
            yield QueryFinding("shape", "warning", "the question asks for a number, and the result is not one")


def _of_literals(reading: QueryText, values: Values) -> Iterator[QueryFinding]:
    n_missing = 0
    for compared in dict.fromkeys(reading.comparisons()):
        table, column = compared.reference.table.name, compared.reference.column.name
        if compared.literal.kind == "number":
            if "TEXT" in compared.reference.column.type.upper() and compared.operator in ("<", ">", "<=", ">="):
                message = f"{table}.{column} is text, so {compared.operator} {compared.literal.text} compares as text"
                yield QueryFinding("text_as_number", "warning", message)
            continue
        if compared.operator not in ("=", "==", "IN", "LIKE"):
            continue
        known = values.of(table, column)
        if known is not None and not _occurs(compared, known):
            n_missing += 1
            offered = _near_values(compared.literal.value, known) if n_missing <= N_SEARCHED else ""
            message = f"{compared.literal.text} is no value of {table}.{column}{offered}"
            yield QueryFinding("literal_not_found", "warning", message)
    for text in dict.fromkeys(reading.quoted_unknown()):
        yield QueryFinding("quoted_literal", "note", f'"{text}" names nothing, so it is taken for a text')


def _near_values(literal: str, known: frozenset[str]) -> str:
    if len(literal) > NEAR_CHARS:
        return ""
    short = [value for value in known if len(value) <= NEAR_CHARS]
    near = process.extract(literal.strip("%"), sorted(short), scorer=fuzz.WRatio, limit=N_NEAR, score_cutoff=NEAR_SCORE)
    return f"; near: {', '.join(repr(value) for value, _, _ in near)}" if near else ""


def _occurs(compared: Compared, known: frozenset[str]) -> bool:
    literal = compared.literal.value
    if compared.operator != "LIKE":
        return literal in known or "NOCASE" in compared.reference.table.ddl.upper()
    middle = literal.strip("%")
    if "%" in middle or "_" in middle:
        return True  # a pattern; matching it could take very long
    return any(_is_like(value.lower(), literal.lower(), middle.lower()) for value in known)


def _is_like(value: str, literal: str, middle: str) -> bool:
    """Match a LIKE pattern with `%` at the ends only. Both texts are in lower case."""
    if literal[:1] == "%" and literal[-1:] == "%":
        return middle in value
    if literal[:1] == "%":
        return value.endswith(middle)
    return value.startswith(middle) if literal[-1:] == "%" else value == middle


def _of_evidence(reading: QueryText, sql: str, question: Question) -> Iterator[QueryFinding]:
    if not question.evidence:
        return
    names = reading.names()
    for table in reading.schema.tables:
        for column in table.columns:
            name = column.name
            if name.lower() not in names and _is_named(name, question.evidence):
                yield QueryFinding("evidence_unused", "warning", f"the evidence names {name}, and the query does not")
    lowered = sql.lower()
    for literal in dict.fromkeys(QUOTED.findall(question.evidence)):
        if literal.lower().strip("%") not in lowered.replace("''", "'"):
            yield QueryFinding("evidence_literal_unused", "warning", f"the evidence has '{literal}', the query has not")


def _is_named(name: str, evidence: str) -> bool:
    """Whether the evidence refers to a column: its name is not a plain word, or the evidence compares it."""
    if not re.search(rf"(?<![\w']){re.escape(name)}(?![\w'])", evidence):
        return False
    is_plain_word = name.isalpha() and (name.islower() or name.istitle())
    return not is_plain_word or re.search(rf"(?<![\w']){re.escape(name)}\s*(?:[=<>!]|LIKE\b)", evidence) is not None


def _of_text(reading: QueryText, dialect: Dialect) -> Iterator[QueryFinding]:
    for left, right in dict.fromkeys(reading.joins()):
        if reading.schema.foreign_keys and not is_declared(reading.schema, left, right):
            message = (
                f"{left.table.name}.{left.column.name} = {right.table.name}.{right.column.name} is no declared key: "
                "the join may multiply rows"
            )
            yield QueryFinding("fan_out", "warning", message)
    words = [part.value for part in reading.parts if part.kind == "word"]
    if _divides_integers(reading):
        yield QueryFinding("integer_division", "warning", "/ between integers drops the fraction: CAST one to REAL")
    sorts_null_first = ("DESC" in words) == (dialect == "postgresql")
    if "ORDER" in words and "LIMIT" in words and sorts_null_first and "NULL" not in words and "NULLS" not in words:
        yield QueryFinding("order_nulls", "note", "ORDER BY puts NULL first, and the query does not leave it out")


def _of_ties(sql: str, result: QueryResult, values: Values) -> Iterator[QueryFinding]:
    query, places, limit = tie_query(sql, result.columns)
    if not query or len(result.rows) < limit:
        return
    more = values.run(query, VALUES_LIMIT_S)
    if more.status == "ok" and len(more.rows) > limit:
        last, first_out = ([row[place] for place in places] for row in more.rows[limit - 1 : limit + 1])
        if last == first_out:
            yield QueryFinding("tied_limit", "warning", f"LIMIT {limit} drops rows that tie with the last one it shows")


def _divides_integers(reading: QueryText) -> bool:
    parts: Sequence[Any] = reading.parts
    if not any(part.text == "/" for part in parts):
        return False
    words = {part.value for part in parts if part.kind == "word"}
    has_real = any(part.kind == "number" and "." in part.text for part in parts)
    return not (words & {"CAST", "REAL", "FLOAT", "AVG", "JULIANDAY", "TOTAL"}) and not has_real

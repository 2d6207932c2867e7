"""Finds possible problems of a query without gold, as data for verifiers, judges and tests.

Findings come from the query's text, the schema, the database's values and the query's result, never from a gold query.
"""

from collections.abc import Callable, Iterator
from itertools import takewhile
from threading import Lock

from iad_envs.bird.data import Question
from iad_envs.bird.database import Dialect, QueryResult
from iad_envs.bird.failure import QueryFinding, failure, near_values
from iad_envs.bird.reading import Compared, QueryText, is_declared
from iad_envs.bird.schema import Schema, quoted
from iad_envs.bird.sql import depths, plain_limit, refusal, tokens, without_end
from iad_envs.bird.strict_match import tie_query
from iad_envs.bird.wording import wants_all, wording_findings

VALUES_LIMIT_S = 1.0


class Values:
    """The distinct texts of a database's columns, read through its worker on first use. Thread-safe.

    Args:
        run: Executes a query with a time limit in seconds.
        dialect: SQL dialect of the database.
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
                name = quoted(column, self.dialect)
                most = 20_000
                tests = {"sqlite": "typeof({}) = 'text'", "postgresql": "pg_typeof({})::text = 'text'"}
                is_text = tests.get(self.dialect, "{} IS NOT NULL").format(name)
                sql = f"SELECT DISTINCT {name} FROM {quoted(table, self.dialect)} WHERE {is_text} LIMIT {most + 1}"
                result = self.run(sql, VALUES_LIMIT_S)
                # MySQL can't tell a value's type in SQL, so its dates and numbers are left out here.
                texts = frozenset(row[0] for row in result.rows if isinstance(row[0], str))
                is_known = result.status == "ok" and not result.is_cut and len(result.rows) <= most
                self._known[key] = texts if is_known and texts else None
            return self._known[key]


def findings(
    sql: str, result: QueryResult, question: Question, schema: Schema, values: Values
) -> tuple[QueryFinding, ...]:
    """Return all findings about an executed query."""
    is_read = len(sql) <= 10_000  # because an agent's query may be written to take long
    if result.status != "ok" or refusal(sql):
        return (failure(sql, result, schema, is_read=is_read),)
    if not is_read:
        return tuple(_of_result(result))
    reading = QueryText(sql, schema)
    return (
        *_of_result(result),
        *_of_literals(reading, values),
        *_of_joins(reading),
        *_of_division(reading, result),
        *_of_subqueries(reading, values),
        *_of_limit(sql, result, question, values),
        *wording_findings(reading, result, question),
    )


def _of_result(result: QueryResult) -> Iterator[QueryFinding]:
    rows = result.rows
    if not rows:
        yield QueryFinding("empty", "warning", "the result has no rows")
        return
    nulls = [cell is None for row in rows for cell in row]
    if all(nulls):
        yield QueryFinding("all_null", "warning", "the result holds only NULL")
    elif any(nulls):
        yield QueryFinding("some_null", "warning", f"{sum(nulls)} of {len(nulls)} cells of the result are NULL")
    if len(rows) == 1 and rows[0] in ((0,), (0.0,)):
        yield QueryFinding("single_zero", "warning", "the result is a single zero")


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
            offered, literal = "", compared.literal.value
            if n_missing <= 3 and len(literal) <= 100:  # a search takes long; further literals are only reported
                offered = near_values(literal.strip("%"), (value for value in known if len(value) <= 100))
            message = f"{compared.literal.text} is no value of {table}.{column}{offered}"
            yield QueryFinding("literal_not_found", "warning", message)
    for text in dict.fromkeys(reading.quoted_unknown()):
        yield QueryFinding("quoted_literal", "note", f'"{text}" names nothing, so it is taken for a text')


def _occurs(compared: Compared, known: frozenset[str]) -> bool:
    literal = compared.literal.value
    if compared.operator != "LIKE":
        return literal in known or "NOCASE" in compared.reference.table.ddl.upper()
    middle = literal.strip("%").lower()
    if "%" in middle or "_" in middle:
        return True  # a pattern; matching it could take very long
    texts = [value.lower() for value in known]
    if literal[:1] == "%" and literal[-1:] == "%":
        return any(middle in value for value in texts)
    if literal[:1] == "%":
        return any(value.endswith(middle) for value in texts)
    return any(value.startswith(middle) for value in texts) if literal[-1:] == "%" else middle in texts


def _of_joins(reading: QueryText) -> Iterator[QueryFinding]:
    for left, right in dict.fromkeys(reading.joins()):
        if reading.schema.foreign_keys and not is_declared(reading.schema, left, right):
            message = (
                f"{left.table.name}.{left.column.name} = {right.table.name}.{right.column.name} is no declared key: "
                "the join may multiply rows"
            )
            yield QueryFinding("fan_out", "warning", message)


def _of_division(reading: QueryText, result: QueryResult) -> Iterator[QueryFinding]:
    shown = takewhile(lambda part: part.value not in ("WHERE", "HAVING"), reading.parts)
    if not any(part.text == "/" for part in shown):
        return
    words = {part.value for part in reading.parts if part.kind == "word"}
    has_real = any(part.kind == "number" and "." in part.text for part in reading.parts)
    has_fraction = any(not isinstance(cell, int | str | bytes | None) for row in result.rows for cell in row)
    if not (words & {"CAST", "REAL", "FLOAT", "AVG", "JULIANDAY", "TOTAL"} or has_real or has_fraction):
        yield QueryFinding("integer_division", "warning", "/ between integers drops the fraction: CAST one to REAL")


def _of_subqueries(reading: QueryText, values: Values) -> Iterator[QueryFinding]:
    """Yield subqueries compared by `=` that give several rows. SQLite takes the first one, servers refuse."""
    parts, depth_of = reading.parts, depths(reading.parts)
    for place in range(2, len(parts) - 1):
        before, bracket, word = parts[place - 1 : place + 2]
        if bracket.text != "(" or before.text not in ("=", "==") or word.value != "SELECT":
            continue
        end = next((e for e in range(place + 1, len(parts)) if depth_of[e] <= depth_of[place]), len(parts))
        subquery = " ".join(inner.text for inner in parts[place + 1 : end])
        counted = values.run(f"SELECT COUNT(*) FROM ({subquery}) AS counted", VALUES_LIMIT_S)
        # One that refers to the outer query fails here, and is left out.
        if counted.status == "ok" and counted.rows[0][0] > 1:
            n, name = counted.rows[0][0], parts[place - 2].text
            message = f"{name} = (SELECT ...) compares with the first of {n} rows only: IN takes all"
            yield QueryFinding("subquery_rows", "warning", message)


def _of_limit(sql: str, result: QueryResult, question: Question, values: Values) -> Iterator[QueryFinding]:
    query, places, limit = tie_query(sql, result.columns)
    if query and len(result.rows) >= limit:
        more = values.run(query, VALUES_LIMIT_S)
        if more.status == "ok" and len(more.rows) > limit:
            last, first_out = ([row[place] for place in places] for row in more.rows[limit - 1 : limit + 1])
            if last == first_out:
                message = f"LIMIT {limit} drops rows that tie with the last one it shows"
                yield QueryFinding("tied_limit", "warning", message)
    if wants_all(question) and (limit := plain_limit(sql)) and len(result.rows) >= limit:
        parts = without_end(tokens(sql))[:-1]
        more = values.run(f"{' '.join(part.text for part in parts)} {limit + 1}", VALUES_LIMIT_S)
        if more.status == "ok" and len(more.rows) > limit:
            message = f"LIMIT {limit} drops rows, and the question does not ask for a few only"
            yield QueryFinding("limit_unasked", "warning", message)

"""Renders states: the first page, the result of a query, and names of results."""

from collections.abc import Sequence
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from iad_envs.bird.data import Question
from iad_envs.bird.database import Dialect, QueryLimits, QueryResult
from iad_envs.bird.failure import QueryFinding


class Answered(NamedTuple):
    """An executed query.

    Attributes:
        kind: Kind of action, `execute` or `submit`.
        sql: The query.
        result: The result. Large ones are cut to the shown rows, so that states stay small.
        n_rows: Number of rows before the cut.
        key: Name of the result. Results with the same rows have the same name.
        findings: Findings about the query.
    """

    kind: Literal["execute", "submit"]
    sql: str
    result: QueryResult
    n_rows: int
    key: str
    findings: tuple[QueryFinding, ...]


def answer_page(last: Answered, limits: QueryLimits, n_shown: int) -> str:
    """Return the text of a query's result: at most `n_shown` rows, or the reason why there are none."""
    failure = next((finding for finding in last.findings if finding.severity == "error"), None)
    if failure is not None:
        after = f" after {limits.seconds:g} s" if failure.code == "timeout" else ""
        return f"{last.kind}: {failure.message}{after}"
    more = "or more " if last.n_rows >= limits.rows else ""
    lines = [f"{last.kind}: {last.n_rows} {more}row{'' if last.n_rows == 1 else 's'}"]
    if last.n_rows:
        lines.append(" | ".join(last.result.columns))
        lines += [" | ".join(map(_shown_cell, row)) for row in last.result.rows[:n_shown]]
    if last.n_rows > n_shown:
        lines.append(f"... {last.n_rows - n_shown} more rows")
    return "\n".join(lines)


def first_page(question: Question, schema: str, how_to: str, dialect: Dialect = "sqlite") -> str:
    """Return the first observation. `how_to` says what the actions do."""
    evidence = f"Evidence: {question.evidence}\n" if question.evidence else ""
    name = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MySQL"}[dialect]
    asked = f"Question: {question.question}\n{evidence}{how_to} One reading query (SELECT) in {name}'s dialect."
    return f"Database: {question.db_id}\n{schema}\n\n{asked}"


def result_name(result: QueryResult) -> str:
    """Return a name that is equal for equal sets of rows (1 equals 1.0). `empty` or the status if there are no rows."""
    if result.status != "ok":
        return result.status
    if not result.rows:
        return "empty"
    rows = sorted({repr(tuple(map(_plain_cell, row))) for row in result.rows})
    return blake2b("\n".join(rows).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _plain_cell(cell: Any) -> Any:
    if isinstance(cell, Decimal) and cell.is_finite():
        cell = int(cell) if cell == cell.to_integral_value() else float(cell)
    return int(cell) if isinstance(cell, float | bool) and float(cell).is_integer() else cell


def plain_rows(rows: Sequence[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    """Convert rows to loggable data: long texts are clipped; blobs, dates and decimals are written as in SQL."""
    return tuple(
        tuple(cell if cell is None or isinstance(cell, int | float) else _shown_cell(cell) for cell in row)
        for row in rows
    )


def _shown_cell(cell: Any) -> str:
    if cell is None:
        return "NULL"
    text = f"x'{cell[:200].hex()}'" if isinstance(cell, bytes) else str(cell)
    return text if len(text) <= 200 else f"{text[:200]}..."

"""Spider's test-suite accuracy (Zhong et al., 2020): a prediction must match the gold on every database of a folder.

The rule is that of taoyds/test-suite-sql-eval: results are equal as bags of rows under some permutation of columns, in
order if the gold's text contains "order by". Unlike there, the decision is exact.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from iad_envs.bird.database import SCORING, DatabaseClient, QueryLimits
from iad_envs.bird.sql import tokens

Row = tuple[Any, ...]
YEAR = re.compile(r"YEAR\s*\(\s*CURDATE\s*\(\s*\)\s*\)\s*", re.IGNORECASE)


class GoldFailed(ValueError):
    """A gold query could not be executed, so predictions can't be judged."""


def same_result(predicted: Sequence[Row], gold: Sequence[Row], *, in_order: bool) -> bool:
    """Whether two results are equal under some permutation of the predicted columns."""
    if not predicted and not gold:
        return True
    if len(predicted) != len(gold) or len(predicted[0]) != len(gold[0]):
        return False
    theirs = [_column(column, in_order) for column in zip(*predicted, strict=True)]
    ours = [_column(column, in_order) for column in zip(*gold, strict=True)]
    allowed = [[place for place, column in enumerate(theirs) if column == own] for own in ours]
    wanted_rows = list(gold) if in_order else Counter(gold)
    return any(
        (rows if in_order else Counter(rows)) == wanted_rows
        for chosen in _assignments(allowed, list(zip(*predicted, strict=True)), ())
        for rows in [[tuple(row[place] for place in chosen) for row in predicted]]
    )


def prepared(sql: str, *, keep_distinct: bool = False) -> str:
    """Return a query as run by the suite: operators repaired, the current year set to 2020, DISTINCT removed."""
    sql = sql.replace("> =", ">=").replace("< =", "<=").replace("! =", "!=")
    sql = YEAR.sub("2020", sql)
    if keep_distinct:
        return sql
    return " ".join(part.text for part in tokens(sql) if part.value != "DISTINCT" or part.kind != "word")


def suite_match(
    databases: Iterable[Path], predicted: str, gold: str, *, keep_distinct: bool = False, limits: QueryLimits = SCORING
) -> int:
    """Return 1 if a prediction matches the gold on every database.

    Raises:
        GoldFailed: The gold query fails on a database.
    """
    in_order = "order by" in gold.lower()
    predicted, gold = (prepared(sql, keep_distinct=keep_distinct) for sql in (predicted, gold))
    for path in databases:
        with DatabaseClient(path, limits) as database:
            expected = database.run(gold)
            if expected.status != "ok":
                raise GoldFailed(f"expected the gold to run on {path.name}, got {expected.message}: {gold}")
            given = database.run(predicted)
        if given.status != "ok" or not same_result(given.rows, expected.rows, in_order=in_order):
            return 0
    return 1


def _column(cells: Sequence[Any], in_order: bool) -> Any:
    return list(cells) if in_order else Counter(cells)


def _assignments(
    allowed: Sequence[Sequence[int]], columns: Sequence[Row], chosen: tuple[int, ...]
) -> Iterable[tuple[int, ...]]:
    """Yield all ways to assign distinct predicted columns to gold columns. Identical columns are tried once."""
    if len(chosen) == len(allowed):
        yield chosen
        return
    tried: set[Row] = set()
    for place in allowed[len(chosen)]:
        if place not in chosen and columns[place] not in tried:
            tried.add(columns[place])
            yield from _assignments(allowed, columns, (*chosen, place))

"""Another comparison than EX: stricter on order and duplicates, while numbers may differ by a tolerance.

Rows that tie under the gold's ORDER BY may be in any order, if the sort keys can be determined.
"""

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from typing import Any

from iad_envs.bird.sql import depths, order_terms, plain_limit, tokens, without_end

Row = tuple[Any, ...]
Number = int | float | Decimal
"""Types of numbers. Servers return all three."""


def same_cell(one: Any, other: Any) -> bool:
    """Whether two cells are equal: numbers within a tolerance, other values exactly and with the same type."""
    if isinstance(one, Number) and isinstance(other, Number):
        return one == other or math.isclose(float(one), float(other), rel_tol=1e-6, abs_tol=1e-9)
    return type(one) is type(other) and bool(one == other)


def same_row(one: Row, other: Row) -> bool:
    """Whether two rows are equal, cell by cell."""
    return len(one) == len(other) and all(map(same_cell, one, other))


def same_bag(predicted: Sequence[Row], gold: Sequence[Row]) -> bool:
    """Whether two results contain the same rows with the same counts."""
    if len(predicted) != len(gold):
        return False
    theirs, ours = Counter(predicted), Counter(gold)
    if theirs == ours:
        return True
    # Only rows that are not exactly equal need the tolerance.
    left = sorted((theirs - ours).elements(), key=_sort_key)
    right = sorted((ours - theirs).elements(), key=_sort_key)
    return all(map(same_row, left, right)) or _matched(left, right)


def sound_match(predicted: Sequence[Row], gold: Sequence[Row], ranks: Sequence[Any] | None) -> int:
    """Return 1 if a result matches the gold result, else 0.

    Args:
        predicted: Rows of the prediction.
        gold: Rows of the gold query.
        ranks: Sort key of each gold row, or None if the gold query does not sort. Rows with equal keys may be in any
            order.
    """
    if len(predicted) != len(gold):
        return 0
    if ranks is None:
        return int(same_bag(predicted, gold))
    start = 0
    for _, tied in groupby(ranks):
        end = start + len(list(tied))
        if not same_bag(predicted[start:end], gold[start:end]):
            return 0
        start = end
    return 1


def ranking_query(sql: str, columns: Sequence[str]) -> tuple[str, list[int]]:
    """Return a query that also selects the sort keys of `sql`.

    Returns:
        The query ("" if no key must be added, or none can be) and the column indexes of the keys (empty if `sql` does
        not sort).
    """
    names = [name.lower() for name in columns]
    places: list[int] = []
    added: list[str] = []
    for term in order_terms(sql):
        only = term[0] if len(term) == 1 else None
        if only is not None and only.kind == "number" and only.text.isdigit():
            places.append(int(only.text) - 1)
        elif only is not None and only.kind in ("word", "name") and names.count(only.value.lower()) == 1:
            places.append(names.index(only.value.lower()))
        else:
            places.append(len(columns) + len(added))
            added.append(" ".join(part.text for part in term))
    if not added:
        return "", places
    # The keys are added to the outermost SELECT's list, unless that would change the rows.
    parts = without_end(tokens(sql))
    outer = [depth == 0 and part.kind == "word" for part, depth in zip(parts, depths(parts), strict=True)]
    words = [part.value if is_outer else "" for part, is_outer in zip(parts, outer, strict=True)]
    if "FROM" not in words or any(word in words for word in ("UNION", "EXCEPT", "INTERSECT", "DISTINCT")):
        return "", places
    texts, place = [part.text for part in parts], words.index("FROM")
    return " ".join([*texts[:place], ",", ", ".join(added), *texts[place:]]), places


def tie_query(sql: str, columns: Sequence[str]) -> tuple[str, list[int], int]:
    """Return a query to check whether a LIMIT cuts between rows with equal sort keys.

    Returns:
        The query with sort keys and one more row ("" if there is no plain LIMIT or the keys can't be added), the column
        indexes of the keys, and the limit.
    """
    limit = plain_limit(sql)
    if not limit:
        return "", [], 0
    query, places = ranking_query(sql, columns)
    if not places or (not query and max(places) >= len(columns)):
        return "", [], 0
    kept = without_end(tokens(query or sql))[:-1]
    return f"{' '.join(part.text for part in kept)} {limit + 1}", places, limit


def _matched(left: Sequence[Row], right: Sequence[Row]) -> bool:
    """Pair rows greedily, because rounding noise in one column can sort two results differently."""
    if len(left) > 200:
        return False
    free = list(right)
    for row in left:
        place = next((place for place, other in enumerate(free) if same_row(row, other)), None)
        if place is None:
            return False
        del free[place]
    return True


def _sort_key(row: Row) -> tuple[Any, ...]:
    return tuple((1, float(f"{cell:.5g}"), "") if isinstance(cell, Number) else (2, 0.0, repr(cell)) for cell in row)

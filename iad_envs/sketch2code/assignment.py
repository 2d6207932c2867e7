"""The cheapest way to pair rows with columns: shortest augmenting paths (Crouse, 2016).

Where several pairings cost the same, it settles on the one that SciPy's `linear_sum_assignment` does, on which the
published visual metrics rest; so that they need no SciPy.
"""

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.float64]


def cheapest_pairs(costs: Costs) -> list[tuple[int, int]]:
    """Return (row, column) pairs of the lowest total cost, by row; as many as the smaller side has."""
    if costs.shape[0] > costs.shape[1]:
        return sorted((row, column) for column, row in cheapest_pairs(np.ascontiguousarray(costs.T)))
    n_rows, n_columns = costs.shape
    of_row = np.zeros(n_rows)
    of_column = np.zeros(n_columns)
    row_of = np.full(n_columns, -1)
    column_of = np.full(n_rows, -1)
    for start in range(n_rows):
        path = np.full(n_columns, -1)
        reached = np.full(n_columns, np.inf)
        seen_rows = [start]
        done = np.zeros(n_columns, dtype=bool)
        remaining = np.arange(n_columns)[::-1].copy()
        row, lowest, end = start, 0.0, -1
        while end < 0:
            through = lowest + costs[row, remaining] - of_row[row] - of_column[remaining]
            shorter = through < reached[remaining]
            path[remaining[shorter]] = row
            reached[remaining[shorter]] = through[shorter]
            place = _nearest(reached[remaining], row_of[remaining])
            column = int(remaining[place])
            lowest = float(reached[column])
            done[column] = True
            remaining[place] = remaining[-1]
            remaining = remaining[:-1]
            if row_of[column] < 0:
                end = column
            else:
                row = int(row_of[column])
                seen_rows.append(row)
        of_row[start] += lowest
        for row in seen_rows[1:]:
            of_row[row] += lowest - reached[column_of[row]]
        of_column[done] -= lowest - reached[done]
        _flip(end, start, path, row_of, column_of)
    return [(row, int(column)) for row, column in enumerate(column_of)]


def _nearest(reached: Costs, row_of: NDArray[np.int64]) -> int:
    """Return the place of the lowest cost; of equal ones the last that is free, else the first."""
    lowest = np.flatnonzero(reached == reached.min())
    free = lowest[row_of[lowest] < 0]
    return int(free[-1] if len(free) else lowest[0])


def _flip(
    end: int, start: int, path: NDArray[np.int64], row_of: NDArray[np.int64], column_of: NDArray[np.int64]
) -> None:
    column = end
    while True:
        row = int(path[column])
        row_of[column] = row
        column_of[row], column = column, int(column_of[row])
        if row == start:
            return

"""What a model is fitted to."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from iad_policy.errors import IADError
from iad_policy.learn.objectives import Objective
from iad_policy.trained.heads import Array
from iad_policy.trained.rows import Row


class NothingToLearn(IADError, ValueError):
    """The experience has nothing that the recipe can use."""


@dataclass(frozen=True, slots=True)
class Examples:
    """What a model is fitted to.

    Attributes:
        rows: The rows.
        stored: What the objective gets with them, by name: an array with a number per row.
        unit: The unit of each row. Rows of a unit stay together in a batch: the sides of a pair.
        objective: What is minimised.
    """

    rows: tuple[Row, ...]
    stored: Mapping[str, Array]
    unit: Array
    objective: Objective

    @property
    def n_units(self) -> int:
        """Number of units."""
        return int(self.unit.max()) + 1 if len(self.unit) else 0


def weighted(rows: list[Row], objective: Objective, **stored: Array) -> Examples:
    """Return examples in which every row is a unit, with weight 1 unless `weight` is given."""
    stored.setdefault("weight", np.ones(len(rows)))
    return Examples(tuple(rows), stored, np.arange(len(rows), dtype=float), objective)

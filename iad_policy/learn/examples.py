"""What a model is fitted to: rows with an objective, and the pairs of preference training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from iad_policy.errors import IADError
from iad_policy.learn.objectives import Objective, Preference
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Array, sigmoid
from iad_policy.trained.rows import Row

Reference = Literal["start", "behaviour"]
"""The model before training, or the policies that proposed the data, with the likelihoods recorded then: several rounds
of data then need no model but the one that is trained (arXiv 2408.07199, section 5.2)."""


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


class Pair(NamedTuple):
    """Two sides, of which the first is better.

    Attributes:
        chosen: The rows of the better side: one action, or the actions of an episode.
        rejected: Those of the other.
        margin: By how much it is better.
    """

    chosen: Sequence[Row]
    rejected: Sequence[Row]
    margin: float


def weighted(rows: list[Row], objective: Objective, **stored: Array) -> Examples:
    """Return examples in which every row is a unit, with weight 1 unless `weight` is given."""
    stored.setdefault("weight", np.ones(len(rows)))
    return Examples(tuple(rows), stored, np.arange(len(rows), dtype=float), objective)


def preferences(
    pairs: Sequence[Pair], start: Backend, objective: Preference, *, tau: float | None, reference: Reference = "start"
) -> Examples:
    """Return pairs as examples, with log-probabilities of the reference.

    Args:
        pairs: The pairs.
        start: The model before training.
        objective: What is minimised.
        tau: Temperature of soft labels, sigmoid(margin / tau). None makes hard ones.
        reference: Whose log-probabilities they are: see `Reference`.

    Raises:
        NothingToLearn: The reference is the behaviour, and an action was recorded without log-probabilities.
    """
    rows: list[Row] = []
    side: list[int] = []
    p: list[float] = []
    for place, pair in enumerate(pairs):
        likely = 1.0 if tau is None else float(sigmoid(np.array(pair.margin / tau)))
        for which, part in enumerate((pair.chosen, pair.rejected)):
            rows += part
            side += [2 * place + which] * len(part)
            p += [likely] * len(part)
    sides: Array = np.array(side, float)
    stored = start.outputs(start.batch(rows)) if reference == "start" else np.array(_recorded(rows))
    return Examples(tuple(rows), {"side": sides, "p": np.array(p), "reference": stored}, sides // 2, objective)


def _recorded(rows: Sequence[Row]) -> list[float]:
    """Return the log-probabilities that the actions were proposed with."""
    found = [row.logprob for row in rows if row.logprob is not None]
    if len(found) < len(rows):
        raise NothingToLearn(
            f"expected log-probabilities with every action for reference=behaviour, got {len(found)} of {len(rows)}; "
            "explore with a trained policy or --agent-arg logprobs=true, or use reference=start"
        )
    return found

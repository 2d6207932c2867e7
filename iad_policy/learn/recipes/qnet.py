"""QNet: a value model of actions, fitted to the values that search trees give them (Q*Agent, published as QLASS)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from iad_policy.learn.examples import Examples, NothingToLearn, weighted
from iad_policy.learn.experience import Experience
from iad_policy.learn.objectives import squared_error
from iad_policy.learn.targets import Backup, Scale, q_values
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Head
from iad_policy.trained.rows import Row


@dataclass(frozen=True, slots=True)
class QNet:
    """Fit a value model to the Q-values of trees.

    Attributes:
        targets: How rewards become values: see `q_values`.
        gamma: Discount of `bellman`.
        scale: `none` leaves the values as they are. `tree` scales each tree to [0, 1], as the paper does. A tree whose
            episodes all earned the same then says nothing of whether that was much.
    """

    head: ClassVar[Head] = "value"
    needs_start: ClassVar[bool] = False

    targets: Backup = "bellman"
    gamma: float = 0.9
    scale: Scale = "none"

    def examples(self, experience: Experience, start: Backend, rng: np.random.Generator) -> Examples:
        """Return the trees' actions with their values."""
        found = [row for _, tree in experience.trees for row in q_values(tree, self.targets, self.gamma, self.scale)]
        if not found:
            raise NothingToLearn(
                f"expected search trees in which episodes ended, got none in {len(experience.trajectories)} episodes; "
                "run the strategy q-tree, or another one that keeps trees"
            )
        target = np.array([row.q for row in found])
        return weighted([Row(row.state, row.action) for row in found], squared_error, target=target)

"""Behaviour cloning: the committed steps of demonstrations become likely."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from iad_policy.learn.examples import Examples, NothingToLearn, weighted
from iad_policy.learn.experience import Experience, Trajectory
from iad_policy.learn.objectives import cross_entropy
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Head


@dataclass(frozen=True, slots=True)
class BehaviourCloning:
    """Fit a policy to demonstrations.

    Demonstrations are episodes that earned at least `keep`. What chose them is the true reward on training tasks.

    Attributes:
        demos: Number of demonstrations, drawn by the seed. None takes all.
        keep: Least reward of a demonstration.
    """

    head: ClassVar[Head] = "policy"
    needs_start: ClassVar[bool] = False

    demos: int | None = None
    keep: float = 1.0

    def examples(self, experience: Experience, start: Backend, rng: np.random.Generator) -> Examples:
        """Return the steps of the demonstrations."""
        return weighted([step.row for one in self.chosen(experience, rng) for step in one.steps], cross_entropy)

    def chosen(self, experience: Experience, rng: np.random.Generator) -> Sequence[Trajectory]:
        """Return the demonstrations."""
        found = [one for one in experience.trajectories if one.reward >= self.keep and one.steps]
        if not found:
            best = max((one.reward for one in experience.trajectories), default=0.0)
            agents = ", ".join(sorted({one.record.agent for one in experience.trajectories}))
            raise NothingToLearn(
                f"expected episodes with a reward of {self.keep:g} or more to imitate, got {best:.3g} at best in "
                f"{len(experience.trajectories)} episodes of {agents}; explore more tasks or seeds, or with another "
                "--agent (by default the one in the environment's Domain, else random), or lower keep"
            )
        if self.demos is None or self.demos >= len(found):
            return found
        return [found[place] for place in sorted(rng.choice(len(found), self.demos, replace=False))]

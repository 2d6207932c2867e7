"""An evaluator: a model of whether an attempt succeeded, for the role of that name in ARTIS."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from iad_policy.learn.examples import Examples, NothingToLearn, weighted
from iad_policy.learn.experience import Experience
from iad_policy.learn.objectives import logistic
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Head
from iad_policy.trained.rows import Row


@dataclass(frozen=True, slots=True)
class AttemptEvaluation:
    """Fit a model to whether episodes succeeded: logistic regression on what was seen of them.

    Episodes that failed are needed as much as those that succeeded, so runs of agents of different skill are best. The
    model sees neither reward nor verdict.
    """

    head: ClassVar[Head] = "attempt"
    needs_start: ClassVar[bool] = False

    def examples(self, experience: Experience, start: Backend, rng: np.random.Generator) -> Examples:
        """Return the states where episodes ended, with 1 for success and 0 for failure."""
        known = [
            (Row(one.end, None), float(one.record.success >= 1.0))
            for one in experience.trajectories
            if one.end is not None and one.record.success is not None
        ]
        succeeded = np.array([success for _, success in known])
        if len(set(succeeded)) < 2:
            raise NothingToLearn(
                f"expected episodes that succeeded and some that failed, got {int(succeeded.sum())} successes in "
                f"{len(known)} episodes whose success is known; add runs of a better and of a worse agent, such as "
                "random"
            )
        return weighted([row for row, _ in known], logistic, target=succeeded)

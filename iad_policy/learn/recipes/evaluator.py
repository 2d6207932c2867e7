"""An evaluator: a model of whether an attempt succeeded, for the role of that name in ARTIS."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from iad_policy.learn.examples import Examples, NothingToLearn, weighted
from iad_policy.learn.experience import Experience
from iad_policy.learn.objectives import logistic
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Head
from iad_policy.trained.rows import Row
from iad_policy.types import State


class JudgedAttempt(NamedTuple):
    """An episode whose success is known.

    Attributes:
        task: The task's id.
        end: The state after its last action.
        success: Whether it succeeded.
    """

    task: str
    end: State
    success: bool


def attempts_in(experience: Experience) -> list[JudgedAttempt]:
    """Return the episodes whose success and end are known."""
    return [
        JudgedAttempt(one.task, one.end, one.record.success >= 1.0)
        for one in experience.trajectories
        if one.end is not None and one.record.success is not None
    ]


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
        found = attempts_in(experience)
        succeeded = np.array([float(one.success) for one in found])
        if len(set(succeeded)) < 2:
            raise NothingToLearn(
                f"expected episodes that succeeded and some that failed, got {int(succeeded.sum())} successes in "
                f"{len(found)} episodes whose success is known; add runs of a better and of a worse agent, such as "
                "random"
            )
        return weighted([Row(one.end, None) for one in found], logistic, target=succeeded)

"""An evaluator: a model of whether an attempt succeeded, for the role of that name in ARTIS."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from iad_policy.learn.examples import Examples, NothingToLearn, weighted
from iad_policy.learn.experience import Experience
from iad_policy.learn.objectives import logistic
from iad_policy.learn.splits import SplitError
from iad_policy.report.statistics import Interval, paired_interval
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Head
from iad_policy.trained.models import Model
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


class Accuracy(NamedTuple):
    """How often an evaluator was right.

    Attributes:
        tasks: The task of each attempt.
        is_right: Whether it was right, of each attempt.
        is_usual: Whether the attempt belongs to the more frequent class. Whoever always says that is right so often.
    """

    tasks: tuple[str, ...]
    is_right: tuple[bool, ...]
    is_usual: tuple[bool, ...]

    @property
    def accuracy(self) -> float:
        """Share of the attempts that it was right on."""
        return sum(self.is_right) / len(self.is_right)

    @property
    def chance(self) -> float:
        """Share of the more frequent class."""
        return sum(self.is_usual) / len(self.is_usual)

    @property
    def differences(self) -> list[float]:
        """Accuracy minus chance, of each attempt."""
        return [float(right) - float(usual) for right, usual in zip(self.is_right, self.is_usual, strict=True)]

    @property
    def above_chance_95(self) -> Interval:
        """Interval of accuracy minus chance, bootstrapped over tasks."""
        return paired_interval(self.differences, clusters=self.tasks)


def accuracy(model: Model, experience: Experience | Sequence[Path | str] | Path | str) -> Accuracy:
    """Measure an evaluator on attempts on tasks of the split `dev`.

    Args:
        model: The evaluator.
        experience: Run folders on dev tasks, or what was read from them.

    Raises:
        SplitError: The runs are of another split, so their success is not to be read here.
        NothingToLearn: No episode says whether it succeeded.
    """
    if not isinstance(experience, Experience):
        experience = Experience.of([experience] if isinstance(experience, str | Path) else experience)
    for origin in experience.origins:
        if origin.split != "dev":
            raise SplitError(
                f"expected runs of the split 'dev' to measure an evaluator on, got one of {origin.split!r}: "
                f"{origin.name}; run with --split dev"
            )
    found = attempts_in(experience)
    if not found:
        raise NothingToLearn("expected episodes whose success is known, got none; run an environment that reports it")
    odds = model.backend.outputs(model.backend.batch([Row(one.end, None) for one in found]))
    says_usual = 2 * sum(one.success for one in found) >= len(found)
    return Accuracy(
        tuple(one.task for one in found),
        tuple(bool(own >= 0) == one.success for own, one in zip(odds, found, strict=True)),
        tuple(one.success == says_usual for one in found),
    )

"""How often an evaluator of attempts is right, on attempts that it was not trained on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iad_policy.learn.examples import NothingToLearn
from iad_policy.learn.experience import Experience
from iad_policy.learn.recipes.evaluator import attempts_in
from iad_policy.learn.splits import SplitError
from iad_policy.report.statistics import Interval, paired_interval
from iad_policy.trained.models import Model
from iad_policy.trained.rows import Row

DEV = "dev"


@dataclass(frozen=True, slots=True)
class Accuracy:
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
        if origin.split != DEV:
            raise SplitError(
                f"expected runs of the split {DEV!r} to measure an evaluator on, got one of {origin.split!r}: "
                f"{origin.name}; run with --split {DEV}"
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

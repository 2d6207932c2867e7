"""Compares arms on the tasks that they share. Samples of a task are averaged before tasks are paired.

Tasks are the unit of every figure. Samples of one task are not independent, so intervals resample tasks, and an arm's
mean is the mean over its tasks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from iad_policy.errors import UnknownName
from iad_policy.report.other_logs.counting import ArmTasks, CountingRules, by_task, score_of
from iad_policy.report.other_logs.samples import LoggedArms
from iad_policy.report.statistics import (
    N_RESAMPLES,
    Interval,
    bootstrap_mean,
    detectable_mean,
    discordance,
    holm,
    is_bounded,
    mcnemar_exact,
    mean_interval,
    minimum_detectable_effect,
    paired_interval,
    pass_at_k,
    pass_hat_k,
    sign_flip,
    wilson,
)

MCNEMAR, SIGN_FLIP = "mcnemar", "sign-flip"
METRICS = ("success", "score")
SMALLEST = 1e-12
"""Smallest difference of two means. What is below is rounding."""


class Resampling(NamedTuple):
    """How intervals and tests draw: the seed, and the number of resamples."""

    seed: int = 0
    n_resamples: int = N_RESAMPLES


class TaskMean(NamedTuple):
    """A mean over tasks, with its 95 % interval. A single task has none."""

    value: float
    interval_95: Interval | None
    n_tasks: int


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """One arm's row. In means over tasks, each task counts with the mean of its samples.

    Attributes:
        n_tasks: Number of tasks with a sample that counts.
        n_samples: Number of samples that count.
        errors: Kind of error -> number of samples that failed or have no score.
        n_scored_errors: Number of these with a score in the log.
        success: Success rate, with Wilson's interval, or with a bootstrap interval over tasks if a task has several
            samples and tasks differ. None if success is not known.
        score: Mean score, with a bootstrap interval over tasks.
        pass_at: k -> mean pass@k of the tasks with k samples or more.
        pass_hat: k -> mean pass^k of the same tasks.
        tokens: Mean tokens per sample. None if no sample has them.
        usd: Mean dollars per sample.
        seconds: Mean seconds per sample.
    """

    n_tasks: int
    n_samples: int
    errors: Mapping[str, int]
    n_scored_errors: int
    success: TaskMean | None
    score: TaskMean | None
    pass_at: Mapping[int, TaskMean]
    pass_hat: Mapping[int, TaskMean]
    tokens: float | None
    usd: float | None
    seconds: float | None

    @property
    def n_errored(self) -> int:
        """Number of samples that failed or have no score."""
        return sum(self.errors.values())


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """One metric of an arm minus that of the baseline, over the tasks that both have.

    Attributes:
        value: Mean over tasks.
        interval_95: Bootstrap interval over tasks. None for a single task.
        test: `mcnemar` for success with one sample per task in both arms, else `sign-flip`, which flips tasks.
        p: p-value of the test.
        detectable: Smallest true difference that this number of tasks detects with 80 % power. None if all tasks differ
            by the same, which gives no variance.
        won: Tasks on which the arm is better.
        lost: Tasks on which the baseline is better.
        p_holm: p-value adjusted for all tests of the comparison.
    """

    value: float
    interval_95: Interval | None
    test: str
    p: float
    detectable: float | None
    won: tuple[str, ...]
    lost: tuple[str, ...]
    p_holm: float = 1.0


@dataclass(frozen=True, slots=True)
class ArmDifference:
    """An arm minus its baseline.

    Attributes:
        baseline: Name of the baseline.
        n_pairs: Number of tasks of which both have samples that count.
        success: Difference in success. None without pairs, or if success is not known.
        score: Difference in score. None without pairs, or if success is the score.
        only_own: Other tasks of which the arm has samples that count.
        only_baseline: Other tasks of which the baseline has samples that count.
        neither: Other tasks of the two.
        reworded: Names among these tasks that both have, but that ask for something else.
    """

    baseline: str
    n_pairs: int
    success: PairedDifference | None
    score: PairedDifference | None
    only_own: tuple[str, ...]
    only_baseline: tuple[str, ...]
    neither: tuple[str, ...]
    reworded: tuple[str, ...]

    @property
    def n_unpaired(self) -> int:
        """Number of tasks that are in no pair."""
        return len(self.only_own) + len(self.only_baseline) + len(self.neither)

    @property
    def tested(self) -> dict[str, PairedDifference]:
        """The differences that were tested, by metric."""
        return {name: one for name in METRICS if (one := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class LogComparison:
    """All figures, and what has to be said of them.

    Attributes:
        score: Name of the compared score.
        rules: How samples counted.
        is_success_only: Whether the score of every sample is its success, so that success says everything.
        arms: Arm -> its figures.
        differences: Arm -> its difference to the baseline of its group. A group is of arms that share tasks.
        alone: Arms that share no task with another one.
        logs: What was read.
    """

    score: str
    rules: CountingRules
    is_success_only: bool
    arms: Mapping[str, ArmFigures]
    differences: Mapping[str, ArmDifference]
    alone: Sequence[str]
    logs: LoggedArms

    def as_json(self) -> dict[str, Any]:
        """Return what `iad analyse --json` prints. Intervals are lists of two numbers."""
        return {
            "score": self.score,
            **{name: value for name, value in asdict(self.rules).items() if name != "score"},
            "arms": {
                name: {"parts": self.logs.parts[name], "n_errored": one.n_errored, **_plain(asdict(one))}
                for name, one in self.arms.items()
            },
            "differences": {name: _plain(asdict(one)) for name, one in self.differences.items()},
            "alone": list(self.alone),
            "problems": self.logs.problems,
            "alarms": self.logs.alarms,
            "notes": self.logs.notes,
        }


def compare_logs(
    logs: LoggedArms,
    rules: CountingRules = CountingRules(),  # noqa: B008 (frozen)
    *,
    baseline: str = "",
    ks: Sequence[int] = (),
    resampling: Resampling = Resampling(),  # noqa: B008 (a tuple)
) -> LogComparison:
    """Compare each arm with the baseline of its group, with p-values adjusted over all tests.

    Args:
        logs: What was read.
        rules: How samples count.
        baseline: Name of an arm, or a part that only one arm of a group has, such as its model. By default the first
            arm of each group.
        ks: Numbers of samples for pass@k and pass^k. By default 2, 4, 8 ... and the largest that all arms have.
        resampling: How intervals and tests draw.

    Raises:
        UnknownName: There is no such score, or no such baseline.
        ValueError: The baseline's name fits several arms of a group, or a k is below 1.
    """
    if any(k < 1 for k in ks):
        raise ValueError(f"expected k of 1 or more, got {min(ks)}")
    arms = by_task(logs, rules)
    is_success_only = all(one.scores == one.successes for one in arms.values())
    groups = list(_groups(arms))
    baselines = _baselines(groups, baseline, logs)
    differences = {
        arm: _difference(arms[arm], arms[base], base, resampling, is_success_only=is_success_only)
        for group, base in zip(groups, baselines, strict=True)
        for arm in group
        if arm != base
    }
    return LogComparison(
        score=score_of(logs, rules.score),
        rules=rules,
        is_success_only=is_success_only,
        arms={name: _figures(one, ks or _default_ks(arms), resampling) for name, one in arms.items()},
        differences=_adjusted(differences),
        alone=[group[0] for group in groups if len(group) == 1],
        logs=logs,
    )


def _groups(arms: Mapping[str, ArmTasks]) -> Iterator[list[str]]:
    """Yield the groups of arms of which each shares a task with another one, in the order of their first arms."""
    left = list(arms)
    while left:
        group, keys = [left[0]], set(arms[left[0]].names)
        while near := [arm for arm in left if arm not in group and keys & arms[arm].names.keys()]:
            group += near
            keys = keys.union(*(arms[arm].names for arm in near))
        left = [arm for arm in left if arm not in group]
        yield [arm for arm in arms if arm in group]


def _baselines(groups: Sequence[Sequence[str]], asked: str, logs: LoggedArms) -> list[str]:
    found = []
    for group in groups:
        fitting = [arm for arm in group if arm == asked] or [arm for arm in group if asked in logs.parts[arm].values()]
        if asked and len(fitting) > 1:
            raise ValueError(
                f"expected a baseline that fits one arm of those that share tasks, got {asked!r}, which fits "
                f"{', '.join(fitting)}; name the whole arm"
            )
        found.append(fitting[0] if asked and fitting else "")
    if asked and not any(found):
        raise UnknownName("baseline", asked, logs.parts)
    return [one or group[0] for one, group in zip(found, groups, strict=True)]


def _default_ks(arms: Mapping[str, ArmTasks]) -> list[int]:
    largest = min((one.most_samples for one in arms.values() if one.scores), default=0)
    return [k for k in range(2, largest + 1) if k == largest or k.bit_count() == 1]


def _figures(arm: ArmTasks, ks: Sequence[int], resampling: Resampling) -> ArmFigures:
    successes = list(arm.successes.values())
    success = over_tasks([float(np.mean(own)) for own in successes], resampling)
    if success is not None and all(len(own) == 1 for own in successes):
        success = success._replace(interval_95=wilson(round(sum(own[0] for own in successes)), len(successes)))
    return ArmFigures(
        n_tasks=len(arm.scores),
        n_samples=len(arm.counted),
        errors=dict(sorted(arm.errors.items())),
        n_scored_errors=arm.n_scored_errors,
        success=success,
        score=over_tasks([float(np.mean(own)) for own in arm.scores.values()], resampling),
        pass_at=_by_k(pass_at_k, successes, ks, resampling),
        pass_hat=_by_k(pass_hat_k, successes, ks, resampling),
        tokens=_mean_known(arm, "tokens"),
        usd=_mean_known(arm, "usd"),
        seconds=_mean_known(arm, "seconds"),
    )


def _by_k(
    estimate: Callable[[int, int, int], float],
    successes: Sequence[Sequence[float]],
    ks: Sequence[int],
    resampling: Resampling,
) -> dict[int, TaskMean]:
    found = {}
    for k in ks:
        values = [estimate(len(own), round(sum(own)), k) for own in successes if len(own) >= k]
        mean = over_tasks(values, resampling)
        if mean is not None:
            found[k] = mean
    return found


def over_tasks(values: Sequence[float], resampling: Resampling) -> TaskMean | None:
    """Return the mean of one value per task, or None without tasks. One task has no interval."""
    if not values:
        return None
    interval = None
    if len(values) > 1:
        interval = mean_interval(values, seed=resampling.seed, n_resamples=resampling.n_resamples)
    return TaskMean(float(np.mean(values)), interval, len(values))


def _mean_known(arm: ArmTasks, name: str) -> float | None:
    known = [value for sample in arm.counted if (value := getattr(sample, name)) is not None]
    return float(np.mean(known)) if known else None


def _difference(
    own: ArmTasks, base: ArmTasks, baseline: str, resampling: Resampling, *, is_success_only: bool
) -> ArmDifference:
    names = {**base.names, **own.names}
    keys = [key for key in own.scores if key in base.scores]
    unpaired = {key: name for key, name in names.items() if key not in keys}
    reworded = {own.names[key] for key in unpaired.keys() & own.names.keys() - base.names.keys()} & {
        base.names[key] for key in unpaired.keys() & base.names.keys() - own.names.keys()
    }
    tested = {}
    for metric in METRICS:
        ours, theirs = (own.successes, base.successes) if metric == "success" else (own.scores, base.scores)
        if keys and ours and theirs and not (metric == "score" and is_success_only):
            pairs = [(names[key], ours[key], theirs[key]) for key in keys]
            tested[metric] = _paired(pairs, resampling, is_rate=metric == "success")
    return ArmDifference(
        baseline=baseline,
        n_pairs=len(keys),
        success=tested.get("success"),
        score=tested.get("score"),
        only_own=tuple(name for key, name in unpaired.items() if key in own.scores),
        only_baseline=tuple(name for key, name in unpaired.items() if key in base.scores),
        neither=tuple(name for key, name in unpaired.items() if key not in own.scores and key not in base.scores),
        reworded=tuple(sorted(reworded)),
    )


def _paired(
    pairs: Sequence[tuple[str, Sequence[float], Sequence[float]]], resampling: Resampling, *, is_rate: bool
) -> PairedDifference:
    """Return a metric's difference from each task's name and its values in both arms."""
    changes = [float(np.mean(ours)) - float(np.mean(theirs)) for _, ours, theirs in pairs]
    changes = [change if abs(change) > SMALLEST else 0.0 for change in changes]
    won = tuple(name for (name, _, _), change in zip(pairs, changes, strict=True) if change > 0)
    lost = tuple(name for (name, _, _), change in zip(pairs, changes, strict=True) if change < 0)
    is_known = is_bounded(value for _, *arms in pairs for own in arms for value in own)
    if is_rate and all(len(ours) == len(theirs) == 1 for _, ours, theirs in pairs):
        test, p = MCNEMAR, mcnemar_exact(len(won), len(lost))
        variance = discordance(len(won) + len(lost), len(pairs))
        detectable: float | None = minimum_detectable_effect(variance, len(pairs))
    else:
        test, detectable = SIGN_FLIP, detectable_mean(changes) if is_known or len(set(changes)) > 1 else None
        p = sign_flip(changes, seed=resampling.seed, n_resamples=resampling.n_resamples)
    interval = None
    if len(changes) > 1:
        of = paired_interval if is_known else bootstrap_mean
        interval = of(changes, seed=resampling.seed, n_resamples=resampling.n_resamples)
    return PairedDifference(float(np.mean(changes)), interval, test, p, detectable, won, lost)


def _adjusted(differences: Mapping[str, ArmDifference]) -> dict[str, ArmDifference]:
    """Return the differences with the p-values of all their tests adjusted together."""
    tests = [(arm, metric, one) for arm, difference in differences.items() for metric, one in difference.tested.items()]
    found = dict(differences)
    for (arm, metric, one), p_holm in zip(tests, holm([one.p for _, _, one in tests]), strict=True):
        adjusted = replace(one, p_holm=p_holm)
        found[arm] = (
            replace(found[arm], success=adjusted) if metric == "success" else replace(found[arm], score=adjusted)
        )
    return found


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, with the names of a mean's parts."""
    if isinstance(value, TaskMean):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value

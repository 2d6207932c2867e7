"""Compares arms on the tasks that they share: the one definition of each mean, difference, interval and p-value.

Tasks are the unit of every figure. Several samples of a task, such as its seeds, are not independent: a task counts
once, with their mean, intervals resample tasks, and a pair is a task of which both arms have a sample.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from iad_policy.errors import UnknownName
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.samples import (
    PROGRESS,
    REWARD,
    SUCCESS,
    ArmTasks,
    CountingRules,
    Samples,
    by_task,
    samples_of,
    score_of,
)
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


class Resampling(NamedTuple):
    """How intervals and tests draw: the seed, which does not depend on a run's, and the number of resamples."""

    seed: int = 0
    n_resamples: int = N_RESAMPLES


class TaskMean(NamedTuple):
    """A mean over tasks, with its 95 % interval."""

    value: float
    interval_95: Interval
    n_tasks: int


Flaky: TypeAlias = Mapping[str, tuple[int, int]]
"""Task -> how many of its samples succeed, and how many there are."""


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """One arm's row. In means over tasks, each task counts with the mean of its samples.

    Attributes:
        n_tasks: Number of tasks with a sample that counts.
        n_samples: Number of samples that count.
        errors: Kind of error -> number of samples that failed or have no score.
        n_scored_errors: Number of these with a score in the log.
        success: Success rate; see `over_tasks`. None if success is not known.
        score: Mean score.
        pass_at: k -> mean pass@k of the tasks with k samples or more.
        pass_hat: k -> mean pass^k of the same tasks.
        tokens: Mean tokens per sample. None if no sample has them.
        usd: Mean dollars per sample.
        seconds: Mean seconds per sample.
        flaky: Task of which some samples succeed and others fail -> how many succeed, of how many.
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
    flaky: Flaky

    @property
    def n_errored(self) -> int:
        """Number of samples that failed or have no score."""
        return sum(self.errors.values())

    def passes_as_json(self) -> dict[str, Any]:
        """Return what `summary.json` holds: `pass@2` -> value, interval and number of tasks, and the flaky tasks."""
        found = (("pass@", self.pass_at), ("pass^", self.pass_hat))
        passes = {f"{name}{k}": mean._asdict() for name, means in found for k, mean in means.items()}
        return {**passes, "flaky": dict(self.flaky)}


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """One metric of an arm minus that of the baseline, over the tasks that both have.

    Attributes:
        value: Mean over tasks.
        interval_95: Paired bootstrap interval over tasks.
        test: `mcnemar` for success with one sample per task in both arms, else `sign-flip`, which flips tasks.
        p: p-value of the test.
        detectable: Smallest true difference that this number of tasks detects with 80 % power. None for a single task,
            or if all tasks differ by the same and the range of the values is not known, which gives no variance.
        won: Tasks on which the arm is better.
        lost: Tasks on which the baseline is better.
        p_holm: p-value adjusted for all differences of this metric.
    """

    value: float
    interval_95: Interval
    test: str
    p: float
    detectable: float | None
    won: tuple[str, ...]
    lost: tuple[str, ...]
    p_holm: float = 1.0


@dataclass(frozen=True, slots=True)
class Difference:
    """An arm minus its baseline, over the tasks of which both have a sample that counts.

    Attributes:
        baseline: Name of the baseline.
        n_pairs: Number of these tasks.
        metrics: Metric -> its difference. Those that are not known, or have no pair, are left out.
        only_own: Other tasks of which the arm has samples that count.
        only_baseline: Other tasks of which the baseline has samples that count.
        neither: Other tasks of the two.
        reworded: Names among these tasks that both have, but that ask for something else.
    """

    baseline: str
    n_pairs: int
    metrics: Mapping[str, PairedDifference]
    only_own: tuple[str, ...] = ()
    only_baseline: tuple[str, ...] = ()
    neither: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()

    @property
    def success(self) -> PairedDifference | None:
        """The difference in success, if it is known."""
        return self.metrics.get(SUCCESS)

    @property
    def progress(self) -> PairedDifference | None:
        """The difference in progress, if it is known."""
        return self.metrics.get(PROGRESS)

    @property
    def reward(self) -> PairedDifference | None:
        """The difference in reward, if it was compared."""
        return self.metrics.get(REWARD)

    @property
    def n_unpaired(self) -> int:
        """Number of tasks that are in no pair."""
        return len(self.only_own) + len(self.only_baseline) + len(self.neither)

    @property
    def n_apart(self) -> int:
        """Number of tasks that differ: in success, or in the score if success is not known."""
        first = next(iter(self.metrics.values()), None)
        return len(first.won) + len(first.lost) if first else 0

    def as_json(self) -> dict[str, Any]:
        """Return the difference as `summary.json` holds it."""
        success, progress = self.success, self.progress
        found: dict[str, Any] = {"baseline": self.baseline, "n_pairs": self.n_pairs}
        for name in (SUCCESS, PROGRESS, REWARD):
            one = self.metrics.get(name)
            found |= {name: one and one.value, f"{name}_95": one and one.interval_95}
        won, lost = (success.won, success.lost) if success else ((), ())
        return found | {
            "won": won,
            "lost": lost,
            "test": success and success.test,
            "p_success": success and success.p,
            "p_progress": progress and progress.p,
            "p_holm": success and success.p_holm,
            "detectable_success": success and success.detectable,
            "detectable_progress": progress and progress.detectable,
            "n_better": len(won),
            "n_worse": len(lost),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """All figures, and what has to be said of them.

    Attributes:
        score: Name of the compared score.
        rules: How samples counted.
        is_success_only: Whether the score of every sample is its success, so that success says everything.
        arms: Arm -> its figures.
        differences: Arm -> its difference to the baseline of its group. A group is of arms that share tasks.
        alone: Arms that share no task with another one.
        samples: The table.
        flaky: Arms that repeat each other, joined by "and" -> the tasks of which some of their samples succeed and
            others fail.
    """

    score: str
    rules: CountingRules
    is_success_only: bool
    arms: Mapping[str, ArmFigures]
    differences: Mapping[str, Difference]
    alone: Sequence[str]
    samples: Samples
    flaky: Mapping[str, Flaky]

    def as_json(self) -> dict[str, Any]:
        """Return what `iad analyse --json` prints. Intervals are lists of two numbers."""
        differences = {}
        for name, one in self.differences.items():
            whole: dict[str, Any] = _plain(asdict(one))
            metrics = whole.pop("metrics")
            differences[name] = {**whole, SUCCESS: metrics.get(SUCCESS), "score": metrics.get(self.score)}
        return {
            "score": self.score,
            **{name: value for name, value in asdict(self.rules).items() if name != "score"},
            "arms": {
                name: {"parts": self.samples.parts[name], "n_errored": one.n_errored, **_plain(asdict(one))}
                for name, one in self.arms.items()
            },
            "differences": differences,
            "alone": list(self.alone),
            "flaky": _plain(self.flaky),
            "problems": self.samples.problems,
            "alarms": self.samples.alarms,
            "notes": self.samples.notes,
        }


def compare(
    samples: Samples,
    rules: CountingRules = CountingRules(),  # noqa: B008 (frozen)
    *,
    baseline: str = "",
    ks: Sequence[int] = (),
    resampling: Resampling = Resampling(),  # noqa: B008 (a tuple)
) -> Comparison:
    """Compare each arm with the baseline of its group, in success and in one score.

    Args:
        samples: The table of samples.
        rules: How samples count.
        baseline: Name of an arm, or a part that only one arm of a group has, such as its model. By default that of the
            table, or else the first arm of each group.
        ks: Numbers of samples for pass@k and pass^k. By default 2, 4, 8 ... and the largest that all arms have.
        resampling: How intervals and tests draw.

    Raises:
        UnknownName: There is no such score, or no such baseline.
        ValueError: The baseline's name fits several arms of a group, or a k is below 1.
    """
    if any(k < 1 for k in ks):
        raise ValueError(f"expected k of 1 or more, got {min(ks)}")
    arms, score = by_task(samples, rules), score_of(samples, rules.score)
    is_success_only = all(one.of(score) == one.of(SUCCESS) for one in arms.values())
    groups, left = [], list(arms)  # each arm of a group shares a task with another one
    while left:
        group, keys = [left[0]], set(arms[left[0]].names)
        while near := [arm for arm in left if arm not in group and keys & arms[arm].names.keys()]:
            group += near
            keys = keys.union(*(arms[arm].names for arm in near))
        left = [arm for arm in left if arm not in group]
        groups.append([arm for arm in arms if arm in group])
    baselines = dict(samples.baselines)
    if baseline or not baselines:
        found = _baselines(groups, baseline, samples)
        baselines = {arm: base for group, base in zip(groups, found, strict=True) for arm in group if arm != base}
    ks = ks or _ks(arms)
    return Comparison(
        score=score,
        rules=rules,
        is_success_only=is_success_only,
        arms={name: _figures(one, score, ks, resampling) for name, one in arms.items()},
        differences=differences_of(
            arms, baselines, (SUCCESS,) if is_success_only else (SUCCESS, score), resampling=resampling
        ),
        alone=[group[0] for group in groups if len(group) == 1],
        samples=samples,
        flaky={" and ".join(same): _flaky(*(arms[arm] for arm in same)) for same in samples.repeated},
    )


def _ks(arms: Mapping[str, ArmTasks]) -> list[int]:
    """Return the powers of two up to the number of samples that all arms have, and that number."""
    largest = min((max(map(len, one.counted.values())) for one in arms.values() if one.counted), default=0)
    return [k for k in range(2, largest + 1) if k == largest or k.bit_count() == 1]


def over_seeds(
    records: Mapping[str, Sequence[EpisodeRecord]],
    *,
    resampling: Resampling = Resampling(),  # noqa: B008 (a tuple)
) -> dict[str, ArmFigures]:
    """Return the figures of each row of a run whose tasks have several seeds, as samples of them."""
    arms = by_task(samples_of(records), CountingRules())
    return {name: _figures(one, REWARD, _ks(arms), resampling) for name, one in arms.items()}


def differences(
    records: Mapping[str, Sequence[EpisodeRecord]],
    baselines: Mapping[str, str],
    *,
    resampling: Resampling = Resampling(),  # noqa: B008 (a tuple)
) -> dict[str, Difference]:
    """Return the difference of each row of a run to its baseline, in success, progress and reward.

    Args:
        records: Row of the table -> its episodes.
        baselines: Row -> the row to compare it with.
        resampling: How intervals and tests draw.
    """
    arms = by_task(samples_of(records), CountingRules(), also=(PROGRESS,))
    return differences_of(arms, baselines, (SUCCESS, PROGRESS, REWARD), resampling=resampling)


def differences_of(
    arms: Mapping[str, ArmTasks],
    baselines: Mapping[str, str],
    metrics: Sequence[str],
    *,
    resampling: Resampling = Resampling(),  # noqa: B008 (a tuple)
) -> dict[str, Difference]:
    """Return the difference of each arm to its baseline. The p-values of a metric are adjusted over all arms (Holm)."""
    found = {arm: _difference(arms[arm], arms[base], base, metrics, resampling) for arm, base in baselines.items()}
    for metric in metrics:
        tested = {arm: one.metrics[metric] for arm, one in found.items() if metric in one.metrics}
        adjusted = holm([one.p for one in tested.values()])
        for (arm, one), p_holm in zip(tested.items(), adjusted, strict=True):
            found[arm] = replace(found[arm], metrics={**found[arm].metrics, metric: replace(one, p_holm=p_holm)})
    return found


def _baselines(groups: Sequence[Sequence[str]], asked: str, samples: Samples) -> list[str]:
    """Return the baseline of each group: the arm that a name or a part fits, or else the first."""
    found = []
    for group in groups:
        fitting = [arm for arm in group if arm == asked] or [
            arm for arm in group if asked in samples.parts[arm].values()
        ]
        if asked and len(fitting) > 1:
            raise ValueError(
                f"expected a baseline that fits one arm of those that share tasks, got {asked!r}, which fits "
                f"{', '.join(fitting)}; name the whole arm"
            )
        found.append(fitting[0] if asked and fitting else "")
    if asked and not any(found):
        raise UnknownName("baseline", asked, samples.parts)
    return [one or group[0] for one, group in zip(found, groups, strict=True)]


def _figures(arm: ArmTasks, score: str, ks: Sequence[int], resampling: Resampling) -> ArmFigures:
    successes = arm.per_task(SUCCESS)

    def by_k(estimate: Callable[[int, int, int], float]) -> dict[int, TaskMean]:
        values = {k: [[estimate(len(own), round(sum(own)), k)] for own in successes if len(own) >= k] for k in ks}
        return {k: mean for k, own in values.items() if (mean := over_tasks(own, resampling)) is not None}

    def mean_of(name: str) -> float | None:
        known = [value for own in arm.counted.values() for one in own if (value := getattr(one, name)) is not None]
        return float(np.mean(known)) if known else None

    return ArmFigures(
        n_tasks=len(arm.counted),
        n_samples=sum(map(len, arm.counted.values())),
        errors=dict(sorted(arm.errors.items())),
        n_scored_errors=arm.n_scored_errors,
        success=over_tasks(successes, resampling, is_rate=True),
        score=over_tasks(arm.per_task(score), resampling),
        pass_at=by_k(pass_at_k),
        pass_hat=by_k(pass_hat_k),
        tokens=mean_of("tokens"),
        usd=mean_of("usd"),
        seconds=mean_of("seconds"),
        flaky=_flaky(arm),
    )


def _flaky(*arms: ArmTasks) -> Flaky:
    found = {}
    for key, name in {key: arm.names[key] for arm in arms for key in arm.of(SUCCESS)}.items():
        values = [value for arm in arms for value in arm.of(SUCCESS).get(key, {}).values()]
        if 0 < sum(values) < len(values):
            found[name] = round(sum(values)), len(values)
    return found


def over_tasks(
    values: Iterable[Sequence[float]],
    resampling: Resampling = Resampling(),  # noqa: B008 (a tuple)
    *,
    is_rate: bool = False,
) -> TaskMean | None:
    """Return the mean over tasks of the means of their samples, or None without tasks.

    The interval is a bootstrap over tasks; see `mean_interval`. Of a rate it is Wilson's where every task has one
    sample, which is 0 or 1.

    Args:
        values: For each task, its values.
        resampling: How the interval draws.
        is_rate: Whether the mean is a success rate.
    """
    of_tasks = list(values)
    if not of_tasks:
        return None
    means = [own[0] if len(own) == 1 else fmean(own) for own in of_tasks]
    if is_rate and all(len(own) == 1 for own in of_tasks) and set(means) <= {0.0, 1.0}:
        interval = wilson(round(sum(means)), len(means))
    else:
        interval = mean_interval(means, seed=resampling.seed, n_resamples=resampling.n_resamples)
    return TaskMean(float(np.mean(means)), interval, len(means))


def _difference(
    own: ArmTasks, base: ArmTasks, baseline: str, metrics: Sequence[str], resampling: Resampling
) -> Difference:
    names = {**base.names, **own.names}
    n_pairs = len(own.counted.keys() & base.counted.keys())
    unpaired = {key: name for key, name in names.items() if not (key in own.counted and key in base.counted)}
    reworded = {own.names[key] for key in unpaired.keys() & own.names.keys() - base.names.keys()} & {
        base.names[key] for key in unpaired.keys() & base.names.keys() - own.names.keys()
    }
    tested = {}
    for metric in metrics:
        pairs = []
        for key in (one for one in own.of(metric) if one in base.of(metric)):
            ours, theirs = own.of(metric)[key], base.of(metric)[key]
            # Where a seed is missing in one of the arms, it is left out of the other, too.
            shared = [one for one in ours if one in theirs] if own.is_seeded and base.is_seeded else []
            if shared:
                ours, theirs = ({one: values[one] for one in shared} for values in (ours, theirs))
            pairs.append((names[key], [*ours.values()], [*theirs.values()]))
        if pairs:
            tested[metric] = _paired(pairs, resampling, is_rate=metric == SUCCESS)
    return Difference(
        baseline=baseline,
        n_pairs=n_pairs,
        metrics=tested,
        only_own=tuple(name for key, name in unpaired.items() if key in own.counted),
        only_baseline=tuple(name for key, name in unpaired.items() if key in base.counted),
        neither=tuple(name for key, name in unpaired.items() if key not in own.counted and key not in base.counted),
        reworded=tuple(sorted(reworded)),
    )


def _paired(
    pairs: Sequence[tuple[str, Sequence[float], Sequence[float]]], resampling: Resampling, *, is_rate: bool
) -> PairedDifference:
    """Return a metric's difference from each task's name and its values in both arms."""
    changes = [fmean(ours) - fmean(theirs) for _, ours, theirs in pairs]
    changes = [change if abs(change) > 1e-12 else 0.0 for change in changes]  # what is below is rounding
    won = tuple(name for (name, _, _), change in zip(pairs, changes, strict=True) if change > 0)
    lost = tuple(name for (name, _, _), change in zip(pairs, changes, strict=True) if change < 0)
    values = {value for _, *arms in pairs for own in arms for value in own}
    is_known = is_bounded(values)
    if is_rate and values <= {0.0, 1.0} and all(len(ours) == len(theirs) == 1 for _, ours, theirs in pairs):
        test, p = "mcnemar", mcnemar_exact(len(won), len(lost))
        variance = discordance(len(won) + len(lost), len(pairs))
        detectable: float | None = minimum_detectable_effect(variance, len(pairs))
    else:
        test, detectable = "sign-flip", detectable_mean(changes) if is_known or len(set(changes)) > 1 else None
        p = sign_flip(changes, seed=resampling.seed, n_resamples=resampling.n_resamples)
    of = paired_interval if is_known else bootstrap_mean
    interval = of(changes, seed=resampling.seed, n_resamples=resampling.n_resamples)
    return PairedDifference(float(np.mean(changes)), interval, test, p, detectable, won, lost)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, with the names of a mean's parts."""
    if isinstance(value, TaskMean):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value

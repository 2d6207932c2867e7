"""Compares strategies at equal mean spending per episode, and the spending that equal success takes.

Equal proposals per decision are not equal proposals per episode: a strategy that reads more pages decides more often.
So a run with several n gives each strategy a curve of a metric against its mean spending, which is read at the budgets
of the baseline's points. Between two points a curve is a straight line. It is never extrapolated.

Intervals come from a paired bootstrap through the interpolation: tasks are drawn, and every curve is read anew with the
episodes of the same tasks. A curve that a resample makes shorter than the budget counts with its nearest end. Where no
resample differs, as all tasks are alike, the intervals are those of `mean_interval` and `paired_interval`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_policy.errors import UnknownName
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.curves import spent_on
from iad_policy.report.samples import METRICS
from iad_policy.report.statistics import (
    N_RESAMPLES,
    ROUNDING,
    Interval,
    is_bounded,
    mean_interval,
    paired_interval,
    tail_of,
)
from iad_policy.run.config import MATCHED_AXES

Vector = NDArray[np.float64]
Lines = Mapping[str, Mapping[float, Sequence[EpisodeRecord]]]
"""Strategy -> setting, such as n -> its episodes."""


class AtBudget(NamedTuple):
    """A strategy at one mean spending per episode.

    Attributes:
        budget: The spending.
        value: The metric there, interpolated.
        interval: Its 95 % interval.
        difference: It minus the baseline's.
        difference_95: The difference's 95 % interval, over the same tasks.
    """

    budget: float
    value: float
    interval: Interval
    difference: float
    difference_95: Interval


class CostOf(NamedTuple):
    """The mean spending per episode at which a strategy reaches a level.

    Attributes:
        level: The level: the baseline's best value.
        spent: The least spending at which the curve reaches it; None if it doesn't.
        low: Lower end of the 95 % interval; None if the level is reached in too few resamples to say.
        high: Upper end; None if it lies beyond the curve.
    """

    level: float
    spent: float | None
    low: float | None
    high: float | None


class Matched(NamedTuple):
    """Strategies at equal spending.

    Attributes:
        metric: Name of the metric.
        axis: The axis of spending.
        baseline: The strategy whose points are the budgets.
        settings: The settings of the baseline's points, such as its n.
        budgets: The mean spending per episode at each of them.
        at: Strategy -> what it reaches at each budget; None where its curve doesn't reach that far.
        own: Strategy -> what it reaches at its own largest spending; None where the baseline's curve doesn't reach that
            far, and for the baseline.
        costs: Strategy -> the spending at which it reaches the baseline's best value.
        n_tasks: Number of tasks that every arm has a scored episode of. The others are left out.
        n_left_out: Number of tasks that only some arms have.
    """

    metric: str
    axis: str
    baseline: str
    settings: tuple[float, ...]
    budgets: tuple[float, ...]
    at: dict[str, tuple[AtBudget | None, ...]]
    own: dict[str, AtBudget | None]
    costs: dict[str, CostOf]
    n_tasks: int
    n_left_out: int

    def as_json(self) -> dict[str, Any]:
        """Return it as values for `summary.json`."""
        at = {name: [None if one is None else one._asdict() for one in own] for name, own in self.at.items()}
        own = {name: None if one is None else one._asdict() for name, one in self.own.items()}
        costs = {name: one._asdict() for name, one in self.costs.items()}
        return {**self._asdict(), "at": at, "own": own, "costs": costs}


class _Sampled(NamedTuple):
    """A curve in every resample, in order of spending. The first row is the observed one. (resamples, points)."""

    spent: Vector
    value: Vector
    order: NDArray[np.intp]


def matched(
    lines: Lines,
    baseline: str,
    *,
    axis: str = "proposals",
    metric: str = "success",
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> Matched:
    """Return every strategy at the baseline's budgets.

    Args:
        lines: Strategy -> setting -> its episodes. Episodes that are not scored are left out.
        baseline: The strategy whose points are the budgets.
        axis: One of `MATCHED_AXES`.
        metric: One of `METRICS`.
        seed: Seed of the bootstrap.
        n_resamples: Number of resamples.

    Raises:
        UnknownName: There is no such axis, metric or strategy.
        ValueError: The baseline has one point, so there is no curve; the arms share no scored task; or a price is
            not known.
    """
    for kind, name, known in (("axis", axis, MATCHED_AXES), ("metric", metric, METRICS), ("strategy", baseline, lines)):
        if name not in known:
            raise UnknownName(kind, name, list(known))
    if len(lines[baseline]) < 2:
        raise ValueError(
            f"expected several n to match {axis}, got {len(lines[baseline])} of {baseline}; pass them: --n 1,2,4,8"
        )
    arms = [[one for one in own if one.is_scored] for settings in lines.values() for own in settings.values()]
    of_arms = [{one.task_id for one in own if getattr(one, metric) is not None} for own in arms]
    tasks = sorted(set.intersection(*of_arms))
    if not tasks:
        raise ValueError(f"expected tasks with a scored episode of every arm to match {axis} on, got none; run more")
    if axis == "usd" and any(one.spent.n_unpriced for own in arms for one in own):
        raise ValueError("expected a known price of every call to match usd, got some without; match tokens or calls")
    if not any(spent_on(one, axis) for own in arms for one in own):
        raise ValueError(f"expected episodes that spend {axis} to match them, got none; match proposals or calls")
    n_tasks = len(tasks)
    counts = np.random.default_rng(seed).multinomial(n_tasks, np.full(n_tasks, 1 / n_tasks), size=n_resamples)
    drawn = np.concatenate([np.ones((1, n_tasks)), counts]) / n_tasks  # shares; the first row is what was observed
    means = {
        name: [_means_by_task(own, tasks, metric, axis) for own in settings.values()]
        for name, settings in lines.items()
    }
    is_known = is_bounded(value for points in means.values() for _, values in points for value in values)
    sampled = {name: _sampled(points, drawn) for name, points in means.items()}
    base, tail = sampled[baseline], tail_of(n_tasks)
    budgets = tuple(float(spent) for spent in base.spent[0])
    settings = tuple(list(lines[baseline])[place] for place in base.order[0])

    def at(name: str, budget: float) -> AtBudget | None:
        if not (_reaches(sampled[name], budget) and _reaches(base, budget)):
            return None
        found = _at(sampled[name], base, budget, tail)
        # Where all tasks are alike, no resample differs, and the intervals would be of no width.
        if is_known and np.ptp(found.interval) < ROUNDING:
            found = found._replace(interval=mean_interval([found.value] * n_tasks))
        # A point of the baseline's own episodes is equal by construction.
        of_base = [lines[baseline][setting] for setting, one in zip(settings, budgets, strict=True) if one == budget]
        is_same = any(own is one for own in lines[name].values() for one in of_base)
        if is_known and np.ptp(found.difference_95) < ROUNDING and not is_same:
            found = found._replace(difference_95=paired_interval([found.difference] * n_tasks))
        return found

    return Matched(
        metric,
        axis,
        baseline,
        settings,
        budgets,
        {name: tuple(at(name, budget) for budget in budgets) for name in lines},
        {name: None if name == baseline else at(name, float(one.spent[0, -1])) for name, one in sampled.items()},
        {name: _cost(one, base, tail) for name, one in sampled.items()},
        n_tasks,
        len(set.union(*of_arms)) - n_tasks,
    )


def _means_by_task(own: Sequence[EpisodeRecord], tasks: Sequence[str], metric: str, axis: str) -> tuple[Vector, Vector]:
    """Return spending and metric of each task, as the means of its seeds."""
    of_task: dict[str, list[EpisodeRecord]] = {task: [] for task in tasks}
    for one in own:
        if one.is_scored and one.task_id in of_task and getattr(one, metric) is not None:
            of_task[one.task_id].append(one)
    spent = [np.mean([spent_on(one, axis) for one in episodes]) for episodes in of_task.values()]
    value = [np.mean([float(getattr(one, metric)) for one in episodes]) for episodes in of_task.values()]
    return np.asarray(spent, dtype=np.float64), np.asarray(value, dtype=np.float64)


def _sampled(points: Sequence[tuple[Vector, Vector]], drawn: Vector) -> _Sampled:
    spent, value = (np.stack([drawn @ one[place] for one in points], axis=1) for place in (0, 1))
    order = np.argsort(spent, axis=1, kind="stable")
    return _Sampled(np.take_along_axis(spent, order, axis=1), np.take_along_axis(value, order, axis=1), order)


def _reaches(one: _Sampled, budget: float) -> bool:
    low, high = one.spent[0, 0], one.spent[0, -1]
    return bool((low <= budget or np.isclose(low, budget)) and (budget <= high or np.isclose(high, budget)))


def _at(one: _Sampled, base: _Sampled, budget: float, tail: float) -> AtBudget:
    def read(curve: _Sampled) -> Vector:
        pairs = zip(curve.spent, curve.value, strict=True)
        return np.asarray([np.interp(budget, spent, value) for spent, value in pairs], dtype=np.float64)

    def interval(values: Vector) -> Interval:
        return Interval(*map(float, np.quantile(values[1:], [tail, 1 - tail])))

    own = read(one)
    ahead = own - read(base)
    return AtBudget(budget, float(own[0]), interval(own), float(ahead[0]), interval(ahead))


def _cost(one: _Sampled, base: _Sampled, tail: float) -> CostOf:
    """Return the least spending at which the curve reaches the baseline's best value, in each resample."""
    levels = base.value.max(axis=1)
    costs = np.where(one.value[:, 0] >= levels, one.spent[:, 0], np.inf)
    for place in range(1, one.spent.shape[1]):
        before, after = one.value[:, place - 1], one.value[:, place]
        rise = np.where(after > before, after - before, 1.0)
        share = np.clip((levels - before) / rise, 0.0, 1.0)
        at = one.spent[:, place - 1] + share * (one.spent[:, place] - one.spent[:, place - 1])
        costs = np.where(np.isinf(costs) & (after >= levels), at, costs)
    low, high = np.quantile(costs[1:], [tail, 1 - tail], method="nearest")
    ends = (float(costs[0]), float(low), float(high))
    return CostOf(float(levels[0]), *(end if np.isfinite(end) else None for end in ends))

"""What is reached against what is spent: curves over a setting such as n, the area under them, and where two cross.

Between two points a curve is the straight line, and it is never continued beyond its ends.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from iad_policy.analysis.statistics import N_RESAMPLES, Interval, bootstrap_mean
from iad_policy.recording.episode_record import EpisodeRecord

AXES = ("proposals", "calls", "tokens", "simulations", "seconds")
"""What a curve may be drawn against, each the mean per scored episode; a call is a proposal, a verdict or an asked
text, which with a language model in every part is a model call."""
METRICS = ("success", "progress", "reward")


class Point(NamedTuple):
    """One setting of a strategy.

    Attributes:
        setting: What was varied, such as n.
        spent: Mean per episode on the curve's axis.
        value: Mean of the metric.
        interval: Its 95 % bootstrap interval over tasks.
        n_episodes: Scored episodes.
    """

    setting: float
    spent: float
    value: float
    interval: Interval
    n_episodes: int


class Curve(NamedTuple):
    """A strategy's points, by what they spent."""

    name: str
    metric: str
    axis: str
    points: tuple[Point, ...]

    def at(self, spent: float) -> float:
        """Return the height at a budget between the first and the last point.

        Raises:
            ValueError: It lies outside, or there is no point.
        """
        xs = [point.spent for point in self.points]
        if not xs or not xs[0] <= spent <= xs[-1]:
            known = f"{xs[0]:g} to {xs[-1]:g}" if xs else "no point at all"
            raise ValueError(f"expected {self.axis} within the curve of {self.name}, {known}, got {spent:g}")
        return float(np.interp(spent, xs, [point.value for point in self.points]))


def spent_on(record: EpisodeRecord, axis: str) -> float:
    """Return what an episode spent on one of `AXES`."""
    spent = record.spent
    if axis == "calls":
        return float(spent.proposals + spent.verifications + spent.asks)
    return float(getattr(spent, axis))


def curves(
    name: str,
    records: Mapping[float, Sequence[EpisodeRecord]],
    *,
    metric: str = "success",
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> list[Curve]:
    """Return a strategy's curve against each of `AXES`.

    Args:
        name: The strategy's.
        records: Setting -> the episodes that were run with it; those that are not scored are left out.
        metric: One of `METRICS`.
        seed: Of the bootstrap.
        n_resamples: Of the bootstrap.
    """
    if metric not in METRICS:
        raise ValueError(f"expected a metric of {', '.join(METRICS)}, got {metric!r}")
    points: dict[str, list[Point]] = {axis: [] for axis in AXES}
    for setting, own in records.items():
        scored = [record for record in own if record.is_scored and getattr(record, metric) is not None]
        if not scored:
            continue
        values = [float(getattr(record, metric)) for record in scored]
        tasks = [record.task_id for record in scored]
        interval = bootstrap_mean(values, clusters=tasks, seed=seed, n_resamples=n_resamples)
        for axis in AXES:
            spent = float(np.mean([spent_on(record, axis) for record in scored]))
            points[axis].append(Point(setting, spent, float(np.mean(values)), interval, len(scored)))
    in_order = {axis: sorted(own, key=lambda point: (point.spent, point.setting)) for axis, own in points.items()}
    return [Curve(name, metric, axis, tuple(own)) for axis, own in in_order.items()]


def common_range(curves: Sequence[Curve]) -> tuple[float, float] | None:
    """Return the budgets that all curves reach, or None where there is no stretch of them."""
    if not curves or not all(one.points for one in curves):
        return None
    low = max(one.points[0].spent for one in curves)
    high = min(one.points[-1].spent for one in curves)
    return (low, high) if low < high else None


def area(one: Curve, low: float, high: float) -> float:
    """Return the mean height between two budgets: the area under the curve by the length of the stretch."""
    inner = [point.spent for point in one.points if low < point.spent < high]
    xs = [low, *inner, high]
    ys = [one.at(x) for x in xs]
    return float(np.trapezoid(ys, xs) / (high - low))


def crossings(a: Curve, b: Curve) -> list[float]:
    """Return the budgets at which the better of two curves becomes the worse one, in order."""
    both = common_range([a, b])
    if both is None:
        return []
    low, high = both
    xs = sorted({low, high, *(point.spent for one in (a, b) for point in one.points if low < point.spent < high)})
    heights = [(x, a.at(x) - b.at(x)) for x in xs]
    apart = [(x, height) for x, height in heights if height != 0]  # curves that touch and part again do not cross
    found = []
    for (x, height), (next_x, next_height) in pairwise(apart):
        if height * next_height < 0:
            between = [at for at, difference in heights if x < at < next_x and difference == 0]
            found.append(between[0] if between else x + (next_x - x) * height / (height - next_height))
    return found


class CurveDifference(NamedTuple):
    """Curves over the budgets that all of them reach.

    Attributes:
        metric: What is reached.
        axis: What is spent.
        low: The least budget that all reach, per episode; `high` the largest.
        areas: Name -> mean height in between.
        crossings: Two names and the budget at which the better one becomes the worse one.
    """

    metric: str
    axis: str
    low: float
    high: float
    areas: dict[str, float]
    crossings: list[tuple[str, str, float]]


def compared(curves: Sequence[Curve]) -> CurveDifference | None:
    """Return what curves of one metric and axis come to; None where they share no stretch of budgets.

    A strategy that has a single point, as one without n has, is no curve and is left out.
    """
    drawn = [one for one in curves if len({point.spent for point in one.points}) > 1]
    both = common_range(drawn)
    if both is None or len(drawn) < 2:
        return None
    low, high = both
    areas = {one.name: area(one, low, high) for one in drawn}
    crossed = [(a.name, b.name, at) for a, b in combinations(drawn, 2) for at in crossings(a, b)]
    return CurveDifference(drawn[0].metric, drawn[0].axis, low, high, areas, crossed)

"""Draws a metric against spending as a curve over a setting such as n, and compares curves by area and crossings.

Between two points a curve is a straight line. It is never extrapolated.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.compare import Resampling, over_tasks
from iad_policy.report.metrics import per_task
from iad_policy.report.samples import METRICS, SUCCESS
from iad_policy.report.statistics import N_RESAMPLES, Interval
from iad_policy.types import Usage

AXES = ("proposals", "calls", "tokens", "simulations", "seconds")
"""Axes of spending, each as the mean per scored episode. A call is a proposal, a verdict or a text from a role. If all
components are language models, that is the number of model calls."""


class Point(NamedTuple):
    """One setting of a strategy.

    Attributes:
        setting: Value of the setting that varies, such as n.
        spent: Mean spending per episode on the curve's axis.
        value: Mean of the metric over tasks; see `over_tasks`.
        interval: Its 95 % interval.
        n_episodes: Number of scored episodes.
    """

    setting: float
    spent: float
    value: float
    interval: Interval
    n_episodes: int


class Curve(NamedTuple):
    """A strategy's points, in order of spending."""

    name: str
    metric: str
    axis: str
    points: tuple[Point, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the curve as `summary.json` holds it."""
        return {**self._asdict(), "points": [one._asdict() for one in self.points]}

    def at(self, spent: float) -> float:
        """Return the interpolated metric at a budget between the first and the last point.

        Raises:
            ValueError: The budget is outside the curve, or the curve has no point.
        """
        xs = [point.spent for point in self.points]
        if not xs or not xs[0] <= spent <= xs[-1]:
            known = f"{xs[0]:g} to {xs[-1]:g}" if xs else "no point"
            raise ValueError(f"expected {self.axis} within the curve of {self.name}, {known}, got {spent:g}")
        return float(np.interp(spent, xs, [point.value for point in self.points]))


def spent_on(record: EpisodeRecord, axis: str) -> float:
    """Return an episode's spending on one of `AXES`."""
    return usage_on(record.spent, axis)


def usage_on(spent: Usage, axis: str) -> float:
    """Return what a usage counts on one of `AXES`."""
    if axis == "calls":
        return float(spent.proposals + spent.verifications + spent.asks)
    return float(getattr(spent, axis))


def curves(
    name: str,
    records: Mapping[float, Sequence[EpisodeRecord]],
    *,
    metric: str = SUCCESS,
    n_resamples: int = N_RESAMPLES,
) -> list[Curve]:
    """Return a strategy's curve on each of `AXES`. Where tokens were not reported, that on tokens has no points.

    Args:
        name: Name of the strategy.
        records: Setting -> the episodes that ran with it. Episodes that are not scored are left out.
        metric: Name of the metric, one of `METRICS`.
        n_resamples: Number of bootstrap resamples.
    """
    if metric not in METRICS:
        raise ValueError(f"expected a metric of {', '.join(METRICS)}, got {metric!r}")
    points: dict[str, list[Point]] = {axis: [] for axis in AXES}
    for setting, own in records.items():
        scored = [record for record in own if record.is_scored and getattr(record, metric) is not None]
        mean = over_tasks(per_task(scored, metric), Resampling(n_resamples=n_resamples), is_rate=metric == SUCCESS)
        if mean is None:
            continue
        is_metered = not any(record.spent.n_unmetered for record in scored)
        for axis in AXES if is_metered else (one for one in AXES if one != "tokens"):
            spent = float(np.mean([spent_on(record, axis) for record in scored]))
            points[axis].append(Point(setting, spent, mean.value, mean.interval_95, len(scored)))
    in_order = {axis: sorted(own, key=lambda point: (point.spent, point.setting)) for axis, own in points.items()}
    return [Curve(name, metric, axis, tuple(own)) for axis, own in in_order.items()]


def common_range(curves: Sequence[Curve]) -> tuple[float, float] | None:
    """Return the lowest and highest budget that all curves cover, or None if their ranges do not overlap."""
    if not curves or not all(one.points for one in curves):
        return None
    low = max(one.points[0].spent for one in curves)
    high = min(one.points[-1].spent for one in curves)
    return (low, high) if low < high else None


def crossings(a: Curve, b: Curve) -> list[float]:
    """Return the budgets at which two curves cross, in order."""
    both = common_range([a, b])
    if both is None:
        return []
    low, high = both
    xs = sorted({low, high, *(point.spent for one in (a, b) for point in one.points if low < point.spent < high)})
    heights = [(x, a.at(x) - b.at(x)) for x in xs]
    nonzero = [(x, height) for x, height in heights if height != 0]  # curves that only touch do not cross
    found = []
    for (x, height), (next_x, next_height) in pairwise(nonzero):
        if height * next_height < 0:
            between = [at for at, difference in heights if x < at < next_x and difference == 0]
            found.append(between[0] if between else x + (next_x - x) * height / (height - next_height))
    return found


class CurveDifference(NamedTuple):
    """A comparison of curves over the budgets that all of them cover.

    Attributes:
        metric: Name of the metric.
        axis: Name of the spending axis.
        low: Lowest budget per episode that all curves cover.
        high: Highest budget per episode that all curves cover.
        areas: Name of a curve -> its mean between `low` and `high`.
        crossings: Names of two curves and a budget at which they cross.
    """

    metric: str
    axis: str
    low: float
    high: float
    areas: dict[str, float]
    crossings: list[tuple[str, str, float]]


def compared(curves: Sequence[Curve]) -> CurveDifference | None:
    """Compare curves of one metric and axis, or return None if they share no range of budgets.

    A strategy with a single point, such as one without n, has no curve and is left out.
    """
    drawn = [one for one in curves if len({point.spent for point in one.points}) > 1]
    both = common_range(drawn)
    if both is None or len(drawn) < 2:
        return None
    low, high = both
    areas = {}
    for one in drawn:
        xs = [low, *(point.spent for point in one.points if low < point.spent < high), high]
        areas[one.name] = float(np.trapezoid([one.at(x) for x in xs], xs) / (high - low))
    crossed = [(a.name, b.name, at) for a, b in combinations(drawn, 2) for at in crossings(a, b)]
    return CurveDifference(drawn[0].metric, drawn[0].axis, low, high, areas, crossed)

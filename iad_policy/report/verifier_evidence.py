"""Measures how well a verifier's scores tell right candidates from wrong ones, and how well they are calibrated."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_policy.report.statistics import CONFIDENCE, MANY, Interval

LEAST_PER_CLASS = 30
"""Fewest candidates of each class for an AUC. With fewer, its interval covers most of the range."""
N_BINS = 10
N_RESAMPLES = 2000
SEED = 0

_Floats = NDArray[np.float64]


class Auc(NamedTuple):
    """Area under the ROC curve, and its 95 % interval."""

    value: float
    interval: Interval


class VerifierEvidence(NamedTuple):
    """What scores say about success.

    Attributes:
        auc: Area under the ROC curve: 0.5 is blind. None if it can't be told from so few candidates.
        interval: Its 95 % interval, or None.
        n_pos: Number of candidates that succeed.
        n_neg: Number of candidates that fail.
        ece: Expected calibration error of the scores as probabilities of success. None for no candidates.
    """

    auc: float | None
    interval: Interval | None
    n_pos: int
    n_neg: int
    ece: float | None

    def __str__(self) -> str:
        classes = f"{self.n_pos} right, {self.n_neg} wrong"
        if self.auc is None or self.interval is None:
            return f"AUC cannot be told ({classes})"
        low, high = self.interval
        return f"AUC {self.auc:.3f} [{low:.3f}, {high:.3f}], ECE {self.ece:.3f} ({classes})"


def evidence(
    scores: Sequence[float], labels: Sequence[bool], *, tasks: Sequence[Hashable] | None = None
) -> VerifierEvidence:
    """Return the AUC with its interval, the sizes of both classes, and the calibration error.

    Args:
        scores: Scores, one per candidate.
        labels: Whether each candidate succeeds.
        tasks: Task of each candidate, for an interval that respects that candidates of a task are alike.
    """
    n_pos = sum(map(bool, labels))
    n_neg = len(labels) - n_pos
    found = auc(scores, labels, tasks=tasks) if min(n_pos, n_neg) >= LEAST_PER_CLASS else None
    error = ece(scores, labels) if labels else None
    return VerifierEvidence(found and found.value, found and found.interval, n_pos, n_neg, error)


def auc(scores: Sequence[float], labels: Sequence[bool], *, tasks: Sequence[Hashable] | None = None) -> Auc:
    """Return the probability that a right candidate scores above a wrong one, where ties count half.

    The interval is that of the percentile bootstrap over tasks (over candidates if no tasks are given). With more than
    `statistics.MANY` tasks, the area is treated as normal, with the variance between tasks of Obuchowski (1997).

    Raises:
        ValueError: One of the classes is empty.
    """
    values, is_right = np.asarray(scores, float), np.asarray(labels, bool)
    if is_right.all() or not is_right.any():
        raise ValueError(f"expected right and wrong candidates, got {len(labels)} of one class; measure more")
    clusters = np.unique(np.arange(len(values)) if tasks is None else _codes(tasks), return_inverse=True)[1]
    if clusters.max() >= MANY:
        return Auc(_area(values, is_right), _normal_interval(values, is_right, clusters))
    levels = np.unique(values, return_inverse=True)[1]
    n_tasks = int(clusters.max()) + 1
    rng = np.random.default_rng(SEED)
    resampled = []
    for _ in range(N_RESAMPLES):
        n_drawn = np.bincount(rng.integers(n_tasks, size=n_tasks), minlength=n_tasks)[clusters]
        right = np.bincount(levels, weights=n_drawn * is_right)
        wrong = np.bincount(levels, weights=n_drawn * ~is_right)
        n_pairs = right.sum() * wrong.sum()
        if n_pairs:
            resampled.append(float((right * (wrong.cumsum() - wrong / 2.0)).sum() / n_pairs))
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(resampled, (tail, 1.0 - tail))
    return Auc(_area(values, is_right), Interval(float(low), float(high)))


def ece(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Return the expected calibration error of scores in [0, 1]: the mean distance of score and share of success.

    Scores are put into ten bins of equal width, weighted by their number of candidates (Guo et al., 2017).

    Raises:
        ValueError: A score is not a probability.
    """
    values, is_right = np.asarray(scores, float), np.asarray(labels, float)
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError(f"expected scores in [0, 1], got {values.min():.4g} to {values.max():.4g}")
    bins = np.minimum((values * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, weights=values - is_right, minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(values))


def _normal_interval(values: _Floats, is_right: NDArray[np.bool_], clusters: NDArray[np.int64]) -> Interval:
    area = _area(values, is_right)
    right, wrong = np.sort(values[is_right]), np.sort(values[~is_right])
    share = np.empty(len(values))  # of the other class that a candidate is on the right side of, ties half
    share[is_right] = _mean_rank(wrong, values[is_right]) - area
    share[~is_right] = 1.0 - _mean_rank(right, values[~is_right]) - area
    share[is_right] /= len(right)
    share[~is_right] /= len(wrong)
    by_task = np.bincount(clusters, weights=share)
    half = 1.96 * float(np.sqrt((by_task**2).sum() * len(by_task) / (len(by_task) - 1)))
    return Interval(max(0.0, area - half), min(1.0, area + half))


def _mean_rank(ordered: _Floats, values: _Floats) -> _Floats:
    ranks = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    return np.asarray(ranks / (2.0 * len(ordered)))


def _codes(tasks: Sequence[Hashable]) -> NDArray[np.int64]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(task, len(numbers)) for task in tasks])


def _area(values: _Floats, is_right: NDArray[np.bool_]) -> float:
    """Return the Mann-Whitney statistic divided by the number of pairs."""
    return float(_mean_rank(np.sort(values[~is_right]), values[is_right]).mean())

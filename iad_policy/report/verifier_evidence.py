"""Measures how well a verifier's scores tell right candidates from wrong ones, and how well they are calibrated.

Of a run it makes a reliability diagram and an ROC curve of the actions that ended its episodes.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.statistics import CONFIDENCE, MANY, Interval, wilson

LEAST_PER_CLASS = 30
"""Fewest candidates of each class for an AUC. With fewer, its interval covers most of the range."""
N_BINS = 10

_Floats = NDArray[np.float64]
_Flags = NDArray[np.bool_]


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
        ece: Expected calibration error of the scores as probabilities of success. None for no candidates, or for scores
            that are no probabilities.
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
        error = "" if self.ece is None else f", ECE {self.ece:.3f}"
        return f"AUC {self.auc:.3f} [{low:.3f}, {high:.3f}]{error} ({classes})"


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
    is_probability = len(scores) > 0 and min(scores) >= 0.0 and max(scores) <= 1.0
    error = ece(scores, labels) if is_probability else None
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
    numbers: dict[Hashable, int] = {}
    of_candidates = range(len(values)) if tasks is None else tasks
    clusters = np.array([numbers.setdefault(task, len(numbers)) for task in of_candidates])
    area = float(_mean_rank(np.sort(values[~is_right]), values[is_right]).mean())  # Mann-Whitney, by number of pairs
    n_tasks = len(numbers)
    if n_tasks > MANY:
        share = np.empty(len(values))  # of the other class that a candidate is on the right side of, ties half
        share[is_right] = _mean_rank(np.sort(values[~is_right]), values[is_right]) - area
        share[~is_right] = 1.0 - _mean_rank(np.sort(values[is_right]), values[~is_right]) - area
        share /= np.where(is_right, is_right.sum(), (~is_right).sum())
        by_task = np.bincount(clusters, weights=share)
        half = 1.96 * float(np.sqrt((by_task**2).sum() * n_tasks / (n_tasks - 1)))
        return Auc(area, Interval(max(0.0, area - half), min(1.0, area + half)))
    levels = np.unique(values, return_inverse=True)[1]
    rng = np.random.default_rng(0)
    resampled = []
    for _ in range(2000):
        n_drawn = np.bincount(rng.integers(n_tasks, size=n_tasks), minlength=n_tasks)[clusters]
        right = np.bincount(levels, weights=n_drawn * is_right)
        wrong = np.bincount(levels, weights=n_drawn * ~is_right)
        n_pairs = right.sum() * wrong.sum()
        if n_pairs:
            resampled.append(float((right * (wrong.cumsum() - wrong / 2.0)).sum() / n_pairs))
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(resampled, (tail, 1.0 - tail))
    return Auc(area, Interval(float(low), float(high)))


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


def _mean_rank(ordered: _Floats, values: _Floats) -> _Floats:
    """Return the share of ordered values that each value is above, ties half."""
    ranks = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    return np.asarray(ranks / (2.0 * len(ordered)))


class ScoreBin(NamedTuple):
    """Episodes with scores in one range.

    Attributes:
        n: Their number.
        score: Their mean score.
        success: Their success rate.
        success_95: Its 95 % interval (Wilson), where each task counts once.
    """

    n: int
    score: float
    success: float
    success_95: Interval


class RocPoint(NamedTuple):
    """One threshold: the shares of failed and of successful episodes whose score reaches it."""

    threshold: float
    failed: float
    successful: float


@dataclass(frozen=True, slots=True)
class ScoresAgainstSuccess:
    """What a verifier said of the action that ended an episode, against what then came out.

    Only committed actions are known to be right or wrong. They are those with good scores, so a verifier tells less
    among them than among all candidates.

    Attributes:
        verifier: The verifier.
        rows: Rows of the table whose episodes are in it.
        evidence: The area under the ROC curve and the calibration error.
        bins: The reliability diagram: ten ranges of equal width, without empty ones.
        roc: The ROC curve, from the highest threshold to the lowest.
    """

    verifier: str
    rows: tuple[str, ...]
    evidence: VerifierEvidence
    bins: tuple[ScoreBin, ...]
    roc: tuple[RocPoint, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as `summary.json` holds it."""
        return {
            "verifier": self.verifier,
            "rows": self.rows,
            "evidence": self.evidence._asdict(),
            "bins": [one._asdict() for one in self.bins],
            "roc": [one._asdict() for one in self.roc],
        }


def scores_against_success(records: Mapping[str, Sequence[EpisodeRecord]]) -> list[ScoresAgainstSuccess]:
    """Return for each verifier what its scores say of success: over all rows of the table, then over each.

    Episodes count whose last action ended them and was verified, and of which success is known.

    Args:
        records: Row of the table -> its episodes.
    """
    by_verifier: dict[str, dict[str, list[EpisodeRecord]]] = {}
    for label, every in records.items():
        own = [
            one
            for one in every
            if one.final_score is not None
            and abs(one.final_score) <= 1e9  # the range between larger ones might have no number
            and one.is_scored
            and one.success in (0.0, 1.0)
            and one.stop_reason in ("done", "terminated")
        ]
        if own:
            by_verifier.setdefault(own[0].verifier, {})[label] = own
    found = []
    for verifier, rows in by_verifier.items():
        if len(rows) > 1:
            found.append(_measured(verifier, tuple(rows), [one for own in rows.values() for one in own]))
        found += [_measured(verifier, (label,), own) for label, own in rows.items()]
    return found


def _measured(verifier: str, rows: tuple[str, ...], records: Sequence[EpisodeRecord]) -> ScoresAgainstSuccess:
    scores = np.array([one.final_score for one in records], float)
    is_right = np.array([one.success == 1.0 for one in records])
    tasks = np.array([one.task_id for one in records])
    told = evidence(scores.tolist(), is_right.tolist(), tasks=tasks.tolist())
    low, high = (float(scores.min()), float(scores.max())) if told.ece is None else (0.0, 1.0)
    places = np.minimum((scores - low) / ((high - low) or 1.0) * N_BINS, N_BINS - 1).astype(int)
    bins = []
    for place in np.unique(places):
        own = places == place
        success, n_tasks = float(is_right[own].mean()), len(np.unique(tasks[own]))
        interval = wilson(round(success * n_tasks), n_tasks)
        bins.append(ScoreBin(int(own.sum()), float(scores[own].mean()), success, interval))
    return ScoresAgainstSuccess(verifier, rows, told, tuple(bins), _roc(scores, is_right))


def _roc(scores: _Floats, is_right: _Flags) -> tuple[RocPoint, ...]:
    """Return the curve, or nothing if all succeed or all fail."""
    if is_right.all() or not is_right.any():
        return ()
    order = np.argsort(-scores, kind="stable")
    ranked, right = scores[order], is_right[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))  # equal scores are one threshold
    if len(ends) > 200:  # further scores lie between two of them
        ends = ends[np.unique(np.linspace(0, len(ends) - 1, 200).round().astype(int))]
    successful = np.cumsum(right)[ends] / right.sum()
    failed = np.cumsum(~right)[ends] / (~right).sum()
    points = zip(ranked[ends].tolist(), failed.tolist(), successful.tolist(), strict=True)
    return tuple(RocPoint(*one) for one in points)

"""Sets a verifier's scores against what came out: a reliability diagram and an ROC curve of a run's episodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.statistics import Interval, wilson
from iad_policy.report.verifier_evidence import LEAST_PER_CLASS, N_BINS, VerifierEvidence, auc, ece

N_ROC = 200
"""Most points of an ROC curve. Further scores lie between two of them."""
ENDED = ("done", "terminated")
"""Stop reasons of an episode that its last action ended."""
MOST = 1e9
"""Largest score that is counted. The range between larger ones might have no number."""

_Floats = NDArray[np.float64]
_Flags = NDArray[np.bool_]
_Numbers = NDArray[np.int64]


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
    known = {label: [one for one in own if _is_known(one)] for label, own in records.items()}
    by_verifier: dict[str, dict[str, list[EpisodeRecord]]] = {}
    for label, own in known.items():
        if own:
            by_verifier.setdefault(own[0].verifier, {})[label] = own
    found = []
    for verifier, rows in by_verifier.items():
        if len(rows) > 1:
            found.append(_measured(verifier, tuple(rows), [one for own in rows.values() for one in own]))
        found += [_measured(verifier, (label,), own) for label, own in rows.items()]
    return found


def _is_known(record: EpisodeRecord) -> bool:
    if record.final_score is None or abs(record.final_score) > MOST:
        return False
    return record.is_scored and record.success in (0.0, 1.0) and record.stop_reason in ENDED


def _measured(verifier: str, rows: tuple[str, ...], records: Sequence[EpisodeRecord]) -> ScoresAgainstSuccess:
    scores = np.array([one.final_score for one in records], float)
    is_right = np.array([one.success == 1.0 for one in records])
    numbers: dict[str, int] = {}
    tasks = np.array([numbers.setdefault(one.task_id, len(numbers)) for one in records])
    n_right = int(is_right.sum())
    is_told = min(n_right, len(scores) - n_right) >= LEAST_PER_CLASS
    area = auc(scores.tolist(), is_right.tolist(), tasks=tasks.tolist()) if is_told else None
    is_probability = bool((scores >= 0.0).all() and (scores <= 1.0).all())
    told = VerifierEvidence(
        area and area.value,
        area and area.interval,
        n_right,
        len(scores) - n_right,
        ece(scores.tolist(), is_right.tolist()) if is_probability else None,
    )
    low, high = (0.0, 1.0) if is_probability else (float(scores.min()), float(scores.max()))
    return ScoresAgainstSuccess(verifier, rows, told, _bins(scores, is_right, tasks, low, high), _roc(scores, is_right))


def _bins(scores: _Floats, is_right: _Flags, tasks: _Numbers, low: float, high: float) -> tuple[ScoreBin, ...]:
    places = np.minimum((scores - low) / ((high - low) or 1.0) * N_BINS, N_BINS - 1).astype(int)
    found = []
    for place in np.unique(places):
        own = places == place
        success, n_tasks = float(is_right[own].mean()), len(np.unique(tasks[own]))
        interval = wilson(round(success * n_tasks), n_tasks)
        found.append(ScoreBin(int(own.sum()), float(scores[own].mean()), success, interval))
    return tuple(found)


def _roc(scores: _Floats, is_right: _Flags) -> tuple[RocPoint, ...]:
    """Return the curve, or nothing if all succeed or all fail."""
    if is_right.all() or not is_right.any():
        return ()
    order = np.argsort(-scores, kind="stable")
    ranked, right = scores[order], is_right[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))  # equal scores are one threshold
    if len(ends) > N_ROC:
        ends = ends[np.unique(np.linspace(0, len(ends) - 1, N_ROC).round().astype(int))]
    successful = np.cumsum(right)[ends] / right.sum()
    failed = np.cumsum(~right)[ends] / (~right).sum()
    points = zip(ranked[ends].tolist(), failed.tolist(), successful.tolist(), strict=True)
    return tuple(RocPoint(*one) for one in points)

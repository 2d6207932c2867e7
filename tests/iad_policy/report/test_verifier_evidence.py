"""The measures of a verifier: area under the ROC curve, its interval, calibration, and a run's scores by success."""

from random import Random
from typing import Any

import pytest

from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.statistics import wilson
from iad_policy.report.verifier_evidence import auc, ece, evidence, scores_against_success


def test_the_area_counts_pairs_and_ties_half() -> None:
    scores, labels = [0.1, 0.4, 0.4, 0.8, 0.8], [False, False, True, True, False]
    rows = list(zip(scores, labels, strict=True))
    pairs = [(right, wrong) for right, is_right in rows if is_right for wrong, other in rows if not other]
    found = auc(scores, labels)
    assert found.value == pytest.approx(sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs))
    assert found.interval.low <= found.value <= found.interval.high
    assert auc(scores, labels) == found
    with pytest.raises(ValueError, match="one class"):
        auc([0.5], [True])


def test_blind_scores_have_half_in_the_interval_and_alike_candidates_widen_it() -> None:
    rng = Random(0)
    scores, labels = [rng.random() for _ in range(400)], [rng.random() < 0.5 for _ in range(400)]
    blind = auc(scores, labels)
    assert blind.interval.low < 0.5 < blind.interval.high
    copied = [score for score in scores for _ in range(5)], [label for label in labels for _ in range(5)]
    by_task, by_candidate = auc(*copied, tasks=[k for k in range(400) for _ in range(5)]), auc(*copied)
    width = by_task.interval.high - by_task.interval.low
    assert width == pytest.approx(blind.interval.high - blind.interval.low, rel=0.1)
    assert width > 1.7 * (by_candidate.interval.high - by_candidate.interval.low)


def test_calibration_is_the_mean_distance_of_score_and_share() -> None:
    assert ece([0.75] * 4, [True, True, True, False]) == pytest.approx(0.0)
    assert ece([0.95, 0.95, 0.05, 0.05], [True, False, False, False]) == pytest.approx(0.25)
    assert ece([1.0], [True]) == pytest.approx(0.0)
    with pytest.raises(ValueError, match=r"expected scores in \[0, 1\]"):
        ece([1.05], [True])


def test_few_candidates_tell_nothing() -> None:
    few = evidence([0.9] * 29 + [0.1] * 40, [True] * 29 + [False] * 40)
    assert (few.auc, few.interval, few.n_pos, few.n_neg) == (None, None, 29, 40)
    assert "cannot be told" in str(few)
    enough = evidence([0.9] * 30 + [0.1] * 40, [True] * 30 + [False] * 40)
    assert (enough.auc, enough.interval, enough.ece) == (1.0, (1.0, 1.0), pytest.approx(0.1))
    assert evidence([], []).ece is evidence([2.0], [True]).ece is None


def test_of_many_tasks_the_interval_is_normal_and_close_to_the_resampled_one() -> None:
    rng = Random(1)
    tasks = [place // 2 for place in range(4400)]
    labels = [rng.random() < 0.4 for _ in tasks]
    scores = [rng.gauss(0.8 * label, 1.0) for label in labels]
    normal = auc(scores, labels, tasks=tasks)
    few = auc(scores[:3900], labels[:3900], tasks=tasks[:3900])  # fewer than MANY tasks: resampled
    assert normal.value == pytest.approx(few.value, abs=0.01)
    assert normal.interval.high - normal.interval.low == pytest.approx(few.interval.high - few.interval.low, rel=0.15)
    assert normal.interval.low < normal.value < normal.interval.high


def ended(task: int, score: float | None, success: float | None, **facts: Any) -> EpisodeRecord:
    values = {"verifier": "proxy", "stop_reason": "done", "final_score": score, "success": success} | facts
    return EpisodeRecord(f"{task}", "Toy", f"task-{task}", "bon", 0, **values)


def test_a_runs_scores_are_set_against_success_by_range_and_by_threshold() -> None:
    """What else is known of them is in the summaries that test_metrics.py holds to files."""
    scores = ((0.05, 0.0), (0.55, 0.0), (0.52, 1.0), (0.93, 1.0), (0.93, 1.0))
    (found,) = scores_against_success({"bon": [ended(place, *one) for place, one in enumerate(scores)]})
    assert [(one.n, one.success, one.success_95) for one in found.bins] == [
        *((1, 0.0, wilson(0, 1)), (2, 0.5, wilson(1, 2)), (2, 1.0, wilson(2, 2)))
    ]
    steps = [(one.threshold, one.failed, one.successful) for one in found.roc]
    assert steps == [(0.93, 0.0, 2 / 3), (0.55, 0.5, 2 / 3), (0.52, 0.5, 1.0), (0.05, 1.0, 1.0)]
    (once,) = scores_against_success({"bon": [ended(0, 0.9, 1.0, n=place) for place in range(50)]})
    assert [(one.n, one.success_95) for one in once.bins] == [(50, wilson(1, 1))], "a task counts once"


def test_only_verified_actions_that_ended_an_episode_are_known() -> None:
    unknown = [
        ended(0, None, 1.0),
        ended(1, 0.5, None),
        ended(2, 0.5, 0.0, stop_reason="max_steps"),
        ended(3, 0.5, 0.0, error_kind="timeout"),
        ended(4, 1e308, 1.0),
    ]
    assert scores_against_success({"bon": unknown, "single": []}) == []
    rows = scores_against_success({"bon": [*unknown, ended(4, 0.5, 1.0)], "iad": [ended(4, 7.0, 1.0)]})
    assert [one.rows for one in rows] == [("bon", "iad"), ("bon",), ("iad",)]
    assert [one.evidence.ece for one in rows] == [None, 0.5, None]  # 7 is no probability
    assert [one.roc for one in rows] == [(), (), ()]  # nothing failed

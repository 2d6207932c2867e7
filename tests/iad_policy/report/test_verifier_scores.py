"""A verifier's scores against success: ranges of scores, thresholds, and which episodes are known."""

from typing import Any

import pytest

from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.statistics import wilson
from iad_policy.report.verifier_scores import scores_against_success


def ended(task: int, score: float | None, success: float | None, **facts: Any) -> EpisodeRecord:
    values = {"verifier": "proxy", "stop_reason": "done", "final_score": score, "success": success} | facts
    return EpisodeRecord(f"{task}", "Toy", f"task-{task}", "bon", 0, **values)


def test_scores_are_set_against_success_by_range_and_by_threshold() -> None:
    records = [ended(0, 0.05, 0.0), ended(1, 0.55, 0.0), ended(2, 0.52, 1.0), ended(3, 0.93, 1.0), ended(4, 0.93, 1.0)]
    (found,) = scores_against_success({"bon": records})
    assert (found.verifier, found.rows, found.evidence.n_pos, found.evidence.n_neg) == ("proxy", ("bon",), 3, 2)
    assert [(one.n, one.success) for one in found.bins] == [(1, 0.0), (2, 0.5), (2, 1.0)]
    assert [one.success_95 for one in found.bins] == [wilson(0, 1), wilson(1, 2), wilson(2, 2)]
    steps = [(one.threshold, one.failed, one.successful) for one in found.roc]
    assert steps == [(0.93, 0.0, 2 / 3), (0.55, 0.5, 2 / 3), (0.52, 0.5, 1.0), (0.05, 1.0, 1.0)]
    assert found.evidence.auc is None  # too few
    assert found.as_json()["bins"][1]["score"] == pytest.approx(0.535)


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


def test_a_task_counts_once_in_the_interval_of_a_range() -> None:
    records = [ended(0, 0.9, 1.0, n=place) for place in range(50)]
    (found,) = scores_against_success({"bon": records})
    assert [(one.n, one.success_95) for one in found.bins] == [(50, wilson(1, 1))]

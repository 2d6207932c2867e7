"""The measures of a verifier: area under the ROC curve, its interval, and calibration."""

from random import Random

import pytest

from iad_policy.report import verifier_evidence as measures


def test_the_area_counts_pairs_and_ties_half() -> None:
    scores, labels = [0.1, 0.4, 0.4, 0.8, 0.8], [False, False, True, True, False]
    rows = list(zip(scores, labels, strict=True))
    pairs = [(right, wrong) for right, is_right in rows if is_right for wrong, other in rows if not other]
    expected = sum((right > wrong) + (right == wrong) / 2 for right, wrong in pairs) / len(pairs)
    found = measures.auc(scores, labels)
    assert found.value == pytest.approx(expected)
    assert found.interval.low <= found.value <= found.interval.high
    assert measures.auc(scores, labels) == found
    with pytest.raises(ValueError, match="one class"):
        measures.auc([0.5], [True])


def test_blind_scores_have_half_in_the_interval_and_alike_candidates_widen_it() -> None:
    rng = Random(0)
    scores, labels = [rng.random() for _ in range(400)], [rng.random() < 0.5 for _ in range(400)]
    blind = measures.auc(scores, labels)
    assert blind.interval.low < 0.5 < blind.interval.high
    tasks = [k for k in range(400) for _ in range(5)]
    copied = [score for score in scores for _ in range(5)], [label for label in labels for _ in range(5)]
    by_task, by_candidate = measures.auc(*copied, tasks=tasks), measures.auc(*copied)
    width = by_task.interval.high - by_task.interval.low
    assert width == pytest.approx(blind.interval.high - blind.interval.low, rel=0.1)
    assert width > 1.7 * (by_candidate.interval.high - by_candidate.interval.low)


def test_calibration_is_the_mean_distance_of_score_and_share() -> None:
    assert measures.ece([0.75] * 4, [True, True, True, False]) == pytest.approx(0.0)
    assert measures.ece([0.95, 0.95, 0.05, 0.05], [True, False, False, False]) == pytest.approx(0.25)
    assert measures.ece([1.0], [True]) == pytest.approx(0.0)
    with pytest.raises(ValueError, match=r"expected scores in \[0, 1\]"):
        measures.ece([1.05], [True])


def test_few_candidates_tell_nothing() -> None:
    few = measures.evidence([0.9] * 29 + [0.1] * 40, [True] * 29 + [False] * 40)
    assert (few.auc, few.interval, few.n_pos, few.n_neg) == (None, None, 29, 40)
    assert "cannot be told" in str(few)
    enough = measures.evidence([0.9] * 30 + [0.1] * 40, [True] * 30 + [False] * 40)
    assert (enough.auc, enough.interval) == (1.0, (1.0, 1.0))
    assert enough.ece == pytest.approx(0.1)
    assert measures.evidence([], []).ece is None


def test_of_many_tasks_the_interval_is_normal_and_close_to_the_resampled_one() -> None:
    rng = Random(1)
    tasks = [place // 2 for place in range(4400)]
    labels = [rng.random() < 0.4 for _ in tasks]
    scores = [rng.gauss(0.8 * label, 1.0) for label in labels]
    normal = measures.auc(scores, labels, tasks=tasks)
    few = measures.auc(scores[:3900], labels[:3900], tasks=tasks[:3900])  # fewer than MANY tasks: resampled
    assert normal.value == pytest.approx(few.value, abs=0.01)
    assert normal.interval.high - normal.interval.low == pytest.approx(few.interval.high - few.interval.low, rel=0.15)
    assert normal.interval.low < normal.value < normal.interval.high

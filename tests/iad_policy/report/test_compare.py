"""Figures of comparisons, worked out by hand, by counting, and by SciPy."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from iad_policy.errors import UnknownName
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.compare import Comparison, Resampling, compare, differences
from iad_policy.report.samples import (
    ID,
    SCORED,
    WRONG,
    CountingRules,
    Samples,
    SampleScore,
    TaskSample,
    samples_of,
    task_content,
)
from iad_policy.report.statistics import bootstrap_mean, detectable_mean, holm, paired_interval, sign_flip, wilson

FEW = Resampling(n_resamples=500)
Scores = dict[str, list[float | str | None]]
"""Task -> the scores of its samples: a number, None for unscored, or an error's kind."""


def arms(**scores: Scores) -> Samples:
    logs = Samples(score="score")
    for arm, tasks in scores.items():
        logs.parts[arm] = {"arm": arm}
        for task, values in tasks.items():
            for place, value in enumerate(values):
                is_error = isinstance(value, str)
                score = SampleScore(None if isinstance(value, str) else value)
                logs.samples.append(
                    TaskSample(task, arm, str(place), {"score": score}, error=value if is_error else "")
                )
    return logs


def compared(logs: Samples, baseline: str = "", **rules: object) -> Comparison:
    return compare(logs, CountingRules(**rules), baseline=baseline, resampling=FEW)  # type: ignore[arg-type]


def once(*values: float) -> Scores:
    return {f"t{place}": [value] for place, value in enumerate(values)}


def test_one_sample_per_task_by_hand() -> None:
    a = once(1, 1, 0, 0, 0, 0, 0, 0)
    b = once(1, 0, 1, 1, 1, 1, 1, 0)
    found = compared(arms(a=a, b=b))
    assert found.is_success_only
    own = found.arms["b"].success
    assert own is not None
    assert (own.value, own.interval_95, own.n_tasks) == (0.75, wilson(6, 8), 8)
    difference = found.differences["b"]
    assert list(difference.metrics) == ["success"]
    tested = difference.success
    assert tested is not None
    assert tested.value == 0.5
    assert tested.won == ("t2", "t3", "t4", "t5", "t6")
    assert tested.lost == ("t1",)
    assert tested.test == "mcnemar"
    assert tested.p == pytest.approx(2 * (1 + 6) / 2**6)  # 5 or 6 of 6, and 0 or 1 of 6
    assert tested.p_holm == tested.p
    assert tested.detectable == pytest.approx((1.959964 + 0.841621) * math.sqrt((6 + 1) / (8 + 2) / 8), rel=1e-6)
    assert tested.interval_95 == bootstrap_mean([0, -1, 1, 1, 1, 1, 1, 0], n_resamples=500)


def test_samples_of_a_task_are_averaged_before_tasks_are_paired() -> None:
    """Task t0 has four samples and counts no more than t1, which has one."""
    a: Scores = {"t0": [0, 0, 0, 1], "t1": [1], "t2": [0, 1]}
    b: Scores = {"t0": [1, 1], "t1": [1, 0], "t2": [0, 1, 0, 1]}
    found = compared(arms(a=a, b=b))
    first = found.arms["a"].success
    assert first is not None
    assert first.value == pytest.approx((0.25 + 1 + 0.5) / 3)
    assert first.interval_95 == bootstrap_mean([0.25, 1, 0.5], n_resamples=500)
    tested = found.differences["b"].success
    assert tested is not None
    changes = [0.75, -0.5, 0.0]
    assert tested.value == pytest.approx(sum(changes) / 3)
    assert (tested.won, tested.lost, tested.test) == (("t0",), ("t1",), "sign-flip")
    assert tested.p == sign_flip(changes)
    assert tested.interval_95 == bootstrap_mean(changes, n_resamples=500)
    spread = math.sqrt(float(np.var(changes, ddof=1)) / 3)
    assert tested.detectable == pytest.approx((1.959964 + 0.841621) * spread, rel=1e-6)


def test_pass_at_k_counts_choices_of_k_samples() -> None:
    tasks = {"t0": [1, 0, 0, 1], "t1": [0, 0, 0, 0], "t2": [1, 1, 1, 0, 1]}
    (found,) = compared(arms(a={task: list(own) for task, own in tasks.items()})).arms.values()
    assert list(found.pass_at) == list(found.pass_hat) == [2, 4, 5]
    for k in (2, 4):
        chosen = [list(combinations(own, k)) for own in tasks.values()]
        assert found.pass_at[k].value == pytest.approx(np.mean([np.mean([any(one) for one in own]) for own in chosen]))
        assert found.pass_hat[k].value == pytest.approx(np.mean([np.mean([all(one) for one in own]) for own in chosen]))
    assert (found.pass_at[5].value, found.pass_at[5].n_tasks, found.pass_at[5].interval_95) == (1.0, 1, wilson(1, 1))


def test_numbers_of_samples_can_be_asked_for() -> None:
    logs = arms(a={"t": [1, 0, 0]})
    found = compare(logs, ks=(1, 3, 4), resampling=FEW).arms["a"]
    assert {k: one.value for k, one in found.pass_at.items()} == {1: pytest.approx(1 / 3), 3: 1.0}
    with pytest.raises(ValueError, match="expected k of 1 or more, got 0"):
        compare(logs, ks=(2, 0))


def test_holm_adjusts_a_metric_over_all_rows() -> None:
    a, b, c = once(*[0.1] * 8), once(*[0.1] * 7, 0.9), once(*[0.9] * 8)
    found = compared(arms(a=a, b=b, c=c), success_at=0.5)
    for metric in ("success", "score"):
        tests = [found.differences[name].metrics[metric] for name in "bc"]
        assert [one.p_holm for one in tests] == holm([one.p for one in tests])
        assert tests[1].p_holm == pytest.approx(2 * 2 / 2**8)


def test_errors_are_left_out_and_counted() -> None:
    a: Scores = {"t0": [1, "Timeout"], "t1": ["Timeout", "Crash"], "t2": [0, None]}
    b: Scores = {"t0": [1, 1], "t1": [1, 1], "t2": [0, 0]}
    found = compared(arms(a=a, b=b))
    own = found.arms["a"]
    assert (own.n_tasks, own.n_samples, own.n_errored) == (2, 2, 4)
    assert own.errors == {"Crash": 1, "Timeout": 2, "unscored": 1}
    assert own.success is not None
    assert own.success.value == 0.5
    difference = found.differences["b"]
    assert (difference.n_pairs, difference.only_own, difference.only_baseline) == (2, ("t1",), ())


def test_errors_can_count_as_wrong() -> None:
    a: Scores = {"t0": [1, "Timeout"], "t1": ["Timeout", "Crash"], "t2": [0, None]}
    (own,) = compared(arms(a=a), errors=WRONG).arms.values()
    assert (own.n_tasks, own.n_samples, own.n_errored) == (3, 6, 4)
    assert own.success is not None
    assert own.success.value == pytest.approx(0.5 / 3)


def test_errors_can_count_with_the_score_of_their_log() -> None:
    logs = arms(a={"t0": [1], "t1": ["Timeout"]})
    logs.samples.append(TaskSample("t2", "a", "0", {"score": SampleScore(0.0)}, error="Crash"))
    assert [one.n_samples for one in compared(logs).arms.values()] == [1]
    (own,) = compared(logs, errors=SCORED).arms.values()
    assert (own.n_samples, own.n_errored, own.n_scored_errors) == (2, 2, 1)
    assert own.success is not None
    assert own.success.value == 0.5


def test_tasks_of_one_arm_only_are_named() -> None:
    found = compared(arms(a=once(1, 0, 1), b={"t1": [1], "t9": [0]})).differences["b"]
    assert (found.n_pairs, found.only_own, found.only_baseline, found.neither) == (1, ("t9",), ("t0", "t2"), ())
    assert found.n_unpaired == 3


def test_a_task_without_a_sample_that_counts_in_either_arm_is_named() -> None:
    found = compared(arms(a={"t0": [1], "t1": ["Crash"]}, b={"t0": [1], "t1": ["Crash"]})).differences["b"]
    assert (found.n_pairs, found.neither) == (1, ("t1",))


def reworded() -> Samples:
    """Two arms with two tasks of the same names, one of which asks for something else."""
    logs = Samples(score="score", parts={"a": {"arm": "a"}, "b": {"arm": "b"}})
    for arm in "ab":
        for task, prompt in (("t0", "the same"), ("t1", f"other in {arm}")):
            content = task_content(task, prompt)
            logs.samples.append(TaskSample(task, arm, "0", {"score": SampleScore(1.0)}, content=content))
    return logs


def test_tasks_of_one_name_that_ask_for_something_else_are_not_paired() -> None:
    found = compared(reworded()).differences["b"]
    assert (found.n_pairs, found.only_own, found.only_baseline, found.reworded) == (1, ("t1",), ("t1",), ("t1",))


def test_tasks_can_be_paired_by_name() -> None:
    found = compared(reworded(), pair_by=ID).differences["b"]
    assert (found.n_pairs, found.n_unpaired, found.reworded) == (2, 0, ())


def test_arms_that_share_tasks_are_compared_with_the_first_of_them() -> None:
    other: Scores = {"u0": [1], "u1": [0]}
    found = compared(arms(a=once(1, 0), x=other, b=once(0, 1), y=other, alone={"v": [1]}))
    assert {name: one.baseline for name, one in found.differences.items()} == {"b": "a", "y": "x"}
    assert found.alone == ["alone"]


def test_arms_are_one_group_if_a_third_one_links_them() -> None:
    found = compared(arms(a={"t0": [1]}, b={"t1": [1]}, c={"t0": [0], "t1": [0]}))
    assert {name: (one.baseline, one.n_pairs) for name, one in found.differences.items()} == {
        "b": ("a", 0),
        "c": ("a", 1),
    }
    assert found.differences["b"].success is None


def test_the_baseline_can_be_an_arm_or_a_part_of_one() -> None:
    logs = arms(a=once(1, 0), b=once(0, 1), x={"u": [1]}, y={"u": [0]})
    logs.parts |= {"b": {"model": "large"}, "y": {"model": "large"}}
    by_name = compared(logs, baseline="b").differences
    assert {name: one.baseline for name, one in by_name.items()} == {"a": "b", "y": "x"}
    by_part = compared(logs, baseline="large").differences
    assert {name: one.baseline for name, one in by_part.items()} == {"a": "b", "x": "y"}
    with pytest.raises(UnknownName, match="expected a known baseline, got 'c'; known: a, b, x, y"):
        compared(logs, baseline="c")
    logs.parts["a"] = {"model": "large"}
    with pytest.raises(ValueError, match="got 'large', which fits a, b; name the whole arm"):
        compared(logs, baseline="large")


def test_success_is_a_score_of_one_only_where_all_scores_are_0_or_1() -> None:
    assert compared(arms(a=once(1, 0))).arms["a"].success is not None
    found = compared(arms(a=once(1, 0.5)))
    assert found.arms["a"].success is None
    assert not found.is_success_only
    own = compared(arms(a=once(1, 0.5, 0.4)), success_at=0.5).arms["a"].success
    assert own is not None
    assert own.value == pytest.approx(2 / 3)


def test_success_that_only_some_samples_say_is_not_known() -> None:
    logs = arms(a=once(0.5, 0.25))
    logs.samples.append(TaskSample("t9", "a", "0", {"score": SampleScore(0.75, 1.0)}))
    assert compared(logs).arms["a"].success is None


def test_partial_credit_is_a_score_and_no_success() -> None:
    logs = Samples(score="score", parts={"a": {}})
    marks = {"C": SampleScore(1.0, 1.0), "P": SampleScore(0.5, 0.0), "I": SampleScore(0.0, 0.0)}
    logs.samples = [TaskSample(name, "a", "0", {"score": mark}) for name, mark in marks.items()]
    own = compared(logs).arms["a"]
    assert own.success is not None
    assert own.score is not None
    assert (own.success.value, own.score.value) == (pytest.approx(1 / 3), 0.5)


def test_a_score_has_to_be_named_if_there_are_several() -> None:
    sample = TaskSample("t", "a", "0", {"match": SampleScore(1.0), "parts.right": SampleScore(0.0)})
    logs = Samples(parts={"a": {}}, samples=[sample])
    with pytest.raises(
        ValueError, match="expected --score NAME, because the logs have several scores, got none; known: "
    ):
        compared(logs)
    with pytest.raises(UnknownName, match="got 'length'; known: match, parts"):
        compared(logs, score="length")
    assert compared(logs, score="right").score == "parts.right"


def test_a_difference_that_is_rounding_is_none() -> None:
    found = compared(arms(a={"t": [0.1, 0.2]}, b={"t": [0.3, 0.0]}), success_at=1).differences["b"]
    score = found.metrics["score"]
    assert (score.won, score.lost, score.value) == ((), (), 0.0)


def test_one_task_says_little() -> None:
    found = compared(arms(a={"t": [1, 0]}, b={"t": [1, 1]}))
    assert found.arms["b"].score is not None
    assert found.arms["b"].score.interval_95 == wilson(1, 1)
    tested = found.differences["b"].success
    assert tested is not None
    assert (tested.interval_95, tested.detectable, tested.p) == (paired_interval([0.5]), None, 1.0)
    assert tested.interval_95.high - tested.interval_95.low > 1.9


def test_tasks_that_all_differ_by_the_same_have_an_interval_of_some_width_if_scores_are_between_0_and_1() -> None:
    tested = compared(arms(a=once(0.5, 0.25), b=once(1, 0.75))).differences["b"].metrics["score"]
    assert (tested.interval_95, tested.detectable) == (paired_interval([0.5, 0.5]), detectable_mean([0.5, 0.5]))
    assert tested.interval_95.low < 0.1
    # How much scores of another range may vary is not known.
    points = compared(arms(a=once(50, 25), b=once(100, 75))).differences["b"].metrics["score"]
    assert (points.value, points.interval_95, points.detectable) == (50.0, (50.0, 50.0), None)


def test_the_json_has_every_figure() -> None:
    content = compared(arms(a=once(1, 0), b=once(1, 1))).as_json()
    assert content["arms"]["b"]["success"] == {"value": 1.0, "interval_95": list(wilson(2, 2)), "n_tasks": 2}
    difference = content["differences"]["b"]
    assert difference["success"]["won"] == ["t1"]
    assert difference["success"]["test"] == "mcnemar"
    assert (difference["baseline"], difference["score"]) == ("a", None)


outcome = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=25)


@settings(max_examples=40, deadline=None)
@given(outcome)
def test_one_sample_per_task_agrees_with_scipy(pairs: list[tuple[bool, bool]]) -> None:
    found = compared(arms(a=once(*(a for a, _ in pairs)), b=once(*(b for _, b in pairs)))).differences["b"].success
    assert found is not None
    n_won, n_lost = len(found.won), len(found.lost)
    if n_won + n_lost:
        assert found.p == pytest.approx(stats.binomtest(n_won, n_won + n_lost).pvalue)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.booleans()] * 4), min_size=2, max_size=8))
def test_several_samples_agree_with_scipys_permutations(tasks: list[tuple[bool, ...]]) -> None:
    a: Scores = {f"t{place}": [float(one) for one in own[:2]] for place, own in enumerate(tasks)}
    b: Scores = {f"t{place}": [float(one) for one in own[2:]] for place, own in enumerate(tasks)}
    found = compared(arms(a=a, b=b)).differences["b"].success
    assert found is not None
    changes = np.array([(own[2] + own[3] - own[0] - own[1]) / 2 for own in tasks])
    theirs = stats.permutation_test(
        (changes,), lambda one, axis: one.sum(axis=axis), permutation_type="samples", vectorized=True
    )
    assert found.p == pytest.approx(theirs.pvalue)
    assert found.value == pytest.approx(changes.mean())


def own(seeds: dict[str, Sequence[float]], failed: Sequence[tuple[str, int]] = ()) -> list[EpisodeRecord]:
    """Task -> its success with the seeds 0, 1 ..."""
    return [
        EpisodeRecord(
            key="", env="E", task_id=task, strategy="s", seed=seed, success=value, reward=value,
            error_kind="crash" * ((task, seed) in failed),
        )
        for task, values in seeds.items()
        for seed, value in enumerate(values)
    ]  # fmt: skip


def test_a_pair_is_a_task_whatever_its_seeds() -> None:
    base = own({f"t{place}": [0, 0, 0] for place in range(8)})
    better = own({f"t{place}": [1, 1, 0] if place < 6 else [0, 0, 0] for place in range(8)})
    found = differences({"base": base, "x": better}, {"x": "base"})["x"]
    assert found.success is not None
    assert (found.n_pairs, found.success.value) == (8, 0.5)
    assert (found.success.won, found.success.test) == (tuple(f"t{place}" for place in range(6)), "sign-flip")
    assert found.success.p == found.success.p_holm == pytest.approx(2 / 64)
    assert found.success.interval_95 == bootstrap_mean([2 / 3] * 6 + [0.0] * 2)


def test_a_seed_that_failed_in_one_arm_is_left_out_of_the_other() -> None:
    """The seeds of a task are drawn alike in all arms, so equal methods do not differ because one of them failed."""
    solved = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]}
    found = differences({"base": own(solved), "x": own(solved, [("a", 1)])}, {"x": "base"})["x"]
    assert found.success is not None
    assert (found.n_pairs, found.success.value, found.success.won) == (3, 0.0, ())


def test_the_order_of_samples_changes_nothing() -> None:
    a, b = once(*[0.2, 0.9, 0.4, 0.7, 0.1]), once(*[0.5, 0.6, 0.9, 0.7, 0.8])
    turned = arms(a=a, b=b)
    turned.samples.reverse()
    one, other = compared(arms(a=a, b=b)), compared(turned)
    assert one.arms == other.arms
    assert one.differences == other.differences


def test_episodes_say_themselves_whether_they_are_a_success() -> None:
    records = [EpisodeRecord("", "E", f"t{place}", "s", 0, reward=float(place % 2)) for place in range(4)]
    found = compare(samples_of({"a": records, "b": records}), resampling=FEW)
    assert found.arms["a"].success is None
    assert found.arms["a"].score is not None

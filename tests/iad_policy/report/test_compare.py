"""Figures of comparisons, worked out by hand, by counting, and by SciPy."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.compare import Resampling, compare, differences
from iad_policy.report.samples import SCORED, CountingRules, Samples, SampleScore, TaskSample, samples_of, task_content
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
                error = value if isinstance(value, str) else ""
                score = SampleScore(None if isinstance(value, str) else value)
                logs.samples.append(TaskSample(task, arm, str(place), {"score": score}, error=error))
    return logs


def compared(logs: Samples, baseline: str = "", **rules: Any) -> Any:
    return compare(logs, CountingRules(**rules), baseline=baseline, resampling=FEW)


def once(*values: float) -> Scores:
    return {f"t{place}": [value] for place, value in enumerate(values)}


def success(found: Any, arm: str = "a") -> Any:
    return found.arms[arm].success


def difference_of(found: Any, arm: str = "b", metric: str = "success") -> Any:
    return found.differences[arm].metrics[metric]


def test_one_sample_per_task_by_hand() -> None:
    found = compared(arms(a=once(1, 1, 0, 0, 0, 0, 0, 0), b=once(1, 0, 1, 1, 1, 1, 1, 0)))
    assert found.is_success_only
    assert list(found.differences["b"].metrics) == ["success"]
    assert success(found, "b") == (0.75, wilson(6, 8), 8)
    own = difference_of(found)
    assert (own.value, own.won, own.lost, own.test) == (0.5, ("t2", "t3", "t4", "t5", "t6"), ("t1",), "mcnemar")
    assert own.p == own.p_holm == pytest.approx(2 * (1 + 6) / 2**6)  # 5 or 6 of 6, and 0 or 1 of 6
    assert own.detectable == pytest.approx((1.959964 + 0.841621) * math.sqrt((6 + 1) / (8 + 2) / 8), rel=1e-6)
    assert own.interval_95 == bootstrap_mean([0, -1, 1, 1, 1, 1, 1, 0], n_resamples=500)


def test_samples_of_a_task_are_averaged_before_tasks_are_paired() -> None:
    """Task t0 has four samples and counts no more than t1, which has one."""
    a, b = {"t0": [0, 0, 0, 1], "t1": [1], "t2": [0, 1]}, {"t0": [1, 1], "t1": [1, 0], "t2": [0, 1, 0, 1]}
    found = compared(arms(a=a, b=b))  # type: ignore[arg-type]
    assert success(found).value == pytest.approx((0.25 + 1 + 0.5) / 3)
    assert success(found).interval_95 == bootstrap_mean([0.25, 1, 0.5], n_resamples=500)
    own, changes = difference_of(found), [0.75, -0.5, 0.0]
    assert own.value == pytest.approx(sum(changes) / 3)
    assert (own.won, own.lost, own.test, own.p) == (("t0",), ("t1",), "sign-flip", sign_flip(changes))
    assert own.interval_95 == bootstrap_mean(changes, n_resamples=500)
    spread = math.sqrt(float(np.var(changes, ddof=1)) / 3)
    assert own.detectable == pytest.approx((1.959964 + 0.841621) * spread, rel=1e-6)


def test_pass_at_k_counts_choices_of_k_samples() -> None:
    tasks = {"t0": [1, 0, 0, 1], "t1": [0, 0, 0, 0], "t2": [1, 1, 1, 0, 1]}
    logs = arms(a={task: list(own) for task, own in tasks.items()})
    (found,) = compared(logs).arms.values()
    assert list(found.pass_at) == list(found.pass_hat) == [2, 4, 5]
    for k in (2, 4):
        chosen = [list(combinations(own, k)) for own in tasks.values()]
        for of, means in ((any, found.pass_at), (all, found.pass_hat)):
            assert means[k].value == pytest.approx(np.mean([np.mean([of(one) for one in own]) for own in chosen]))
    assert found.pass_at[5] == (1.0, wilson(1, 1), 1)
    assert list(compare(logs, ks=(1, 5, 6), resampling=FEW).arms["a"].pass_at) == [1, 5]


def test_holm_adjusts_a_metric_over_all_rows() -> None:
    a, b, c = once(*[0.1] * 8), once(*[0.1] * 7, 0.9), once(*[0.9] * 8)
    found = compared(arms(a=a, b=b, c=c), success_at=0.5)
    for metric in ("success", "score"):
        tests = [difference_of(found, name, metric) for name in "bc"]
        assert [one.p_holm for one in tests] == holm([one.p for one in tests])
        assert tests[1].p_holm == pytest.approx(2 * 2 / 2**8)


def test_errors_are_left_out_or_wrong_or_as_scored() -> None:
    a: Scores = {"t0": [1, "Timeout"], "t1": ["Timeout", "Crash"], "t2": [0, None]}
    found = compared(arms(a=a, b={"t0": [1, 1], "t1": [1, 1], "t2": [0, 0]}))
    own, difference = found.arms["a"], found.differences["b"]
    assert (own.n_tasks, own.n_samples, own.n_errored, success(found).value) == (2, 2, 4, 0.5)
    assert own.errors == {"Crash": 1, "Timeout": 2, "unscored": 1}
    assert (difference.n_pairs, difference.only_own, difference.only_baseline) == (2, ("t1",), ())
    wrong = compared(arms(a=a), errors="wrong")
    assert (wrong.arms["a"].n_tasks, wrong.arms["a"].n_samples, wrong.arms["a"].n_errored) == (3, 6, 4)
    assert success(wrong).value == pytest.approx(0.5 / 3)
    logs = arms(a={"t0": [1], "t1": ["Timeout"]})
    logs.samples.append(TaskSample("t2", "a", "0", {"score": SampleScore(0.0)}, error="Crash"))
    assert compared(logs).arms["a"].n_samples == 1
    scored = compared(logs, errors=SCORED)
    own = scored.arms["a"]
    assert (own.n_samples, own.n_errored, own.n_scored_errors, success(scored).value) == (2, 2, 1, 0.5)


def test_tasks_without_a_pair_are_named() -> None:
    found = compared(arms(a=once(1, 0, 1), b={"t1": [1], "t9": [0]})).differences["b"]
    assert (found.n_pairs, found.only_own, found.only_baseline, found.neither) == (1, ("t9",), ("t0", "t2"), ())
    assert found.n_unpaired == 3
    crashed: Scores = {"t0": [1], "t1": ["Crash"]}
    found = compared(arms(a=crashed, b=crashed)).differences["b"]
    assert (found.n_pairs, found.neither) == (1, ("t1",))


def test_tasks_of_one_name_that_ask_for_something_else_are_paired_by_name_only() -> None:
    logs = Samples(score="score", parts={"a": {"arm": "a"}, "b": {"arm": "b"}})
    for arm, (task, prompt) in product("ab", (("t0", "the same"), ("t1", "other"))):
        content = task_content(task, prompt if task == "t0" else prompt + arm)
        logs.samples.append(TaskSample(task, arm, "0", {"score": SampleScore(1.0)}, content=content))
    found = compared(logs).differences["b"]
    assert (found.n_pairs, found.only_own, found.only_baseline, found.reworded) == (1, ("t1",), ("t1",), ("t1",))
    found = compared(logs, pair_by="id").differences["b"]
    assert (found.n_pairs, found.n_unpaired, found.reworded) == (2, 0, ())


def test_arms_that_share_tasks_are_compared_with_the_first_of_them() -> None:
    other: Scores = {"u0": [1], "u1": [0]}
    found = compared(arms(a=once(1, 0), x=other, b=once(0, 1), y=other, alone={"v": [1]}))
    assert {name: one.baseline for name, one in found.differences.items()} == {"b": "a", "y": "x"}
    assert found.alone == ["alone"]
    linked = compared(arms(a={"t0": [1]}, b={"t1": [1]}, c={"t0": [0], "t1": [0]})).differences
    assert {name: (one.baseline, one.n_pairs) for name, one in linked.items()} == {"b": ("a", 0), "c": ("a", 1)}
    assert linked["b"].success is None


def test_the_baseline_can_be_an_arm_or_a_part_of_one() -> None:
    logs = arms(a=once(1, 0), b=once(0, 1), x={"u": [1]}, y={"u": [0]})
    logs.parts |= {"b": {"model": "large"}, "y": {"model": "large"}}
    for asked, expected in (("b", {"a": "b", "y": "x"}), ("large", {"a": "b", "x": "y"})):
        found = compared(logs, baseline=asked).differences
        assert {name: one.baseline for name, one in found.items()} == expected
    logs.parts["a"] = {"model": "large"}
    with pytest.raises(ValueError, match="got 'large', which fits a, b; name the whole arm"):
        compared(logs, baseline="large")


def test_success_is_what_all_samples_say_or_scores_of_0_and_1() -> None:
    assert success(compared(arms(a=once(1, 0)))).value == 0.5
    found = compared(arms(a=once(1, 0.5)))
    assert (found.arms["a"].success, found.is_success_only) == (None, False)
    assert success(compared(arms(a=once(1, 0.5, 0.4)), success_at=0.5)).value == pytest.approx(2 / 3)
    logs = arms(a=once(0.5, 0.25))
    logs.samples.append(TaskSample("t9", "a", "0", {"score": SampleScore(0.75, 1.0)}))
    assert compared(logs).arms["a"].success is None, "only some samples say it"
    marks = {"C": SampleScore(1.0, 1.0), "P": SampleScore(0.5, 0.0), "I": SampleScore(0.0, 0.0)}
    logs = Samples(score="score", parts={"a": {}})
    logs.samples = [TaskSample(name, "a", "0", {"score": mark}) for name, mark in marks.items()]
    own = compared(logs).arms["a"]
    assert (success(compared(logs)).value, own.score.value) == (pytest.approx(1 / 3), 0.5)
    records = [EpisodeRecord("", "E", f"t{place}", "s", 0, reward=float(place % 2)) for place in range(4)]
    runs = compare(samples_of({"a": records, "b": records}), resampling=FEW).arms["a"]
    assert runs.success is None, "episodes of ours say it themselves"
    assert runs.score is not None


def test_a_score_is_known_by_the_end_of_its_name_and_a_difference_that_is_rounding_is_none() -> None:
    sample = TaskSample("t", "a", "0", {"match": SampleScore(1.0), "parts.right": SampleScore(0.0)})
    assert compared(Samples(parts={"a": {}}, samples=[sample]), score="right").score == "parts.right"
    score = difference_of(compared(arms(a={"t": [0.1, 0.2]}, b={"t": [0.3, 0.0]}), success_at=1), metric="score")
    assert (score.won, score.lost, score.value) == ((), (), 0.0)


def test_one_task_says_little() -> None:
    found = compared(arms(a={"t": [1, 0]}, b={"t": [1, 1]}))
    assert found.arms["b"].score.interval_95 == wilson(1, 1)
    own = difference_of(found)
    assert (own.interval_95, own.detectable, own.p) == (paired_interval([0.5]), None, 1.0)
    assert own.interval_95.high - own.interval_95.low > 1.9
    # So do tasks that all differ by the same, if scores are between 0 and 1.
    own = difference_of(compared(arms(a=once(0.5, 0.25), b=once(1, 0.75))), metric="score")
    assert (own.interval_95, own.detectable) == (paired_interval([0.5, 0.5]), detectable_mean([0.5, 0.5]))
    assert own.interval_95.low < 0.1
    # How much scores of another range may vary is not known.
    points = difference_of(compared(arms(a=once(50, 25), b=once(100, 75))), metric="score")
    assert (points.value, points.interval_95, points.detectable) == (50.0, (50.0, 50.0), None)


def own(seeds: dict[str, Sequence[float]], failed: Sequence[tuple[str, int]] = ()) -> list[EpisodeRecord]:
    """Task -> its success with the seeds 0, 1 ..."""
    made = [EpisodeRecord("", "E", task, "s", seed, success=value, reward=value)
            for task, values in seeds.items() for seed, value in enumerate(values)]  # fmt: skip
    return [replace(one, error_kind="crash" * ((one.task_id, one.seed) in failed)) for one in made]


def test_a_pair_is_a_task_whatever_its_seeds() -> None:
    base = own({f"t{place}": [0, 0, 0] for place in range(8)})
    better = own({f"t{place}": [1, 1, 0] if place < 6 else [0, 0, 0] for place in range(8)})
    found: Any = differences({"base": base, "x": better}, {"x": "base"})["x"]
    assert (found.n_pairs, found.success.value) == (8, 0.5)
    assert (found.success.won, found.success.test) == (tuple(f"t{place}" for place in range(6)), "sign-flip")
    assert found.success.p == found.success.p_holm == pytest.approx(2 / 64)
    assert found.success.interval_95 == bootstrap_mean([2 / 3] * 6 + [0.0] * 2)
    # The seeds of a task are drawn alike in all arms, so equal methods do not differ because one of them failed.
    solved = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]}
    found = differences({"base": own(solved), "x": own(solved, [("a", 1)])}, {"x": "base"})["x"]
    assert (found.n_pairs, found.success.value, found.success.won) == (3, 0.0, ())


def test_the_order_of_samples_changes_nothing() -> None:
    a, b = once(*[0.2, 0.9, 0.4, 0.7, 0.1]), once(*[0.5, 0.6, 0.9, 0.7, 0.8])
    turned = arms(a=a, b=b)
    turned.samples.reverse()
    one, other = compared(arms(a=a, b=b)), compared(turned)
    assert (one.arms, one.differences) == (other.arms, other.differences)

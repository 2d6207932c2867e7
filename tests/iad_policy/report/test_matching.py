"""Curves of strategies, and strategies at equal spending: by hand, and where no comparison is possible."""

from dataclasses import replace
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers the environment)
from iad_policy.errors import UnknownName
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.curves import Curve, Point, common_range, compared, crossings, curves, spent_on
from iad_policy.report.matching import matched
from iad_policy.report.statistics import Interval, paired_interval, wilson


def episode(task: str, success: float, proposals: float, *, seed: int = 0, usd: float = 0.0) -> EpisodeRecord:
    usage = {"agent": {"proposals": proposals, "usd": usd}}
    return EpisodeRecord("k", "E", task, "s", seed, success=success, reward=success / 2, usage=usage)


def line(*points: tuple[float, float], n_tasks: int = 10) -> dict[float, list[EpisodeRecord]]:
    """Return episodes of n = 1, 2 ... whose mean success and spending are these points."""
    return {
        n: [episode(f"t{task}", float(task < round(success * n_tasks)), spent) for task in range(n_tasks)]
        for n, (spent, success) in enumerate(points, start=1)
    }


def test_curves_are_read_at_the_baselines_spending_by_hand() -> None:
    lines = {"base": line((2, 0.2), (6, 0.4), (10, 0.5)), "own": line((4, 0.3), (8, 0.7)), "one": line((2, 0.2))}
    found = matched(lines, "base", n_resamples=200)
    assert found.budgets == pytest.approx((2.0, 6.0, 10.0))
    assert (found.settings, found.n_tasks, found.n_left_out) == ((1, 2, 3), 10, 0)
    assert [None if one is None else round(one.value, 9) for one in found.at["own"]] == [None, 0.5, None]
    between: Any = found.at["own"][1]
    assert between.difference == pytest.approx(0.1)
    assert between.difference_95.low < 0.1 < between.difference_95.high
    assert [one is None for one in found.at["one"]] == [False, True, True]
    own = {name: one and (one.budget, round(one.value, 9), round(one.difference, 9)) for name, one in found.own.items()}
    assert own == {"base": None, "own": (8.0, 0.7, 0.25), "one": (2.0, 0.2, 0.0)}
    assert matched({**lines, "more": line((12, 0.9))}, "base", n_resamples=50).own["more"] is None
    assert [one is not None and one.difference for one in found.at["base"]] == [0.0, 0.0, 0.0]


def test_where_all_tasks_are_alike_intervals_have_some_width() -> None:
    base, own = line((1, 0.0), (4, 0.0)), line((1, 0.0), (5, 0.0))
    found: Any = matched({"base": base, "own": own, "same": {1: base[1]}}, "base", n_resamples=50).at
    assert {(at.interval, at.difference_95) for at in found["own"]} == {(wilson(0, 10), paired_interval([0.0] * 10))}
    assert [one.difference_95 for one in found["base"]] == [(0.0, 0.0)] * 2
    assert found["same"][0].difference_95 == (0.0, 0.0), "the same episodes are equal by construction"
    # How much rewards of another range may vary is not known.
    lines = {"base": base, "own": {n: [replace(one, reward=7.0) for one in ones] for n, ones in own.items()}}
    rewards: Any = matched(lines, "base", metric="reward", n_resamples=50).at["own"][0]
    assert (*rewards.interval, *rewards.difference_95) == pytest.approx((7.0, 7.0, 7.0, 7.0))


def test_the_cost_of_the_baselines_best_value_by_hand() -> None:
    lines = {"base": line((2, 0.2), (10, 0.5)), "own": line((4, 0.3), (8, 0.7)), "bad": line((2, 0.1), (9, 0.2))}
    costs: Any = matched(lines, "base", n_resamples=200).costs
    assert {one.level for one in costs.values()} == {0.5}
    assert [costs[name].spent for name in lines] == [10.0, pytest.approx(6.0), None]
    assert costs["bad"].high is None
    assert 4.0 <= costs["own"].low <= 6.0 <= costs["own"].high <= 8.0
    falling = {"base": line((1, 0.0), (9, 0.4)), "own": line((2, 0.6), (4, 0.2), (8, 0.8))}
    assert matched(falling, "base", n_resamples=50).costs["own"].spent == 2.0


def test_seeds_of_a_task_are_one_observation_and_tasks_of_some_arms_are_left_out() -> None:
    def doubled(own: dict[float, list[EpisodeRecord]]) -> dict[float, list[EpisodeRecord]]:
        return {n: [*episodes, *(replace(one, seed=1) for one in episodes)] for n, episodes in own.items()}

    lines = {"base": line((2, 0.2), (6, 0.4)), "own": line((2, 0.3), (8, 0.7))}
    once = matched(lines, "base", n_resamples=300)
    twice = matched({name: doubled(own) for name, own in lines.items()}, "base", n_resamples=300)
    assert once == twice
    lines["own"][2] = [one if one.task_id != "t3" else replace(one, error_kind="timeout") for one in lines["own"][2]]
    found = matched(lines, "base", n_resamples=50)
    assert (found.n_tasks, found.n_left_out) == (9, 1)


def test_what_cannot_be_matched_is_said() -> None:
    lines = {"base": line((2, 0.2), (6, 0.4)), "own": line((2, 0.3))}
    unpriced = [replace(episode("t1", 1.0, 2), usage={"agent": {"proposals": 1, "n_unpriced": 1}})]
    for given, baseline, axis, said in (
        (lines, "base", "seconds", "seconds"),
        (lines, "own", "proposals", "several n to match proposals"),
        (lines, "base", "tokens", "spend tokens"),
        ({**lines, "own": {1: [episode("elsewhere", 1.0, 2)]}}, "base", "proposals", "episode of every arm"),
        ({"base": {1: unpriced, 2: unpriced}}, "base", "usd", "price of every call"),
    ):
        with pytest.raises((ValueError, UnknownName), match=said):
            matched(given, baseline, axis=axis)  # type: ignore[arg-type]


def curve(name: str, *points: tuple[float, float]) -> Curve:
    made = (Point(place, x, y, Interval(y, y), 1) for place, (x, y) in enumerate(points))
    return Curve(name, "success", "proposals", tuple(made))


FLAT = curve("flat", (1, 0.5), (9, 0.5))


def spending(task: str, success: float | None, proposals: int) -> EpisodeRecord:
    agent = {"proposals": proposals, "prompt_tokens": 7}
    usage = {"agent": agent, "verifier": {"verifications": 2}, "critic": {"asks": 1}}
    return EpisodeRecord("k", "E", task, "iad", 0, success=success, progress=0.5, usage=usage)


def test_a_curve_leaves_out_what_failed_and_its_metric_is_known() -> None:
    """What else a curve has is in the summaries that test_metrics.py holds to files."""
    failed = {"a": "", "c": "timeout"}
    records = {
        1: [replace(spending(task, task == "a", 1), error_kind=kind) for task, kind in failed.items()],
        2: [replace(spending("a", 1.0, 3), error_kind="timeout")],
        4: [spending("a", 1.0, 6), spending("b", 1.0, 2)],
    }
    found = {one.axis: one for one in curves("iad", records, metric="success")}["proposals"]
    points = [(point.setting, point.spent, point.value, point.n_episodes) for point in found.points]
    assert points == [(1, 1.0, 1.0, 1), (4, 4.0, 1.0, 2)]
    assert found.points[1].interval == wilson(2, 2)
    assert [spent_on(records[4][0], axis) for axis in ("calls", "tokens", "simulations")] == [9.0, 7.0, 0.0]
    with pytest.raises(ValueError, match="'speed'"):
        curves("iad", {}, metric="speed")


def test_curves_are_compared_over_what_all_reach_by_hand() -> None:
    low, high = curve("low", (1, 0.2), (3, 0.4), (7, 0.4)), curve("high", (2, 0.5), (5, 0.8))
    found: Any = compared([curve("a point is no curve", (1, 0.3)), low, high])
    assert (found.low, found.high) == common_range([low, high]) == (2, 5)
    assert found.areas == pytest.approx({"low": (0.35 * 1 + 0.4 * 2) / 3, "high": 0.65})
    crossed: Any = compared([FLAT, curve("rise", (2, 0.4), (6, 0.6))])
    assert crossed.crossings == [("flat", "rise", pytest.approx(4.0))]
    assert common_range([low, curve("point", (3, 1.0))]) is common_range([low, curve("none")]) is None
    assert compared([curve("single", (1, 0.3)), FLAT]) is None
    with pytest.raises(ValueError, match="within the curve of flat, 1 to 9, got 10"):
        FLAT.at(10)


@pytest.mark.parametrize(
    ("points", "at"),
    [
        (((1, 0.4), (5, 0.6)), [3.0]),
        (((1, 0.4), (3, 0.6), (5, 0.4)), [2.0, 4.0]),
        (((1, 0.4), (3, 0.5), (5, 0.4)), []),  # it only touches
        (((1, 0.4), (3, 0.5), (5, 0.6)), [3.0]),
        (((1, 0.5), (9, 0.5)), []),
        (((20, 0.1), (30, 0.9)), []),
    ],
)
def test_crossings_are_where_the_order_changes_by_hand(points: tuple[tuple[float, float], ...], at: Any) -> None:
    assert crossings(curve("own", *points), FLAT) == pytest.approx(at)

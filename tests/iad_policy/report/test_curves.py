from dataclasses import replace
from typing import Any

import pytest

from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.curves import Curve, Point, common_range, compared, crossings, curves, spent_on
from iad_policy.report.statistics import Interval, wilson


def line(name: str, *points: tuple[float, float]) -> Curve:
    made = (Point(place, x, y, Interval(y, y), 1) for place, (x, y) in enumerate(points))
    return Curve(name, "success", "proposals", tuple(made))


def episode(task: str, success: float | None, proposals: int) -> EpisodeRecord:
    agent = {"proposals": proposals, "prompt_tokens": 7}
    usage = {"agent": agent, "verifier": {"verifications": 2}, "critic": {"asks": 1}}
    return EpisodeRecord("k", "E", task, "iad", 0, success=success, progress=0.5, usage=usage)


FLAT = line("flat", (1, 0.5), (9, 0.5))


def test_a_curve_leaves_out_what_failed_and_its_metric_is_known() -> None:
    """What else a curve has is in the summaries that test_metrics.py holds to files."""
    failed = {"a": "", "c": "timeout"}
    records = {
        1: [replace(episode(task, task == "a", 1), error_kind=kind) for task, kind in failed.items()],
        2: [replace(episode("a", 1.0, 3), error_kind="timeout")],
        4: [episode("a", 1.0, 6), episode("b", 1.0, 2)],
    }
    found = {one.axis: one for one in curves("iad", records, metric="success")}["proposals"]
    points = [(point.setting, point.spent, point.value, point.n_episodes) for point in found.points]
    assert points == [(1, 1.0, 1.0, 1), (4, 4.0, 1.0, 2)]
    assert found.points[1].interval == wilson(2, 2)
    assert [spent_on(records[4][0], axis) for axis in ("calls", "tokens", "simulations")] == [9.0, 7.0, 0.0]
    with pytest.raises(ValueError, match="'speed'"):
        curves("iad", {}, metric="speed")


def test_curves_are_compared_over_what_all_reach_by_hand() -> None:
    low, high = line("low", (1, 0.2), (3, 0.4), (7, 0.4)), line("high", (2, 0.5), (5, 0.8))
    found: Any = compared([line("a point is no curve", (1, 0.3)), low, high])
    assert (found.low, found.high) == common_range([low, high]) == (2, 5)
    assert found.areas == pytest.approx({"low": (0.35 * 1 + 0.4 * 2) / 3, "high": 0.65})
    crossed: Any = compared([FLAT, line("rise", (2, 0.4), (6, 0.6))])
    assert crossed.crossings == [("flat", "rise", pytest.approx(4.0))]
    assert common_range([low, line("point", (3, 1.0))]) is common_range([low, line("none")]) is None
    assert compared([line("single", (1, 0.3)), FLAT]) is None
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
    assert crossings(line("own", *points), FLAT) == pytest.approx(at)

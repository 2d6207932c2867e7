"""A picture has what was measured here, and beside it the paper's numbers, each arm at the same place."""

import sys
from pathlib import Path
from typing import Any

import pytest

from iad_policy.errors import MissingExtra
from iad_policy.report.arm_pictures import draw_pictures


def arm(value: float, n: int = 1) -> dict[str, Any]:
    around = [value - 0.1, value + 0.1]
    return {"n": n, "success": value, "success_95": around, "reward": 0.9, "reward_95": None, "proposals": 2.0 * n}


def picture(arms: dict[str, float | None], x: str = "", **others: str) -> dict[str, Any]:
    return {"title": "t", "arms": arms, "published": "in per cent", "metric": "success", "x": x, **others}


def record(*pictures: dict[str, Any]) -> dict[str, Any]:
    arms = {"single": arm(0.3), "bon, n = 2": arm(0.4, 2), "iad, n = 2": arm(0.5, 2), "iad, n = 4": arm(0.6, 4)}
    return {"title": "IAD", "env": "E", "n_tasks": 3, "seeds": [0], "arms": arms, "pictures": list(pictures)}


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures as matplotlib has them when they are written."""
    kind: Any = pytest.importorskip("matplotlib.figure").Figure
    written: list[Any] = []
    save = kind.savefig
    monkeypatch.setattr(kind, "savefig", lambda own, *given, **asked: (written.append(own), save(own, *given, **asked)))
    return written


def test_bars_have_our_intervals_and_the_papers_numbers(figures: list[Any], tmp_path: Path) -> None:
    first = picture({"single": 20.5, "bon, n = 2": None, "iad, n = 4": 40.0})
    without = picture({"single": None, "iad, n = 4": None}, published="published as a curve", metric="reward")
    line = picture({"iad, n = 2": 24.0, "iad, n = 4": 25.0}, "n")
    paths = draw_pictures(record(first, without, line), tmp_path / "figure")
    assert [path.name for path in paths][:2] == ["figure-1.png", "figure-1.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    here, published = figures[0].axes
    assert [bar.get_width() for bar in here.patches] == [0.3, 0.4, 0.6]
    assert [text.get_text() for text in here.get_yticklabels()] == ["single", "bon, n = 2", "iad, n = 4"]
    (ends,) = [lines.get_segments() for lines in here.collections]
    assert [(round(a[0], 3), round(b[0], 3)) for a, b in ends] == [(0.2, 0.4), (0.3, 0.5), (0.5, 0.7)]
    assert [(bar.get_y() + bar.get_height() / 2, bar.get_width()) for bar in published.patches] == [(0, 20.5), (2, 40)]
    assert [text.get_text() for text in published.get_yticklabels()] == ["single", "", "iad, n = 4"]
    assert [text.get_text() for text in published.texts] == ["20.5", "40"]
    assert (published.get_xlabel(), [*published.collections]) == ("in per cent", [])  # which has no intervals
    assert here.get_ylim() == published.get_ylim()
    here, published = figures[2].axes  # without numbers ours is drawn alone
    assert [bar.get_width() for bar in here.patches] == [0.9, 0.9]
    assert ([text.get_text() for text in published.texts], [*published.patches]) == (["published as a curve"], [])
    assert [axes.get_legend() for axes in figures[4].axes] == [None, None], "a single line needs none"


@pytest.mark.parametrize(("x", "places"), [("n", [2, 4]), ("proposals", [4, 8])])
def test_arms_that_differ_by_n_are_points_of_a_line(x: str, places: Any, figures: list[Any], tmp_path: Path) -> None:
    arms = {"single": None, "bon, n = 2": 21.0, "iad, n = 2": 24.0, "iad, n = 4": 25.0}
    draw_pictures(record(picture(arms, x)), tmp_path / "figure")
    here, published = ({one.get_label(): one[0] for one in axes.containers} for axes in figures[0].axes)
    ours = {name: list(line.get_ydata()) for name, line in here.items()}
    assert ours == {"single": [0.3], "bon": [0.4], "iad": [0.5, 0.6]}
    assert list(here["iad"].get_xdata()) == list(published["iad"].get_xdata()) == places
    assert list(published["iad"].get_ydata()) == [24.0, 25.0]
    assert here["iad"].get_color() == published["iad"].get_color()
    legend = [text.get_text() for text in figures[0].axes[1].get_legend().get_texts()]
    assert legend == ["bon", "iad"]  # and not the arm that the paper has no number for


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"\[plots\]"):
        draw_pictures(record(picture({"single": 1.0})), tmp_path / "figure")

import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy.errors import MissingExtra, UnknownName
from iad_policy.evaluation import evaluate
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report import paper_figures
from iad_policy.report.arm_pictures import draw_pictures
from iad_policy.report.figures import Heading
from iad_policy.report.paper_figures import FIGURES, Sweep, sweep_figures
from iad_policy.report.results import Results
from iad_policy.run.config import RunConfig
from iad_policy.types.names import SPARSITY
from tests.iad_policy.report.snapshots import require_snapshot

SHOP = "IAD/WebShop-v0"


def made_up(env: str, strategies: Sequence[str], *, out: Path, tasks: int, n: Any, **given: Any) -> Results:
    """Stands in for `evaluate`: each arm solves the first half of the tasks."""
    agent, verifier = given.get("agent") or "shopper", given["verifier"] or "proxy"
    config = RunConfig(env, agent, verifier, tuple(strategies), n=n, tasks=tasks)
    label = "oracle" if config.verifier[0].startswith("oracle") else "proxy"
    results = Results(Heading(config, label, tasks, {}))
    for arm, task in product(config.arms, range(tasks)):
        solved = float(task < tasks / 2)
        facts = {"success": solved, "progress": solved, "reward": solved, "reward_parts": {"r_att": solved}}
        facts |= {"agent": arm.agent, "verifier": arm.verifier, "n": arm.n}
        results.add(EpisodeRecord("k", env, f"t{task}", arm.strategy, 0, **facts))  # type: ignore[arg-type]
    return results


def test_the_points_of_every_figure_are_those_that_were_looked_at(tmp_path: Path, monkeypatch: Any) -> None:
    """Each has the table's interval; the axes and labels say what was varied, and which needs an oracle."""
    monkeypatch.setattr(paper_figures, "draw", lambda *_: [])
    sweep = Sweep(made_up, SHOP, tmp_path, tasks=4, ns=(1, 2), weak="shopper:2", parts=("r_att",))
    list(sweep_figures(list(FIGURES), sweep))
    drawn = {name: json.loads((tmp_path / f"figure-{name}.json").read_text()) for name in FIGURES}
    require_snapshot("figures.json", drawn)
    for line in (line for one in drawn.values() for panel in one["panels"] for line in panel["lines"].values()):
        assert line
        assert all(mark["interval"][0] < mark["value"] < mark["interval"][1] for mark in line if mark["value"] == 0.5)


@pytest.mark.slow
def test_a_sweep_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep(evaluate, SHOP, tmp_path, tasks=1, ns=(1,))
    _, png, svg = sweep_figures(["14"], sweep)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in svg.read_bytes()[:1000]
    before = {path: path.read_bytes() for path in tmp_path.glob("*/episodes.jsonl")}
    monkeypatch.setattr(paper_figures, "draw", lambda *_: [])
    list(sweep_figures(["14"], sweep))
    assert len(before) == len(SPARSITY)
    assert {path: path.read_bytes() for path in tmp_path.glob("*/episodes.jsonl")} == before


def test_an_unknown_figure_runs_nothing(tmp_path: Path) -> None:
    for names, given, said in (
        (["3", "9"], {}, "known: 14, 3, 4"),
        (["3"], {"metric": "speed"}, "progress, reward, success"),
        (["3", "5"], {}, "parts of the reward for figure 5"),
    ):
        with pytest.raises((UnknownName, ValueError), match=said):
            list(sweep_figures(names, Sweep(evaluate, SHOP, tmp_path, **given)))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


# Pictures of a comparison have what was measured here, and beside it the paper's numbers, each arm at the same place.


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

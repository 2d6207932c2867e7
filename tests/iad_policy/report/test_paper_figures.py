import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy.errors import UnknownName
from iad_policy.evaluation import evaluate
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report import paper_figures
from iad_policy.report.figures import Heading
from iad_policy.report.paper_figures import FIGURES, Sweep, sweep_figures
from iad_policy.report.results import Results
from iad_policy.run.config import RunConfig
from iad_policy.types.names import SPARSITY

SHOP = "IAD/WebShop-v0"


def made_up(env: str, strategies: Sequence[str], *, out: Path, tasks: int, n: Any, **given: Any) -> Results:
    """Stands in for `evaluate`: each arm solves the first half of the tasks."""
    config = RunConfig(
        env, given.get("agent") or "shopper", given["verifier"] or "proxy", tuple(strategies), n=n, tasks=tasks
    )
    label = "oracle" if config.verifier[0].startswith("oracle") else "proxy"
    results = Results(Heading(config, label, tasks, {}))
    for arm in config.arms:
        for task in range(tasks):
            solved = float(task < tasks / 2)
            facts = {"success": solved, "progress": solved, "reward": solved, "reward_parts": {"r_att": solved}}
            results.add(
                EpisodeRecord(
                    "k", env, f"t{task}", arm.strategy, 0, agent=arm.agent, verifier=arm.verifier, n=arm.n, **facts
                )
            )
    return results


def drawn(path: Path, name: str) -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads((path / f"figure-{name}.json").read_text())["panels"]
    return panels


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The points of all figures, which are not drawn."""
    out = tmp_path_factory.mktemp("figures")
    sweep = Sweep(made_up, SHOP, out, tasks=4, ns=(1, 2), weak="shopper:2", parts=("r_att",))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper_figures, "draw", lambda *_: [])
        list(sweep_figures(list(FIGURES), sweep))
    return out


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_the_tables_interval_at_each_point(name: str, figures: Path) -> None:
    panels = drawn(figures, name)
    assert panels
    for panel in panels:
        marks = [mark for line in panel["lines"].values() for mark in line]
        assert marks
        assert all(panel["lines"].values())
        assert all(
            (mark["value"], mark["n_episodes"]) == (0.5, 4) for mark in marks if panel["title"][-7:] != "1 tasks"
        )
        assert all(mark["interval"][0] < mark["value"] < mark["interval"][1] for mark in marks if mark["value"] == 0.5)


def test_the_axes_and_labels_say_what_was_varied(figures: Path) -> None:
    sparse, noisy, *_ = drawn(figures, "7")
    assert [mark["x"] for mark in sparse["lines"]["iad"]] == list(range(len(SPARSITY)))
    assert list(sparse["ticks"].values()) == list(SPARSITY)
    assert [mark["x"] for mark in noisy["lines"]["bon"]] == [0.0, 0.1, 0.2, 0.4, 0.8]
    assert {panel["information"] for panel in drawn(figures, "5")} == {"oracle"}
    assert "oracle" in json.loads((figures / "figure-5.json").read_text())["title"]


def test_figure_4_has_accuracy_majority_and_pass_at_k(figures: Path) -> None:
    accuracy, best = drawn(figures, "4")
    assert list(accuracy["lines"]) == ["bon", "bon-sc", "iad"]
    assert list(best["lines"]) == ["bon", "iad"]
    assert (accuracy["information"], best["information"]) == ("proxy", "oracle")


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
    with pytest.raises(UnknownName, match="known: 14, 3, 4"):
        list(sweep_figures(["3", "9"], Sweep(evaluate, SHOP, tmp_path)))
    with pytest.raises(UnknownName, match="progress, reward, success"):
        list(sweep_figures(["3"], Sweep(evaluate, SHOP, tmp_path, metric="speed")))
    with pytest.raises(ValueError, match="parts of the reward for figure 5"):
        list(sweep_figures(["3", "5"], Sweep(evaluate, SHOP, tmp_path)))
    assert list(tmp_path.iterdir()) == []

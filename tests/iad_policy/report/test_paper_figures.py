import json
from collections.abc import Sequence
from itertools import product
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


def test_the_points_of_every_figure_are_those_that_were_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has the table's interval; the axes and labels say what was varied, and which needs an oracle."""
    monkeypatch.setattr(paper_figures, "draw", lambda *_: [])
    sweep = Sweep(made_up, SHOP, tmp_path, tasks=4, ns=(1, 2), weak="shopper:2", parts=("r_att",))
    list(sweep_figures(list(FIGURES), sweep))
    drawn = {name: json.loads((tmp_path / f"figure-{name}.json").read_text()) for name in FIGURES}
    require_snapshot("figures.json", drawn)
    for line in (line for one in drawn.values() for panel in one["panels"] for line in panel["lines"].values()):
        assert line
        assert all(mark["interval"][0] < mark["value"] < mark["interval"][1] for mark in line if mark["value"] == 0.5)


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

import json
from pathlib import Path

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy.errors import UnknownName
from iad_policy.evaluate import evaluate
from iad_policy.report.paper_figures import FIGURES, Sweep, sweep_figures
from iad_policy.types.names import SPARSITY

SHOP = "IAD/WebShop-v0"


def drawn(path: Path, name: str) -> list[dict]:
    return json.loads((path / f"figure-{name}.json").read_text())["panels"]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_with_an_interval_at_each_point(name: str, tmp_path: Path) -> None:
    sweep = Sweep(evaluate, SHOP, tmp_path, tasks=2, ns=(1, 2), weak="shopper:2", parts=("r_att",))
    written = list(sweep_figures([name], sweep))
    assert [path.suffix for path in written] == [".json", ".png", ".svg"]
    assert written[1].read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in written[2].read_bytes()[:1000]
    panels = drawn(tmp_path, name)
    assert panels
    for panel in panels:
        assert panel["lines"]
        for marks in panel["lines"].values():
            assert marks
            assert all(mark["interval"][0] <= mark["value"] <= mark["interval"][1] for mark in marks)


def test_a_part_of_the_reward_as_the_verifier_is_labelled_an_oracle(tmp_path: Path) -> None:
    list(sweep_figures(["5"], Sweep(evaluate, SHOP, tmp_path, tasks=1, ns=(1,), parts=("r_att",))))
    assert {panel["information"] for panel in drawn(tmp_path, "5")} == {"oracle"}
    assert "oracle" in json.loads((tmp_path / "figure-5.json").read_text())["title"]


def test_noise_and_sparsity_stand_on_the_horizontal_axis(tmp_path: Path) -> None:
    list(sweep_figures(["7"], Sweep(evaluate, SHOP, tmp_path, tasks=1, ns=(1, 2))))
    sparse, noisy, *_ = drawn(tmp_path, "7")
    assert [mark["x"] for mark in sparse["lines"]["iad"]] == list(range(len(SPARSITY)))
    assert list(sparse["ticks"].values()) == list(SPARSITY)
    assert [mark["x"] for mark in noisy["lines"]["bon"]] == [0.0, 0.1, 0.2, 0.4, 0.8]


def test_a_sweep_goes_on_where_it_stopped(tmp_path: Path) -> None:
    sweep = Sweep(evaluate, SHOP, tmp_path, tasks=2, ns=(1, 2))
    list(sweep_figures(["14"], sweep))
    before = {path: path.read_bytes() for path in tmp_path.glob("*/episodes.jsonl")}
    list(sweep_figures(["14"], sweep))
    assert len(before) == len(SPARSITY)
    assert {path: path.read_bytes() for path in tmp_path.glob("*/episodes.jsonl")} == before


def test_an_unknown_figure_runs_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="known: 14, 3"):
        list(sweep_figures(["3", "9"], Sweep(evaluate, SHOP, tmp_path)))
    with pytest.raises(UnknownName, match="progress, reward, success"):
        list(sweep_figures(["3"], Sweep(evaluate, SHOP, tmp_path, metric="speed")))
    with pytest.raises(ValueError, match="parts of the reward for figure 5"):
        list(sweep_figures(["3", "5"], Sweep(evaluate, SHOP, tmp_path)))
    assert list(tmp_path.iterdir()) == []

"""Our own run folders give the figures that `iad compare` printed for them."""

import json
import shutil
from pathlib import Path

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.report.compare import Comparison, compare
from iad_policy.report.other_logs import read_logs
from iad_policy.report.samples import CountingRules

FOLDERS = Path(__file__).parents[3] / "fixtures" / "run_folders"


def compared(*folders: Path, score: str = "", baseline: str = "") -> Comparison:
    return compare(read_logs("runs", folders), CountingRules(score=score), baseline=baseline)


@pytest.mark.parametrize("name", ["webshop", "bash", "bird", "sketch2code"])
def test_the_figures_are_those_of_the_summary(name: str) -> None:
    summary = json.loads((FOLDERS / name / "summary.json").read_bytes())
    found = compared(FOLDERS / name, baseline=summary["baseline"])
    assert set(found.arms) == set(summary["strategies"])
    for row, theirs in summary["strategies"].items():
        ours = found.arms[row]
        for metric, mean in (("success", ours.success), ("progress", ours.score)):
            assert mean is not None
            assert mean.value == pytest.approx(theirs[metric])
            assert mean.n_tasks == 1 or mean.interval_95 == pytest.approx(theirs[f"{metric}_95"])
    for row, theirs in summary["differences"].items():
        own = found.differences[row]
        assert own.success is not None
        score = own.progress or own.success  # success alone, where progress says the same
        assert (own.success.value, own.success.p) == pytest.approx((theirs["success"], theirs["p_mcnemar"]))
        assert (score.value, score.p) == pytest.approx((theirs["progress"], theirs["p_progress"]))
        assert (own.success.won, own.success.lost) == (tuple(theirs["won"]), tuple(theirs["lost"]))


def test_rows_of_several_runs_are_compared_on_the_tasks_that_they_share(tmp_path: Path) -> None:
    for name, strategy in (("alone", "single"), ("chosen", "bon")):
        evaluate("IAD/WebShop-v0", strategy, tasks=4, n=2, out=tmp_path / name)
    evaluate("IAD/InterCodeBash-v0", "single", tasks=2, out=tmp_path / "shell")
    found = compared(*(tmp_path / name for name in ("alone", "chosen", "shell")))
    assert list(found.arms) == ["single IAD/WebShop-v0", "bon IAD/WebShop-v0", "single IAD/InterCodeBash-v0"]
    assert {name: one.n_pairs for name, one in found.differences.items()} == {"bon IAD/WebShop-v0": 4}
    assert found.alone == ["single IAD/InterCodeBash-v0"]
    assert any("never reads gold" in note for note in found.samples.notes)


def test_seeds_are_samples(tmp_path: Path) -> None:
    evaluate("IAD/WebShop-v0", "single", tasks=4, seed=[0, 1, 2], out=tmp_path / "seeds")
    (own,) = compared(tmp_path / "seeds").arms.values()
    assert (own.n_tasks, own.n_samples, list(own.pass_at)) == (4, 12, [2, 3])
    solved = {one.task for one in read_logs("runs", [tmp_path / "seeds"]).samples if one.scores["progress"].success}
    assert own.pass_at[3].value == len(solved) / 4


def test_an_oracle_can_not_be_overlooked(tmp_path: Path) -> None:
    evaluate("IAD/WebShop-v0", "bon", tasks=2, n=2, verifier="oracle", out=tmp_path / "led")
    (alarm,) = compared(tmp_path / "led").samples.alarms
    assert "reads the true score of each step" in alarm


def test_a_damaged_line_or_folder_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    shutil.copytree(FOLDERS / "webshop", tmp_path / "shop")
    (tmp_path / "empty").mkdir()
    with (tmp_path / "shop" / "episodes.jsonl").open("a", encoding="utf-8") as file:
        file.write("{torn\n")
    logs = read_logs("runs", [tmp_path / "empty", tmp_path / "shop"])
    assert len(logs.samples) == 12
    assert [problem.partition(": ")[0] for problem in logs.problems] == [
        str(tmp_path / "empty"),
        f"{tmp_path / 'shop' / 'episodes.jsonl'}, line 13",
    ]

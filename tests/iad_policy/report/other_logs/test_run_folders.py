"""Our own run folders give the figures that `iad compare` printed for them."""

import shutil
from pathlib import Path

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.report.compare import Comparison, compare
from iad_policy.report.other_logs import read_logs
from iad_policy.report.samples import CountingRules

FOLDERS = Path(__file__).parents[3] / "fixtures" / "run_folders"


def compared(*folders: Path, score: str = "", baseline: str = "") -> Comparison:
    return compare(read_logs("runs", folders), CountingRules(score=score), baseline=baseline)


def test_rows_of_several_runs_are_compared_on_the_tasks_that_they_share(tmp_path: Path) -> None:
    for name, strategy, given in (
        ("alone", "single", {"seed": [0, 1]}),
        ("led", "bon", {"n": 2, "verifier": "oracle"}),
    ):
        evaluate("IAD/WebShop-v0", strategy, tasks=3, out=tmp_path / name, **given)  # type: ignore[arg-type]
    evaluate("IAD/BIRD-v0", "single", tasks=1, out=tmp_path / "queries")
    found = compared(*(tmp_path / name for name in ("alone", "led", "queries")))
    assert list(found.arms) == ["single IAD/WebShop-v0", "bon IAD/WebShop-v0", "single IAD/BIRD-v0"]
    assert {name: one.n_pairs for name, one in found.differences.items()} == {"bon IAD/WebShop-v0": 3}
    assert found.alone == ["single IAD/BIRD-v0"]
    assert any("never reads gold" in note for note in found.samples.notes)
    (alarm,) = found.samples.alarms
    assert "reads the true score of each step" in alarm, "an oracle can't be overlooked"
    (own,) = compared(tmp_path / "alone").arms.values()  # seeds are samples
    assert (own.n_tasks, own.n_samples, list(own.pass_at)) == (3, 6, [2])
    solved = {one.task for one in read_logs("runs", [tmp_path / "alone"]).samples if one.scores["progress"].success}
    assert own.pass_at[2].value == len(solved) / 3


def test_runs_are_repeats_of_each_other_if_nothing_but_seeds_and_tasks_differs(tmp_path: Path) -> None:
    for name, given in (
        ("first", {"seed": 0, "tasks": 4}),
        ("second", {"seed": 5, "tasks": 3}),
        ("other", {"seed": 5, "tasks": 3, "feedback": "none"}),
        ("more", {"seed": 5, "tasks": 3, "n": 3}),
    ):
        evaluate("IAD/WebShop-v0", "iad", out=tmp_path / name, **{"n": 2, **given})  # type: ignore[arg-type]
    logs = read_logs("runs", sorted(tmp_path.iterdir()))
    assert [{logs.parts[arm]["file"] for arm in same} for same in logs.repeated] == [{"first", "second"}]


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

"""Our own run folders give the figures that `iad compare` printed for them."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.report.compare import compare
from iad_policy.report.other_logs import read_logs
from iad_policy.report.samples import CountingRules
from tests.iad_policy.evaluation_toy import DialsEnv, Guesser, Liker
from tests.iad_policy.report.other_logs.fixtures import LOGS


def test_rows_of_several_runs_are_compared_on_the_tasks_that_they_share(tmp_path: Path) -> None:
    shop, led = partial(evaluate, "IAD/WebShop-v0", tasks=3), {"n": 2, "verifier": "oracle"}
    shop("single", seed=[0, 1], out=tmp_path / "alone")
    shop("bon", **led, out=tmp_path / "led")  # type: ignore[arg-type]
    evaluate("IAD/BFCL-v0", "single", tasks=1, agent="random", out=tmp_path / "calls")
    paths = [tmp_path / name for name in ("alone", "led", "calls")]
    found = compare(read_logs("runs", paths), CountingRules())
    assert list(found.arms) == ["single IAD/WebShop-v0", "bon IAD/WebShop-v0", "single IAD/BFCL-v0"]
    assert {name: one.n_pairs for name, one in found.differences.items()} == {"bon IAD/WebShop-v0": 3}
    assert found.alone == ["single IAD/BFCL-v0"]
    assert any("never reads gold" in note for note in found.samples.notes)
    (alarm,) = found.samples.alarms
    assert "reads the true score of each step" in alarm, "an oracle can't be overlooked"
    (own,) = compare(read_logs("runs", paths[:1]), CountingRules()).arms.values()  # seeds are samples
    assert (own.n_tasks, own.n_samples, list(own.pass_at)) == (3, 6, [2])
    solved = {one.task for one in read_logs("runs", paths[:1]).samples if one.scores["progress"].success}
    assert own.pass_at[2].value == len(solved) / 3


def test_runs_are_repeats_of_each_other_if_nothing_but_seeds_and_tasks_differs(tmp_path: Path) -> None:
    own: dict[str, Any] = {"agent": Guesser(), "verifier": Liker(), "n": 2}
    again: dict[str, Any] = {**own, "seed": 5, "tasks": 3}
    evaluate(DialsEnv, "iad", 4, seed=0, out=tmp_path / "first", **own)
    for name, given in {"second": {}, "other": {"feedback": "none"}, "more": {"n": 3}}.items():
        evaluate(DialsEnv, "iad", out=tmp_path / name, **again | given)
    logs = read_logs("runs", sorted(tmp_path.iterdir()))
    assert [{logs.parts[arm]["file"] for arm in same} for same in logs.repeated] == [{"first", "second"}]


def test_a_damaged_line_or_folder_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    shutil.copytree(LOGS.parent / "run_folders" / "webshop", tmp_path / "shop")
    (tmp_path / "empty").mkdir()
    with (tmp_path / "shop" / "episodes.jsonl").open("a", encoding="utf-8") as file:
        file.write("{torn\n")
    logs = read_logs("runs", [tmp_path / "empty", tmp_path / "shop"])
    assert len(logs.samples) == 12
    damaged = [str(tmp_path / "empty"), f"{tmp_path / 'shop' / 'episodes.jsonl'}, line 13"]
    assert [problem.partition(": ")[0] for problem in logs.problems] == damaged

"""A folder takes more tasks and another baseline; a run may have several verifiers, on the same proposals."""

import json
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers the environment)
from iad_policy import evaluate
from iad_policy.errors import RunFolderError, UnknownName
from iad_policy.ledger.run import Run
from iad_policy.report.results import read_results, rebase
from iad_policy.run.config import RunConfig
from tests.command_line import iad

SHOP = "IAD/WebShop-v0"


def of(folder: Path, name: str) -> dict[str, Any]:
    """What a file of a run says."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return found


def test_more_tasks_are_added_and_what_is_there_is_kept_and_said(tmp_path: Path) -> None:
    command = ("compare", SHOP, "--strategies", "single,bon", "--split", "test", "--no-cache", "--out", tmp_path)
    assert "kept" not in iad(*command, "--tasks", 2).stdout
    before = (tmp_path / "episodes.jsonl").read_text()
    again = iad(*command, "--tasks", 5).stdout
    assert (again.startswith("4 episodes kept, 6 to go\n"), "10/10 " in again) == (True, True)
    after = (tmp_path / "episodes.jsonl").read_text()
    assert after.startswith(before)
    assert (after.count("\n"), of(tmp_path, "config")["tasks"]) == (10, 5)
    more, whole = read_results(tmp_path), evaluate(SHOP, ["single", "bon"], 5, split="test", cache=False)
    for row, own in whole.records.items():
        assert {one.key for one in more.records[row]} == {one.key for one in own}


def test_another_baseline_is_recorded_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    evaluate(SHOP, ["single", "bon", "iad"], 4, split="test", out=folder, cache=False)
    answers = (folder / "answers.jsonl").read_bytes()
    assert set(read_results(folder).figures(100).differences) == {"single", "iad"}  # bon is the default here
    assert "Difference to iad on the same tasks (as asked)" in iad("report", folder, "--baseline", "iad").stdout
    assert of(folder, "summary")["baseline"] == "iad"
    assert set(read_results(folder).figures(100).differences) == {"single", "bon"}
    assert (folder / "answers.jsonl").read_bytes() == answers
    with pytest.raises(UnknownName, match="bon-sc"):
        rebase(folder, "bon-sc")
    assert of(folder, "config")["baseline"] == "iad"
    with pytest.raises(RunFolderError):
        rebase(tmp_path, "bon")


def test_a_matched_run_takes_a_baseline_without_a_curve_and_says_what_it_lacks(tmp_path: Path) -> None:
    command = ("compare", SHOP, "--strategies", "single,bon", "--n", "1,2", "--match", "proposals", "--tasks", 3)
    assert iad(*command, "--out", tmp_path).exit_code == 0
    done = iad("report", tmp_path, "--baseline", "single")
    assert (done.exit_code, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    for part in ("Difference to single", "Not compared at equal spending", "--baseline bon", "Report: "):
        assert part in said
    stored = of(tmp_path, "summary")
    assert (stored["baseline"], "matched" in stored) == ("single", False)
    assert "at equal proposals per episode" in iad("report", tmp_path, "--baseline", "bon").stdout


def test_the_default_baseline_says_why_and_verifiers_differ() -> None:
    for strategies, asked, baseline, why in (
        *(("single bon iad", "", "bon", "by default"), ("single bon bon-sc", "", "bon-sc", "by default")),
        ("iad single", "", "iad", "the first, without bon-sc or bon"),
        ("iad single", "single", "single", "as asked"),
    ):
        one = RunConfig(SHOP, "shopper", strategies=tuple(strategies.split()), baseline=asked)
        assert (one.compared_with, one.why_compared.partition(";")[0]) == (baseline, why)
    for verifiers, said in ((("proxy", ""), "none among"), (("proxy", "proxy"), "different")):
        with pytest.raises(ValueError, match=said):
            RunConfig(SHOP, "shopper", verifiers)


def test_official_data_have_keys_of_their_own(real_data: Path) -> None:
    bundled = evaluate(SHOP, "single", 2, cache=False).records["single"]
    official = evaluate(SHOP, "single", 2, data_dir=str(real_data / "webshop"), cache=False).records["single"]
    assert not {one.key for one in bundled} & {one.key for one in official}
    assert all(one.stop_reason in ("done", "max_steps") for one in official)


STRATEGIES = ("single", "bon", "iad")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    evaluate(SHOP, STRATEGIES, 4, split="test", verifier=("proxy", "oracle"), out=folder, cache=False)
    return folder


def test_every_row_is_that_of_a_run_with_its_verifier_alone(folder: Path) -> None:
    ended, together = attrgetter("actions", "reward", "success"), read_results(folder).records
    for verifier in ("proxy", "oracle"):
        alone = evaluate(SHOP, STRATEGIES, 4, split="test", verifier=verifier, cache=False).records
        for strategy in STRATEGIES:
            row = strategy if strategy == "single" else f"{strategy} {verifier}"
            assert list(map(ended, together[row])) == list(map(ended, alone[strategy]))
            if strategy != "single":
                assert {one.key for one in together[row]} == {one.key for one in alone[strategy]}
                assert {one.verifier for one in together[row]} == {verifier}
    assert list(together) == ["single", "bon proxy", "bon oracle", "iad proxy", "iad oracle"]
    assert of(folder, "summary")["informations"] == {"proxy": "proxy", "oracle": "oracle"}
    differences = read_results(folder).figures(100).differences
    assert {row: one.baseline for row, one in differences.items() if one.baseline != "bon proxy"} == {
        "iad oracle": "bon oracle"
    }
    # They judge the same first proposals.
    run, first = Run(folder), dict[tuple[str, str], list[Any]]()
    for key, one in run.records.items():
        if one.strategy == "bon":
            first[one.task_id, one.verifier] = [one.action for one in run.episode(key).steps[0].decision.candidates]
    assert len(first) == 8
    assert all(first[task, "proxy"] == first[task, "oracle"] for task, _ in first)


def test_one_baseline_and_curves_of_several_verifiers() -> None:
    asked: dict[str, Any] = {"split": "test", "verifier": ("proxy", "oracle"), "cache": False}
    single = evaluate(SHOP, STRATEGIES, 2, baseline="single", **asked)
    assert {one.baseline for one in single.figures(100).differences.values()} == {"single"}
    results = evaluate(SHOP, ["bon", "iad"], 5, n=(1, 2), match="proposals", **asked)
    (equal,) = results.figures(100).matched.values()
    assert (equal.baseline, list(equal.at)) == ("bon proxy", ["bon proxy", "bon oracle", "iad proxy", "iad oracle"])

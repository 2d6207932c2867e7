"""Whoever is asked about a run folder gives one answer: the same pairs, differences, intervals, p-values and costs."""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.learn.reproduce import judged
from iad_policy.ledger.episode_record import EPISODES
from iad_policy.ledger.run import Run
from iad_policy.papers import Claim
from iad_policy.report.advice.pilot import read_pilot
from iad_policy.report.results import read_results
from iad_policy.report.viewer.shown import run_json
from tests.command_line import iad
from tests.iad_policy.report.snapshots import rounded

SHOP, N_TASKS, BASELINE = "IAD/WebShop-v0", 8, "bon-sc"
ROWS = ("single", BASELINE, "iad")
Answer = dict[str, Any]
"""Row -> its means, and its difference to the baseline."""
DIFFERENCE = (
    *("n_pairs", "success", "success_95", "won", "lost", "p_success", "p_holm", "detectable_success"),
    *("progress", "progress_95", "p_progress", "detectable_progress"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    evaluate(SHOP, ROWS, N_TASKS, n=2, seed=(1, 2), out=folder, cache=False)
    return folder


def said(*arguments: object) -> str:
    done = iad(*arguments, env={"COLUMNS": "240"})
    assert done.exit_code == 0, done.output
    return str(done.output)


def of_summary(summary: dict[str, Any]) -> Answer:
    """The answer in `summary.json`."""
    means = ("success", "success_95", "progress", "progress_95", "seconds")
    own = {row: rounded([one[name] for name in means], 9) for row, one in summary["strategies"].items()}
    changes = {row: rounded([one[name] for name in DIFFERENCE], 9) for row, one in summary["differences"].items()}
    return {row: (each, changes.get(row)) for row, each in own.items()}


def of_comparison(text: str) -> Answer:
    """The answer of `analyse` and `score` as JSON, whose baseline is that of the run."""
    found = json.loads(text)

    def means(row: dict[str, Any]) -> list[Any]:
        own = [row["success"], row["score"] if "score" in row else row["scores"]["progress"]]
        return rounded([each for one in own for each in (one["value"], one["interval_95"])] + [row.get("seconds")], 9)

    def difference(one: dict[str, Any]) -> Any:
        names = ("value", "interval_95", "won", "lost", "p", "p_holm", "detectable")
        of_score = ("value", "interval_95", "p", "detectable")
        own = [one["success"][name] for name in names] + [one["score"][name] for name in of_score]
        return rounded([one["n_pairs"], *own], 9)

    changes = {row: difference(one) for row, one in found["differences"].items()}
    return {row: (means(one), changes[row] if row != BASELINE else None) for row, one in found["arms"].items()}


def without_seconds(answer: Answer) -> Answer:
    return {row: (means[:4], other) for row, (means, other) in answer.items()}


def test_summary_viewer_and_analyse_agree(folder: Path, tmp_path: Path) -> None:
    kept = of_summary(json.loads((folder / "summary.json").read_bytes()))
    assert of_summary(run_json(Run(folder))) == of_comparison(said("analyse", folder, "--json")) == kept
    assert kept["iad"][1][0] == N_TASKS, "a pair is a task"
    # Also where an episode failed, and one was ended by the run's budget.
    lines = [json.loads(line) for line in (folder / EPISODES).read_text().splitlines()]
    first, second, *_ = (one for one in lines if one["strategy"] == "iad" and one["success"])
    first |= {"error_kind": "timeout", "stop_reason": "error"}
    second |= {"cut": "run.proposals", "stop_reason": "budget"}
    (tmp_path / EPISODES).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    results = read_results(tmp_path)
    again = of_summary(json.loads(json.dumps(results.as_json(results.figures()))))
    assert of_comparison(said("analyse", tmp_path, "--json")) == again != kept


def test_recorded_actions_an_export_and_a_reproduction_agree(folder: Path, tmp_path: Path) -> None:
    kept = without_seconds(of_summary(json.loads((folder / "summary.json").read_bytes())))
    records = {row: [one for one in Run(folder).records.values() if one.strategy == row] for row in ROWS}
    lines = [{**one.as_json(), "arm": row} for row, own in records.items() for one in own]
    file = tmp_path / "recorded.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    asked = ("score", file, "--env", SHOP, "--tasks", N_TASKS, "--baseline", BASELINE, "--workers", 1)
    assert without_seconds(of_comparison(said(*asked, "--json"))) == kept
    said("export", folder, "--out", tmp_path / "steps.jsonl")
    columns = "task=task_id,arm=strategy,sample=seed,score=progress"
    asked = ("analyse", "--jsonl", tmp_path / "steps.episodes.jsonl", "--columns", columns, "--baseline", BASELINE)
    assert without_seconds(of_comparison(said(*asked, "--json"))) == kept

    found: Any = read_results(folder).figures().differences
    claims = judged([Claim(row, row, BASELINE, "", 0.0) for row in found], records)
    for claim, one in zip(claims, found.values(), strict=True):
        reward = one.reward.value, list(one.reward.interval_95), one.reward.p_holm
        assert (claim["reward"], claim["interval_95"], claim["p"]) == reward
        assert claim["success"] == one.success.value


def test_advice_starts_from_the_same_figures(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_bytes())["strategies"]
    for row, line in read_pilot(Run(folder), axis="seconds").lines.items():
        assert fmean(line.success[line.n].values()) == pytest.approx(summary[row]["success"])
        assert fmean(line.spent[line.n].values()) == pytest.approx(summary[row]["seconds"])

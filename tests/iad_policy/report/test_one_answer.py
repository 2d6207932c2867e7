"""Whoever is asked about a run folder gives one answer: the same pairs, differences, intervals, p-values and costs."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from typer.testing import CliRunner

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.cli import app
from iad_policy.learn.reproduce import judged
from iad_policy.ledger.episode_record import EPISODES, EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.papers import Claim
from iad_policy.report.advice.pilot import read_pilot
from iad_policy.report.results import read_results
from iad_policy.report.viewer.shown import run_json

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


@pytest.fixture(scope="module")
def damaged(folder: Path) -> Path:
    """The run with an episode that failed and one that the run's budget ended."""
    other = folder.with_name("damaged")
    other.mkdir()
    lines = [json.loads(line) for line in (folder / EPISODES).read_text().splitlines()]
    of_iad = [one for one in lines if one["strategy"] == "iad" and one["success"]]
    of_iad[0] |= {"error_kind": "timeout", "stop_reason": "error"}
    of_iad[1] |= {"cut": "run.proposals", "stop_reason": "budget"}
    (other / EPISODES).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (other / "config.json").write_bytes((folder / "config.json").read_bytes())
    return other


def said(*arguments: object) -> str:
    done = CliRunner(env={"COLUMNS": "240"}).invoke(app, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


def of_summary(summary: dict[str, Any]) -> Answer:
    """The answer in `summary.json`."""
    return {
        row: (
            rounded([one["success"], one["success_95"], one["progress"], one["progress_95"], one["seconds"]]),
            rounded([other[name] for name in DIFFERENCE]) if (other := summary["differences"].get(row)) else None,
        )
        for row, one in summary["strategies"].items()
    }


def of_comparison(found: dict[str, Any], *, has_seconds: bool = True) -> Answer:
    """The answer of `analyse` and `score`, whose baseline is that of the run."""

    def mean(row: dict[str, Any], name: str) -> list[Any]:
        one = row[name] if name in row else row["scores"]["progress"]
        return [one["value"], one["interval_95"]]

    def difference(one: dict[str, Any]) -> Any:
        success, score = one["success"], one["score"]
        names = ("value", "interval_95", "won", "lost", "p", "p_holm", "detectable")
        of_score = (score[name] for name in ("value", "interval_95", "p", "detectable"))
        return rounded([one["n_pairs"], *(success[name] for name in names), *of_score])

    return {
        row: (
            rounded([*mean(one, "success"), *mean(one, "score"), *([one["seconds"]] if has_seconds else [])]),
            difference(found["differences"][row]) if row != BASELINE else None,
        )
        for row, one in found["arms"].items()
    }


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9)
    return [rounded(one) for one in value] if isinstance(value, list | tuple) else value


def stored(folder: Path, *, has_seconds: bool = True) -> Answer:
    answer = of_summary(json.loads((folder / "summary.json").read_bytes()))
    return {row: (means if has_seconds else means[:4], other) for row, (means, other) in answer.items()}


def episodes(folder: Path) -> dict[str, list[EpisodeRecord]]:
    return {row: [one for one in Run(folder).records.values() if one.strategy == row] for row in ROWS}


def test_summary_viewer_and_analyse_agree(folder: Path, damaged: Path) -> None:
    kept = stored(folder)
    assert of_summary(run_json(Run(folder))) == of_comparison(json.loads(said("analyse", folder, "--json"))) == kept
    assert kept["iad"][1][0] == N_TASKS, "a pair is a task"
    results = read_results(damaged)
    again = of_summary(json.loads(json.dumps(results.as_json(results.figures()))))
    assert of_comparison(json.loads(said("analyse", damaged, "--json"))) == again != kept


def test_score_of_recorded_actions_agrees(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "recorded.jsonl"
    lines = [{**one.as_json(), "arm": row} for row, own in episodes(folder).items() for one in own]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    asked = ("score", file, "--env", SHOP, "--tasks", N_TASKS, "--baseline", BASELINE, "--workers", 1)
    kept = stored(folder, has_seconds=False)
    assert of_comparison(json.loads(said(*asked, "--json")), has_seconds=False) == kept
    shown, table = said(*asked), read_results(folder).table(240)
    assert list(differences_in(shown)) == list(differences_in(table))
    assert few_tasks(shown) == few_tasks(table)


def test_an_export_of_the_episodes_agrees(folder: Path, tmp_path: Path) -> None:
    said("export", folder, "--out", tmp_path / "steps.jsonl")
    (file,) = (path for path in tmp_path.glob("*.jsonl") if "episodes" in path.name)
    columns = "task=task_id,arm=strategy,sample=seed,score=progress"
    asked = ("analyse", "--jsonl", file, "--columns", columns, "--baseline", BASELINE, "--json")
    assert of_comparison(json.loads(said(*asked)), has_seconds=False) == stored(folder, has_seconds=False)


def test_advice_starts_from_the_same_figures(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_bytes())["strategies"]
    pilot = read_pilot(Run(folder), axis="seconds")
    for row, line in pilot.lines.items():
        assert fmean(line.success[line.n].values()) == pytest.approx(summary[row]["success"])
        assert fmean(line.spent[line.n].values()) == pytest.approx(summary[row]["seconds"])
    assert said("advise", folder, "--n", 2).count(few_tasks(read_results(folder).table(240))) == 1


def test_a_reproduction_agrees(folder: Path) -> None:
    found = read_results(folder).figures().differences
    claims = judged([Claim(row, row, BASELINE, "", 0.0) for row in found], episodes(folder))
    for claim, one in zip(claims, found.values(), strict=True):
        assert one.reward is not None
        assert one.success is not None
        reward = one.reward.value, list(one.reward.interval_95), one.reward.p_holm
        assert (claim["reward"], claim["interval_95"], claim["p"]) == reward
        assert claim["success"] == one.success.value


@pytest.mark.parametrize("name", ["folder", "damaged"])
def test_the_printed_tables_and_warnings_agree(name: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(name)
    table = read_results(path).table(240)
    for text in (said("report", path, "--baseline", BASELINE), said("analyse", path)):
        assert list(differences_in(text)) == list(differences_in(table))
        for caution in (few_tasks, unpaired, left_out, pairs):
            assert caution(text) == caution(table)
    assert few_tasks(table)
    assert "pairs: tasks that both rows have." in pairs(table)
    assert bool(left_out(table)) == (name == "damaged")


def differences_in(text: str) -> Iterator[list[str]]:
    """Name, difference in success, won:lost, p, MDE, difference in progress, and pairs of each printed row."""
    table = text.partition("Difference to")[2].split("\n\n")[0]
    for line in table.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if cells[0] in ROWS:
            yield [*cells[:6], cells[-2 if "unpaired" in table else -1]]


def found_in(pattern: str) -> Callable[[str], str]:
    def found(text: str) -> str:
        one = re.search(pattern, " ".join(text.split()))
        return one.group() if one else ""

    return found


few_tasks = found_in(r"FEW TASKS: \d+ tasks can tell large differences only. Below \d+, intervals are rough\.")
unpaired = found_in(r"UNPAIRED TASKS .*?\.")
left_out = found_in(r"(?<=LEFT OUT of every mean: )\d+ of \S+ \([^)]*\)")
pairs = found_in(r"pairs: .*?\.")

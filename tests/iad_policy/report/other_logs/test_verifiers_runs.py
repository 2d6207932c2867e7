"""Runs that verifiers wrote are read as its own reader reads them (`expected.json` is what that says)."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from iad_policy.report.compare import compare
from iad_policy.report.other_logs import read_logs
from iad_policy.report.samples import SCORED, WRONG, CountingRules, Samples
from tests.iad_policy.report.other_logs.fixtures import LOGS, require_samples_of_verifiers, written

RUNS = LOGS / "verifiers"
OLD = LOGS / "verifiers_0_1"
NAMES = [(folder, name) for folder in (RUNS, OLD) for name in json.loads((folder / "expected.json").read_bytes())]


def read(*paths: Path) -> Samples:
    return read_logs("verifiers", paths)


@pytest.mark.parametrize(("folder", "name"), NAMES, ids=lambda one: one if isinstance(one, str) else one.name)
def test_rollouts_and_rewards_are_those_of_the_packages_own_reader(folder: Path, name: str) -> None:
    ours, theirs = read(folder / name).samples, json.loads((folder / "expected.json").read_bytes())[name]
    require_samples_of_verifiers(ours, theirs)
    assert Counter(sample.sample for sample in ours) == {str(n): 6 for n in range(1, len(ours) // 6 + 1)}


def test_rewards_and_metrics_are_scores_runs_are_arms_and_failures_are_told_apart() -> None:
    first: Any = read(RUNS / "small").samples[0]
    expected = {"right": 1.0, "short": 1.0, "length": 1.0, "reward": pytest.approx(1.1)}
    assert {name: score.value for name, score in first.scores.items()} == expected
    assert (first.tokens, first.seconds > 0) == (18, True)
    errors = {sample.task: sample.error for sample in read(RUNS / "failing").samples if sample.error}
    assert errors == {"sum-2": "ProviderError", "sum-4": "TaskError"}
    logs, models = read(RUNS), ("failing", "large", "small")
    assert list(logs.parts) == ["small best-of-n+vf-arithmetic", *(f"{model} vf-arithmetic" for model in models)]
    assert not logs.problems
    # A run that is named twice is read once.
    logs = read(OLD, OLD / "small", OLD / "small", OLD / "small" / "results.jsonl")
    assert (len(logs.parts), len(logs.samples)) == (3, 72)


def test_another_environment_has_the_same_tasks() -> None:
    """Four rollouts with two traces each are eight samples of a task."""
    found = compare(read(RUNS / "small", RUNS / "best-of-2"), CountingRules(score="right"))
    (difference,) = found.differences.values()
    assert difference.n_pairs == 6
    assert [one.n_samples for one in found.arms.values()] == [24, 48]


@pytest.mark.parametrize("name", ["small", "large", "failing"])
def test_figures_are_those_of_verifiers_0_1(name: str) -> None:
    """It counts rollouts that failed as wrong."""
    theirs = json.loads((OLD / name / "metadata.json").read_bytes())
    rules = CountingRules(success_at=theirs["pass_threshold"], errors=WRONG)
    (ours,) = compare(read(OLD / name), rules, ks=(1, 2, 4)).arms.values()
    assert {str(k): one.value for k, one in ours.pass_at.items()} == pytest.approx(theirs["pass_at_k"])
    assert {str(k): one.value for k, one in ours.pass_hat.items()} == pytest.approx(theirs["pass_all_k"])
    scored: Any = next(iter(compare(read(OLD / name), CountingRules(errors=SCORED)).arms.values()))
    assert scored.score.value == pytest.approx(theirs["avg_reward"])


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RUNS / "small/traces.jsonl").read_text(encoding="utf-8").splitlines()]


def run_of(folder: Path, *lines: Any) -> Path:
    folder.mkdir(exist_ok=True)
    return written(folder / "traces.jsonl", *lines).parent


def test_lines_that_are_no_rollouts_are_named_and_the_others_are_read(lines: list[Any], tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run", lines[0], "{torn", {"other": 1}, "", lines[1], "[]")
    logs = read(folder)
    assert len(logs.samples) == 2
    places = [problem.partition(": ")[0] for problem in logs.problems]
    assert places == [f"{folder / 'traces.jsonl'}, line {n}" for n in (2, 3, 6)]


def test_agents_with_rewards_are_arms_and_others_are_none(lines: list[dict[str, Any]], tmp_path: Path) -> None:
    judge = json.loads(json.dumps(lines[0]["traces"][0]))
    judge["agent"]["name"], judge["rewards"] = "judge", {}
    lines[0]["traces"].append(judge)
    assert len(read(run_of(tmp_path / "run", *lines)).parts) == 1
    for line in lines:
        other = json.loads(json.dumps(line["traces"][0]))
        other["agent"]["name"] = "critic"
        line["traces"].append(other)
    assert list(read(run_of(tmp_path / "run", *lines)).parts) == ["agent", "critic"]


ENV_ERROR = [{"type": "EnvError", "message": "no board"}]


@pytest.mark.parametrize(
    ("episode", "trace", "error", "reward"),
    [
        pytest.param({"ok": False, "traces": [], "errors": ENV_ERROR}, {}, "EnvError", None, id="before its traces"),
        pytest.param({"ok": False, "errors": ENV_ERROR}, {}, "EnvError", 1.1, id="after its traces"),
        pytest.param({"errors": ENV_ERROR}, {"errors": [{"type": "ProviderError"}]}, "", 1.1, id="in an earlier try"),
        # timed out: the package says that the trace is fine
        pytest.param({}, {"rewards": {"short": None}}, "", None, id="scoring was cut off"),
    ],
)
def test_an_episode_that_failed_is_an_error(
    episode: dict[str, Any], trace: dict[str, Any], error: str, reward: Any, lines: list[Any], tmp_path: Path
) -> None:
    own = lines[0]["traces"][0]
    own |= {name: {**own[name], **value} if name == "rewards" else value for name, value in trace.items()}
    lines[0] |= episode
    first, second, *_ = read(run_of(tmp_path / "run", *lines)).samples
    assert (first.task, first.error, second.error) == ("sum-0", error, "")
    score = first.scores.get("reward")
    assert (score and score.value) == (reward if reward is None else pytest.approx(reward))


def test_a_folder_without_a_run_is_named_and_a_run_without_its_metadata_is_read(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    shutil.copytree(OLD / "small", tmp_path / "small")
    (tmp_path / "small" / "metadata.json").write_text("{", encoding="utf-8")
    logs = read(tmp_path / "empty", tmp_path / "small")
    assert (len(logs.samples), list(logs.parts)) == (24, ["small"])
    said = f"{tmp_path / 'empty'}: expected a run folder of verifiers, got one without traces.jsonl or results.jsonl"
    assert (logs.problems[0], len(logs.problems)) == (said, 2)

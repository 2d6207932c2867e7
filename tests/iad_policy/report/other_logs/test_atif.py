"""Trajectories in ATIF: ours come back whole, those of Harbor's trials are samples, and bad ones are named."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from iad_policy.agents.language import LanguageAgent
from iad_policy.ledger.run import Run
from iad_policy.models import Completion
from iad_policy.report.compare import Resampling, compare
from iad_policy.report.exports import export_runs
from iad_policy.report.exports.atif import read_steps
from iad_policy.report.other_logs import read_logs
from iad_policy.roles import TemplateRoles
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types import Candidate, Usage, Verdict
from tests.iad_policy.evaluation_toy import Babbler, DialsEnv, Liker, config, kept, runner
from tests.iad_policy.report.other_logs.fixtures import LOGS, written

FOLDERS = LOGS.parent / "run_folders"
SCHEMA = json.loads((LOGS / "atif.schema.json").read_text(encoding="utf-8"))


def require_valid(document: Mapping[str, Any]) -> None:
    """Check a document, also by the rules that a schema can't say."""
    Draft202012Validator(SCHEMA).validate(document)
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))
    for step in document["steps"]:
        calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        answered = {one.get("source_call_id") for one in step.get("observation", {}).get("results", ())}
        assert answered - {None} <= calls


class Talker:
    """Answers in words, now and then without an action even when it is asked again, and says what it cost."""

    name = "scripted"
    n_asked = 0

    def complete(self, messages: Any, **_: Any) -> Completion:
        self.n_asked += 1
        said = f"I try it.\nAction: turn[{self.n_asked % 3}]" if self.n_asked % 7 > 2 else "No idea"
        usage = Usage(prompt_tokens=11, completion_tokens=5, usd=0.25, seconds=0.5)
        return Completion(said, logprobs=(-0.5, -0.25), usage=usage)


class Critic(Liker):
    """Says why, in words and in parts, and fails at the digit 1."""

    def verify(self, state: Any, candidates: Any) -> Any:
        return [self.verdict(int(one.action[5])) for one in candidates]

    def verdict(self, n: int) -> Verdict:
        return Verdict(float(n) if n != 1 else float("-inf"), f"it is {n}", n == 2, {"digit": n, "pair": (n, 0.5)})


def of_model(folder: Path) -> Path:
    here = Components(LanguageAgent(Talker(), style="cot"), Critic(), TemplateRoles())
    asked = config(agent="litellm:scripted#cot", strategies=("bon", "bon-sc", "iad"), n=3, tasks=2)
    return kept(Runner(asked, DialsEnv, lambda *_: here), folder)


def of_babbler(folder: Path) -> Path:
    return kept(runner(Babbler(), strategies=("single", "bon"), tasks=1), folder)


RUNS = {
    "model": of_model,
    "babbler": of_babbler,
    **{name: (lambda _, name=name: FOLDERS / name) for name in ("webshop", "bird_0_2", "sketch2code", "booking_0_2")},
}


def comparable(one: Candidate) -> Candidate:
    """A candidate without what has no place in ATIF: the simulated state, of which the text is kept."""
    asked = tuple(each._replace(prompt=list(each.prompt)) for each in one.exchanges)
    return replace(one, preview=None, exchanges=asked)


@pytest.mark.parametrize("name", RUNS)
def test_candidates_verdicts_and_costs_come_back_and_so_do_the_figures(name: str, tmp_path: Path) -> None:
    run = Run(RUNS[name](tmp_path / "run"))
    export_runs([run], "atif", tmp_path / "out")
    n_read = 0
    for file in (tmp_path / "out").rglob("*.json"):
        document = json.loads(file.read_text(encoding="utf-8"))
        require_valid(document)
        episode, steps = run.episode(document["trajectory_id"]), read_steps(file)
        for ours, step in zip(steps, episode.steps, strict=True):
            theirs, mine = step.decision, ours.decision
            assert [*map(comparable, mine.candidates)] == [*map(comparable, theirs.candidates)]
            assert comparable(mine.committed) == comparable(theirs.committed)
            assert (mine.cut, mine.notes, mine.role_answers) == (theirs.cut, theirs.notes, theirs.role_answers)
            assert dict(mine.budget) == dict(theirs.budget)
            assert (mine.state.id, ours.action, ours.reward) == (theirs.state.id, step.action, step.reward)
        totals, spent = document["final_metrics"], episode.record.spent
        if spent.tokens:
            assert (totals["total_prompt_tokens"], totals["total_cost_usd"]) == (spent.prompt_tokens, spent.usd)
        for metric in ("prompt_tokens", "completion_tokens", "cost_usd"):
            parts = [step["metrics"][metric] for step in document["steps"] if metric in step.get("metrics", ())]
            assert sum(parts) == totals.get(f"total_{metric}", 0)
        n_read += 1
    assert n_read == len(run.records) > 0
    logs = read_logs("atif", [tmp_path / "out"]), read_logs("runs", [run.folder])
    ours, theirs = (compare(one, resampling=Resampling(n_resamples=50)) for one in logs)
    assert sorted(map(repr, ours.arms.values())) == sorted(map(repr, theirs.arms.values()))
    assert ours.score == theirs.score


def test_who_rejected_a_candidate_and_why_is_told(tmp_path: Path) -> None:
    export_runs([Run(of_model(tmp_path / "run"))], "atif", tmp_path / "out")
    rejected: dict[str | None, list[Mapping[str, Any]]] = {}
    for file in (tmp_path / "out").rglob("*.json"):
        document = json.loads(file.read_text(encoding="utf-8"))
        assert document["agent"]["model_name"] == "scripted"
        assert "why" not in document["extra"]["iad"]["record"], "it may quote the answer"
        for step in document["steps"]:
            for one in step.get("extra", {}).get("iad", {}).get("candidates", ()):
                rejected.setdefault(one["rejected_by"], []).append(one)
    assert rejected.keys() == {None, "verifier", "strategy", "format"}
    assert all(one["error"] for one in rejected["format"])
    assert all(one["verdict"]["critique"].startswith("it is") for one in rejected["verifier"])


def trajectory(**changes: Any) -> dict[str, Any]:
    asked = {"step_id": 1, "source": "user", "message": "Add the numbers"}
    said = {"step_id": 2, "source": "agent", "message": "3", "metrics": {"prompt_tokens": 10, "completion_tokens": 2}}
    about = {"name": "terminus-2", "version": "2.0.0", "model_name": "large"}
    return {"schema_version": "ATIF-v1.5", "session_id": "s", "agent": about, "steps": [asked, said], **changes}


def trial(folder: Path, reward: float | None, document: Mapping[str, Any] | None, **more: Any) -> None:
    (folder / "agent").mkdir(parents=True)
    if document is not None:
        written(folder / "agent" / "trajectory.json", document)
    rewards = {} if reward is None else {"verifier_result": {"rewards": {"reward": reward}}}
    named = {"task_name": folder.name.partition("__")[0], "trial_name": folder.name}
    written(folder / "result.json", named | rewards | more)


def test_a_job_of_harbor_is_an_arm_whose_trials_are_samples(tmp_path: Path) -> None:
    totals = {"total_prompt_tokens": 100, "total_completion_tokens": 20, "total_cost_usd": 0.5}
    later = {**trajectory(), "schema_version": "ATIF-v1.93", "final_metrics": totals, "a_new_field": {"x": 1}}
    trial(tmp_path / "sum__a", 1.0, later)
    trial(tmp_path / "sum__b", 0.0, trajectory(continued_trajectory_ref="trajectory.cont-1.json"))
    written(tmp_path / "sum__b" / "agent" / "trajectory.cont-1.json", trajectory())
    trial(tmp_path / "product__a", None, trajectory(), exception_info={"exception_type": "AgentTimeoutError"})
    trial(tmp_path / "product__b", 0.0, None)
    logs = read_logs("atif", [tmp_path])
    assert list(logs.parts) == ["terminus-2"]
    found = {(one.task, one.sample): one for one in logs.samples}
    assert found.keys() == {("sum", "1"), ("sum", "2"), ("product", "1")}
    assert (found["sum", "1"].tokens, found["sum", "1"].usd) == (120, 0.5)
    assert found["sum", "2"].tokens is None, "the rest of it is in another file"
    assert (found["product", "1"].tokens, found["product", "1"].error) == (12, "AgentTimeoutError")
    assert [one.scores["reward"].value for one in logs.samples if one.scores] == [1.0, 0.0]
    arm: Any = compare(logs).arms["terminus-2"]
    assert (arm.success.value, arm.n_errored) == (0.5, 1)
    (problem,) = logs.problems
    assert problem.startswith(f"{tmp_path / 'product__b' / 'result.json'}: ")
    assert any("goes on in trajectory.cont-1.json" in note for note in logs.notes)


def test_a_score_may_stand_in_the_document_and_lines_are_documents_too(tmp_path: Path) -> None:
    lines = [trajectory(extra={"success": n % 2 == 0, "task_id": f"t{n}"}) for n in range(4)]
    logs = read_logs("atif", [written(tmp_path / "all.jsonl", *lines)])
    found = [(one.task, one.scores["success"].success) for one in logs.samples]
    assert found == [("t0", 1.0), ("t1", 0.0), ("t2", 1.0), ("t3", 0.0)]


def without(path: str) -> dict[str, Any]:
    """A document without a field, or with a number in its place where the path ends in =."""
    inside: Any = (document := json.loads(json.dumps(trajectory())))
    *names, last = path.removesuffix("=").split(".")
    for name in names:
        inside = inside[int(name) if name.isdigit() else name]
    inside.pop(last, None)
    if path.endswith("="):
        inside[last] = 7
    return document


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (trajectory(schema_version="ATIF-v2.0"), "schema_version .*got 'ATIF-v2.0'"),
        (trajectory(schema_version="1.7"), "schema_version"),
        ('{"schema_version": "ATIF-v1.7", "agent"', "JSON object"),
        ([1], "schema_version, got none"),
        (trajectory(steps=[]), "one step in the field steps"),
        (without("schema_version"), "schema_version, got none"),
        (without("agent.version"), "agent.version, got none"),
        (without("steps.1.message"), r"steps\[1\].message, got none"),
        (without("steps.0.source="), r"text in the field steps\[0\].source, got 7"),
        (without("agent.extra="), "object in the field agent.extra, got 7"),
        (without("final_metrics="), "object in the field final_metrics, got 7"),
        (without("steps.1.metrics="), r"object in the field steps\[1\].metrics, got 7"),
        (trajectory(final_metrics={"total_cost_usd": "much"}), "number in the field final_metrics.total_cost_usd"),
        (without("steps.1.observation="), r"object in the field steps\[1\].observation, got 7"),
        (trajectory(extra={"iad": {}, "reward": "good"}), "number in the field reward, .*got 'good'"),
        (trajectory(extra={"iad": {"run": "r"}}), "extra.iad.record, got none"),
        (trajectory(extra={"iad": {"record": {"key": 1}}}), "episode in the field extra.iad.record"),
    ],
)
def test_what_can_not_be_read_is_named_with_file_and_field(content: Any, said: str, tmp_path: Path) -> None:
    file = written(tmp_path / "bad.json", content)
    with pytest.raises(ValueError, match=rf"bad\.json: expected .*{said}"):
        read_logs("atif", [file])
    written(tmp_path / "good.json", trajectory())
    logs = read_logs("atif", [tmp_path / "good.json", file])
    assert (len(logs.samples), len(logs.parts)) == (1, 1), "the rest is read"
    assert len(logs.problems) == 1


def test_a_damaged_candidate_is_named_and_other_json_in_a_folder_is_no_mistake(tmp_path: Path) -> None:
    export_runs([Run(of_babbler(tmp_path / "run"))], "atif", tmp_path / "out")
    for name, content in (("config.json", '{"orchestrator": "local"}'), ("list.json", "[1]")):
        (tmp_path / "out" / name).write_text(content)
    assert read_logs("atif", [tmp_path / "out"]).problems == []
    file = next((tmp_path / "out" / "run").iterdir())
    document = json.loads(file.read_text(encoding="utf-8"))
    del document["steps"][2]["extra"]["iad"]["candidates"][0]["usage"]
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ValueError, match=r"expected a candidate in the field steps\[2\].extra.iad.candidates\[0\]"):
        read_steps(file)
    with pytest.raises(ValueError, match="only what iad exported has candidates"):
        read_steps(written(tmp_path / "foreign.json", trajectory()))

"""A run of function calls as its reader meets it: the report, the exports, AgentBoard's files."""

import json
from pathlib import Path

import pytest

from iad_policy import evaluate
from iad_policy.ledger.run import Run
from iad_policy.models.parsing.function_calls import read_function_calls
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.agentboard import write_agentboard
from iad_policy.report.exports import export_runs
from iad_policy.report.viewer.shown import ShownTable, episode_json, run_json
from iad_policy.types.outcome_types import type_of
from tests.iad_envs.toolcalls.policy.talks import Talk

RUNS = {"IAD/BFCL-v0": "multi_turn_base", "IAD/ACEBench-v0": "agent_multi_turn"}


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs") / "run"
    evaluate(request.param, ["single", "bon"], n=4, tasks=8, out=folder, env_args={"category": RUNS[request.param]})
    return Run(folder)


def test_the_viewer_shows_calls_results_candidates_and_what_the_verifier_says(run: Run) -> None:
    keys, table = [key for key, record in run.records.items() if record.strategy == "bon"], ShownTable()
    episodes = [episode_json(run, key, table) for key in keys]
    shown = json.dumps([*episodes, table.texts], ensure_ascii=False)
    for text in ("Functions:", "Results:", "User: ", "Nothing speaks against it.", "reply["):
        assert text in shown
    states = [step["before"] for episode in episodes for step in episode["steps"]]
    assert all(state["said"][0][0] == "User" for state in states)
    assert {len(row) for state in states for row in state.get("calls", ())} == {2}
    # The documents of functions are kept once, and a page is whole when it is read.
    blobs = [path.read_text() for path in (run.folder / "blobs").glob("*.json")]
    assert len(blobs) == len(set(blobs)) > 0
    assert '"description"' not in (run.folder / "answers.jsonl").read_text()
    for step in (step for key in run.records for step in run.episode(key).steps):
        page = step.decision.state.info["page"]
        assert page["tools"][0]["description"]
        assert set(page) == {"kind", "messages", "tools", "calls", "results"}


def test_what_is_exported_is_read_again_and_agentboard_has_it_among_the_tools(run: Run, tmp_path: Path) -> None:
    for form, part in (("sft", "messages"), ("preference", "chosen"), ("kto", "completion"), ("jsonl", "")):
        export_runs([run], form, tmp_path / form)
        rows = [json.loads(line) for line in (tmp_path / form).read_text(encoding="utf-8").splitlines()]
        assert rows
        for row in rows:
            text = row[part][-1]["content"] if part else row["action"]
            action = read_function_calls(text).action
            assert action is not None, text
            assert action in text
    assert all(row["candidates"] for row in rows)
    assert next(row for row in rows if row["step"] == 0)["observation"].startswith("Functions:")
    write_agentboard([run], tmp_path)
    lines = (tmp_path / "bon" / "all_results.txt").read_text(encoding="utf-8").splitlines()
    name = run_json(run)["env"][4:-3].lower()
    assert [json.loads(line)["task_name"] for line in lines] == [name, "tool_summary", "all_summary"]


def test_stand_ins_lead_to_outcomes_of_several_kinds_anywhere() -> None:
    for task_id, begin in (("multi_turn_base_13", ()), ("multi_turn_base_13", ("reply[Done.]",)), ("multiple_2", ())):
        talk = Talk(task_id).did(*begin)
        ends = [talk.tried(action).preview for action in domain_by_id("IAD/BFCL-v0").stand_ins]
        kinds = {type_of(end.info, end.done) for end in ends if end is not None}
        assert {"invalid", "unknown_function", "end" if talk.env.category == "single_turn" else "success"} <= kinds

"""A run of function calls as its reader meets it: the report, the exports, AgentBoard's files, noisy simulators."""

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import IADPolicyWrapper, evaluate
from iad_policy.ledger.run import Run
from iad_policy.models.parsing.function_calls import read_function_calls
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.agentboard import write_agentboard
from iad_policy.report.exports import export_runs
from iad_policy.report.viewer.shown import ShownTable, episode_json, run_json
from iad_policy.types.outcome_types import type_of
from tests.iad_envs.toolcalls.policy.talks import Talk

BFCL, ACEBENCH = "IAD/BFCL-v0", "IAD/ACEBench-v0"
RUNS: dict[str, dict[str, Any]] = {
    BFCL: {"env_args": {"category": "multi_turn_base"}},
    ACEBENCH: {"env_args": {"category": "agent_multi_turn"}},
}
TASK = {BFCL: "bfcl", ACEBENCH: "acebench"}
AS_ANSWERS: dict[str, str] = {BFCL: "single_turn", ACEBENCH: "normal"}
"""Categories with one answer."""


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs") / TASK[request.param]
    evaluate(request.param, ["single", "bon"], n=4, tasks=8, out=folder, **RUNS[request.param])
    return Run(folder)


def rows(run: Run, form: str, folder: Path) -> list[dict[str, Any]]:
    out = folder / f"{form}.jsonl"
    export_runs([run], form, out)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_the_viewer_shows_calls_results_candidates_and_what_the_verifier_says(run: Run) -> None:
    assert run_json(run)["env"] in RUNS
    keys = [key for key, record in run.records.items() if record.strategy == "bon"]
    table = ShownTable()
    shown = json.dumps([*(episode_json(run, key, table) for key in keys), table.texts], ensure_ascii=False)
    for text in ("Functions:", "Results:", "User: ", "Nothing speaks against it.", "reply["):
        assert text in shown
    states = [step["before"] for key in keys for step in episode_json(run, key, table)["steps"]]
    assert all(state["said"][0][0] == "User" for state in states)
    with_calls = [state for state in states if "calls" in state]
    assert with_calls
    assert all(len(row) == 2 for state in with_calls for row in state["calls"])


def test_the_documents_of_functions_are_kept_once(run: Run) -> None:
    blobs = [path.read_text() for path in (run.folder / "blobs").glob("*.json")]
    assert len(blobs) == len(set(blobs)) > 0
    assert '"description"' not in (run.folder / "answers.jsonl").read_text()
    for step in (step for key in run.records for step in run.episode(key).steps):
        page = step.decision.state.info["page"]
        assert page["tools"][0]["description"]
        assert set(page) == {"kind", "messages", "tools", "calls", "results"}


@pytest.mark.parametrize("form", ["sft", "preference", "kto"])
def test_what_is_exported_for_training_is_read_again(run: Run, form: str, tmp_path: Path) -> None:
    found = rows(run, form, tmp_path)
    assert found
    for row in found:
        (text,) = {"sft": row.get("messages"), "preference": row.get("chosen"), "kto": row.get("completion")}[form][-1:]
        action = read_function_calls(text["content"]).action
        assert action is not None, text
        assert action in text["content"]


def test_decisions_are_exported_with_their_pages(run: Run, tmp_path: Path) -> None:
    found = rows(run, "jsonl", tmp_path)
    first = next(row for row in found if row["step"] == 0)
    assert first["observation"].startswith("Functions:")
    assert {row["action"][:1] for row in found} <= {"[", "r"}
    assert all(row["candidates"] for row in found)


def test_agentboard_s_files_have_it_among_the_tools(run: Run, tmp_path: Path) -> None:
    write_agentboard([run], tmp_path)
    lines = (tmp_path / "bon" / "all_results.txt").read_text(encoding="utf-8").splitlines()
    names = [json.loads(line)["task_name"] for line in lines]
    assert names == [TASK[run_json(run)["env"]], "tool_summary", "all_summary"]


def test_stand_ins_lead_to_outcomes_of_several_kinds_anywhere() -> None:
    for task_id, begin in (("multi_turn_base_13", ()), ("multi_turn_base_13", ("reply[Done.]",)), ("multiple_2", ())):
        talk = Talk(task_id).did(*begin)
        ends = [talk.tried(action).preview for action in domain_by_id(BFCL).stand_ins]
        kinds = {type_of(end.info, end.done) for end in ends if end is not None}
        assert {"invalid", "unknown_function", "end" if talk.env.category == "single_turn" else "success"} <= kinds


@pytest.mark.parametrize("env_id", RUNS)
@pytest.mark.parametrize("simulator", ["noisy:0.5", "noisy:0", "noisy:success=1,tool_error=0"])
@pytest.mark.parametrize("category", ["conversation", "answer"])
def test_it_is_played_with_a_simulator_that_errs(env_id: str, simulator: str, category: str) -> None:
    given = RUNS[env_id]["env_args"] if category == "conversation" else {"category": AS_ANSWERS[env_id]}
    env = gym.make(env_id, **given)
    with IADPolicyWrapper("solution:0.3", env, strategy="bon", n=2, verifier="proxy", simulator=simulator) as policy:
        observation, info = env.reset(seed=0)
        while not info["stop_reason"]:
            observation, _, _, _, info = env.step(policy.act(observation, info))
        assert policy.spent["simulator"].simulations > 0
    env.close()

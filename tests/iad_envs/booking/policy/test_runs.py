"""A run on the booking site as its reader meets it: the report, the exports, AgentBoard's files, a noisy simulator."""

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import IADPolicyWrapper, evaluate
from iad_policy.ledger.run import Run
from iad_policy.models.parsing import Grammar, read_action
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.agentboard import write_agentboard
from iad_policy.report.exports import export_runs
from iad_policy.report.viewer.shown import ShownTable, episode_json, run_json
from iad_policy.types.outcome_types import type_of
from tests.iad_envs.booking.policy.visits import Visit

ENV = "IAD/Booking-v0"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs") / "booking"
    evaluate(ENV, ["single", "bon"], n=2, tasks=2, out=folder)
    return Run(folder)


def rows(run: Run, form: str, folder: Path) -> list[dict[str, Any]]:
    out = folder / f"{form}.jsonl"
    export_runs([run], form, out)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_the_viewer_shows_pages_candidates_and_what_the_verifier_says(run: Run) -> None:
    assert run_json(run)["env"] == ENV
    key = next(key for key, record in run.records.items() if record.strategy == "bon")
    table = ShownTable()
    shown = json.dumps([episode_json(run, key, table), table.texts], ensure_ascii=False)
    for text in ("Tablefind: Book a table", "Today is Monday, 2 March 2026.", "Still to settle: ", "CLICK [go]"):
        assert text in shown


@pytest.mark.parametrize("form", ["sft", "preference", "kto"])
def test_what_is_exported_for_training_is_read_again(run: Run, form: str, tmp_path: Path) -> None:
    found = rows(run, form, tmp_path)
    assert found
    page = Grammar.of(("CLICK [home]", "TYPE [q] [...]"), "page")
    for row in found:
        (text,) = {"sft": row.get("messages"), "preference": row.get("chosen"), "kto": row.get("completion")}[form][-1:]
        action = read_action(text["content"], page).action
        assert action is not None, text
        assert action in text["content"]


def test_agentboard_s_files_have_it_among_the_websites(run: Run, tmp_path: Path) -> None:
    write_agentboard([run], tmp_path)
    lines = (tmp_path / "bon" / "all_results.txt").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["task_name"] for line in lines] == ["booking", "web_summary", "all_summary"]


def test_stand_ins_lead_to_outcomes_of_several_kinds_anywhere() -> None:
    visit = Visit("test-000")
    for actions in ((), ("CLICK [go]",), ("CLICK [mine]",)):
        visit.did(*actions)
        ends = [visit.tried(action).preview for action in domain_by_id(ENV).stand_ins]
        kinds = {type_of(end.info, end.done) for end in ends if end is not None}
        assert {"invalid", "success"} <= kinds or len(kinds) >= 3, kinds


def test_it_is_played_with_a_simulator_that_errs() -> None:
    env = gym.make(ENV)
    with IADPolicyWrapper("booker", env, strategy="bon", n=2, verifier="proxy", simulator="noisy:0.5") as policy:
        observation, info = env.reset(options={"task_id": "test-000"})
        while not info["stop_reason"]:
            observation, _, _, _, info = env.step(policy.act(observation, info))
        assert policy.spent["simulator"].simulations > 0

"""A run on the booking site as its reader meets it: the report, the exports, AgentBoard's files."""

import json
from pathlib import Path

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.ledger.run import Run
from iad_policy.models.parsing import Grammar, read_action
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.agentboard import write_agentboard
from iad_policy.report.exports import export_runs
from iad_policy.report.viewer.shown import ShownTable, episode_json
from iad_policy.types.outcome_types import type_of
from tests.iad_envs.booking.policy.visits import Visit

ENV = "IAD/Booking-v0"


def test_a_run_is_shown_and_exported_for_training_and_is_among_the_websites(tmp_path: Path) -> None:
    evaluate(ENV, ["single", "bon"], n=2, tasks=2, out=tmp_path / "booking")
    run = Run(tmp_path / "booking")
    key = next(key for key, record in run.records.items() if record.strategy == "bon")
    table = ShownTable()
    shown = json.dumps([episode_json(run, key, table), table.texts], ensure_ascii=False)
    for text in ("Tablefind: Book a table", "Today is Monday, 2 March 2026.", "Still to settle: ", "CLICK [go]"):
        assert text in shown
    page = Grammar.of(("CLICK [home]", "TYPE [q] [...]"), "page")
    for form, part in (("sft", "messages"), ("preference", "chosen"), ("kto", "completion")):
        export_runs([run], form, tmp_path / form)
        rows = [json.loads(line) for line in (tmp_path / form).read_text(encoding="utf-8").splitlines()]
        assert rows
        for row in rows:
            text = row[part][-1]["content"]
            action = read_action(text, page).action
            assert action is not None, text
            assert action in text
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

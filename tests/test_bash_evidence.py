"""The attempts by which the shell's verifier is measured: tasks for fitting and for reports, and what is right."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(FOLDER)
    from support import bash_verifier

    yield bash_verifier
    for name in [name for name in sys.modules if name.partition(".")[0] == "support"]:
        del sys.modules[name]


def test_tasks_for_fitting_and_for_reports_are_apart(measured: Any, tmp_path: Path) -> None:
    fitting, held_out = (
        {task.task_id: task.split for task in measured.TaskSet(measured.BUNDLED, held_out=held_out).tasks}
        for held_out in (False, True)
    )
    assert (set(fitting.values()), set(held_out.values())) == ({"tuning"}, {"test"})
    rows = [{"query": f"Count {number}", "gold": f"echo {number}"} for number in range(100)]
    (tmp_path / "tasks_fs_1.json").write_text(json.dumps(rows), encoding="utf-8")
    halves = [
        {task.task_id for task in measured.TaskSet(tmp_path, held_out=held_out).tasks} for held_out in (False, True)
    ]
    assert not halves[0] & halves[1]
    assert all(len(half) > 30 for half in halves)


def test_attempts_are_labelled_by_running_them(measured: Any, tmp_path: Path) -> None:
    task = measured.HELD_OUT.tasks[0]
    recorded = tmp_path / "attempts.jsonl"
    attempts = [["ls", task.gold], ["no-such-command"], [task.gold, "ls /"]]
    lines = [json.dumps({"task_id": task.task_id, "source": "me", "commands": commands}) for commands in attempts]
    recorded.write_text("\n".join(lines), encoding="utf-8")
    after_looking, unknown, looks_after = measured.run_attempts(measured.HELD_OUT, recorded=[recorded], n_tasks=1)
    assert [row.is_right for row in (after_looking, unknown, looks_after)] == [True, False, False]
    assert [turn.action for turn in after_looking.after.history] == ["ls", task.gold]
    assert after_looking.submit.preview.info["page"]["submitted"]
    found = measured.evidence_on([after_looking, unknown, looks_after])
    assert (found.auc, found.n_pos, found.n_neg) == (None, 1, 2)
    constructed = list(measured.run_attempts(measured.HELD_OUT, n_tasks=1))
    rights = {row.attempt.source: row.is_right for row in constructed}
    expected = {"gold": True, "gold after an error": True, "only looks": False, "misspelt": False}
    assert rights | expected == rights

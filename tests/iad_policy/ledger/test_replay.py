"""`replay:FILE` in every environment: a run of recorded actions gets what `iad score` gives the same file."""

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from typer.testing import CliRunner

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.cli import app
from iad_policy.ledger.run import Run

WORDS = {"IAD/WebShop-v0": "search[lamp]", "IAD/InterCodeBash-v0": "ls", "IAD/BIRD-v0": "execute[SELECT 1]"}
ENVS = (*WORDS, "IAD/Booking-v0", "IAD/BFCL-v0", "IAD/ACEBench-v0")
N_TASKS = 3


def recorded(env_id: str, path: Path) -> Path:
    """A file with the solutions of two tasks, and actions for a third one that don't solve it."""
    env = gym.make(env_id)
    lines = []
    for task in env.unwrapped.task_ids[:N_TASKS]:  # type: ignore[attr-defined]
        env.reset(options={"task_id": task})
        solution = list(env.unwrapped.oracle(env.unwrapped.snapshot())["solution"])  # type: ignore[attr-defined]
        lines.append({"task_id": task, "actions": solution})
    env.close()
    lines[-1]["actions"] = [*([WORDS[env_id]] if env_id in WORDS else []), lines[-1]["actions"][-1]]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.mark.parametrize("env_id", ENVS)
def test_a_run_of_recorded_actions_gets_what_score_gives(env_id: str, tmp_path: Path) -> None:
    file = recorded(env_id, tmp_path / "actions.jsonl")
    evaluate(env_id, ["single"], N_TASKS, agent=f"replay:{file}", out=tmp_path / "run")
    records = {one.task_id: one for one in Run(tmp_path / "run").records.values()}
    lines = tmp_path / "scored.jsonl"
    asked = ("score", str(file), "--env", env_id, "--tasks", str(N_TASKS), "--workers", "1", "--out", str(lines))
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 0, said.output
    scored: list[dict[str, Any]] = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(scored) == len(records) == N_TASKS
    for one in scored:
        record = records[one["task_id"]]
        assert record.success == one["success"]
        assert record.progress == pytest.approx(one["progress"])
        assert record.reward == pytest.approx(one["reward"])
    assert [records[one["task_id"]].success for one in scored][:2] == [1.0, 1.0]

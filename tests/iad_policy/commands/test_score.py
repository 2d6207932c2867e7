"""`iad score` as it is used: a table that fits, JSON, a line for each task, and input that is damaged or wrong."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from tests import command_line
from tests.iad_policy.report.snapshots import require_snapshot
from tests.iad_policy.toy_lamp import LampEnv

ROOT = Path(__file__).parents[3]
FILES = ROOT / "tests" / "fixtures" / "predictions"
SAMPLES = sorted((FILES / "bird").iterdir())
SUBSET = ("--env", "IAD/BIRD-v0", "--tasks", 40)
BIRD, SHOP = "IAD/BIRD-v0", "IAD/WebShop-v0"


def iad(*arguments: object, columns: int | None = None) -> Any:
    return command_line.iad(*arguments, env={} if columns is None else {"COLUMNS": str(columns)})


@cache
def score(*arguments: object, columns: int | None = None) -> str:
    """What is printed: the same command is run once for all tests."""
    done = iad("score", *arguments, columns=columns)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def figures(*arguments: object) -> Any:
    return json.loads(score(*arguments, "--json"))


def test_a_folder_is_as_good_as_its_files_and_the_table_of_the_documents_is_what_is_printed() -> None:
    one = figures(*SAMPLES, *SUBSET)["arms"]["3 files"]
    assert one == figures(FILES / "bird", *SUBSET)["arms"]["bird"]
    assert one["success"]["n_tasks"] == 40
    assert one["majority_at"]["3"]["value"] <= one["pass_at"]["3"]["value"]
    assert one["pass_at"]["3"]["value"] > one["success"]["value"] > one["pass_hat"]["3"]["value"]
    page = (ROOT / "docs" / "score-predictions.md").read_text(encoding="utf-8")
    table = page.partition("```text\n")[2].partition("```")[0]
    shown = score(FILES / "bird", *SUBSET, columns=100)
    assert table.splitlines() == [line.rstrip() for line in shown.rstrip().splitlines()]


def test_missing_tasks_count_as_wrong_unless_they_are_left_out() -> None:
    """Only of BIRD it is the field's rule that they are wrong."""
    few = (SAMPLES[0], "--env", BIRD, "--tasks", 60)
    wrong, left_out = (figures(*few, "--missing", rule)["arms"]["sample-1"] for rule in ("wrong", "left-out"))
    assert (wrong["n_missing"], wrong["n_tasks"], left_out["n_missing"], left_out["n_tasks"]) == (20, 60, 20, 40)
    assert wrong["success"]["value"] == pytest.approx(left_out["success"]["value"] * 40 / 60)
    for given in (few, (FILES / "shopper.jsonl", "--env", SHOP, "--tasks", 21)):
        for rule in ("wrong", "left-out"):
            said = " ".join(score(*given, "--missing", rule).split())
            assert "MISSING in" in said
            assert ("evaluator" in said) == (BIRD in given)


def test_every_task_gets_a_line(tmp_path: Path) -> None:
    out = tmp_path / "tasks.jsonl"
    shown = score(FILES / "bird", *SUBSET, "--out", out)
    assert shown.splitlines()[-1] == f"Tasks: {out}"
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len({line["task_id"] for line in lines}) == len(lines) == 40
    of_arm = figures(FILES / "bird", *SUBSET)["arms"]["bird"]
    assert sum(line["success"] for line in lines) / 40 == pytest.approx(of_arm["success"]["value"])
    attempt, *_ = lines[0]["attempts"]
    assert attempt["place"] == f"{SAMPLES[0]}, line 2"
    assert {"ex", "soft_f1", "sound", "rejected", "verdict", "result"} <= attempt.keys()
    # The verdict follows `sound`, which can be right where EX is not.
    tried = [one for line in lines for one in line["attempts"]]
    assert all((one["verdict"] == "right") == (one["sound"] == 1) for one in tried)
    assert {(one["ex"], one["sound"]) for one in tried} >= {(0.0, 1.0), (1.0, 0.0)}
    again = iad("analyse", "--jsonl", out, "--columns", "task=task_id,score=soft_f1,success=", "--json")
    mean = of_arm["scores"]["soft_f1"]["value"]
    assert json.loads(again.stdout)["arms"]["bird"]["score"]["value"] == pytest.approx(mean)


def test_answers_and_recorded_actions_may_be_scored_together(tmp_path: Path) -> None:
    actions = tmp_path / "actions.jsonl"
    read = json.loads(SAMPLES[1].read_text()).items()
    lines = [{"task_id": task, "actions": ["execute[SELECT 1]", f"submit[{sql}]"]} for task, sql in read]
    actions.write_text("\n".join(map(json.dumps, lines)))
    read = figures(SAMPLES[0], actions, SAMPLES[1], "--compare", *SUBSET)["arms"]
    for figure in ("success", "by_difficulty", "n_missing"):
        assert read["actions"][figure] == read["sample-2"][figure]
    assert read["actions"]["scores"]["soft_f1"] == read["sample-2"]["scores"]["soft_f1"]
    assert read["sample-1"] == figures(SAMPLES[0], *SUBSET)["arms"]["sample-1"]


def test_samples_and_two_agents_actions_are_shown_as_was_looked_at() -> None:
    given = (FILES / "shopper.jsonl", FILES / "random.jsonl", "--compare", "--env", SHOP, "--tasks", 20)
    samples, agents = score(*SAMPLES, *SUBSET, columns=80), score(*given, columns=100)
    require_snapshot("scores.txt", f"=== samples\n{samples}\n=== agents\n{agents}")


def test_r_ves_is_measured_where_asked_and_the_published_scoring_is_the_default() -> None:
    given = (SAMPLES[0], "--env", BIRD, "--tasks", 1)
    assert ["R-VES" in score(*given, *asked) for asked in (("--r-ves", 3), ())] == [True, False]
    assert figures(*given)["arms"] == figures(*given, "--env-arg", "scoring=official")["arms"]
    assert "by the rule `sound`" in score(*given, "--env-arg", "scoring=sound")


class InterruptedLamp(LampEnv):
    """Ctrl-C comes while an action waits."""

    def step(self, action: str) -> Any:
        if action == "wait":
            raise KeyboardInterrupt
        return super().step(action)


def test_ctrl_c_keeps_what_was_scored(tmp_path: Path) -> None:
    gym.register("InterruptedLamp-v0", InterruptedLamp)
    actions = [["paint[red]", "leave[now]"], ["leave[now]"], ["wait"], ["leave[now]"]]
    lines = [json.dumps({"task_id": "red", "actions": one}) for one in actions]
    (tmp_path / "file.jsonl").write_text("\n".join(lines))
    done = iad("score", tmp_path / "file.jsonl", "--env", "InterruptedLamp-v0", "--workers", 1, "--missing", "left-out")
    assert done.exit_code == 130
    assert "NOT SCORED in file, and left out: 2 not scored." in done.stdout
    assert "0.500" in done.stdout

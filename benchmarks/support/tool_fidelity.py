"""Counts how often we agree with recorded verdicts of the official scripts, and plays gold with explored forks."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium as gym
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.acebench.checkout import CATEGORIES, NORMAL, AceCheckout
from iad_envs.toolcalls.acebench.scoring.agent_tasks import score_agent
from iad_envs.toolcalls.acebench.scoring.normal import check_normal
from iad_envs.toolcalls.acebench.scoring.special import check_special
from iad_envs.toolcalls.bfcl.classes import OfficialClasses
from iad_envs.toolcalls.bfcl.data import MULTI_TURN, SINGLE_TURN, OfficialFiles
from iad_envs.toolcalls.bfcl.decoding import decoded, decoded_messages
from iad_envs.toolcalls.bfcl.scoring.multi_turn import TurnsJudge, play, read_officially
from iad_envs.toolcalls.bfcl.scoring.single_turn import check_calls
from iad_envs.toolcalls.calls import UnreadableCalls, read_calls

NUMBERED = ("inbox", "reminder_list")
"""Attributes of ACEBench with integers as keys, which a file has as texts."""
MADE_FROM_GOLD = frozenset(
    {"gold_state", "state_changed", "extra_entry_in_dict", "class_name_unknown", "class_missing", "extra_attribute"}
)


def gold_through_the_environment(folder: Path, category: str, n_tasks: int) -> None:
    """Print how many gold solutions score 1 if before each step all their actions are explored in a fork."""
    env: Any = gym.make("IAD/BFCL-v0", data_dir=folder, category=category, scoring="official").unwrapped
    right = 0
    task_ids = list(env.task_ids)[:n_tasks]
    for task_id in task_ids:
        env.reset(options={"task_id": task_id})
        actions = env._solution(env._task(task_id))
        reward = 0.0
        for action in actions:
            token = env.snapshot()
            for other in actions[:6]:
                ahead = env.simulate(token, other)
                if not ahead.done:
                    env.simulate(ahead.token, action)
            _, reward, *_ = env.step(action)
        right += reward == 1.0
    share = right / len(task_ids)
    figure(f"gold_{category}", share, "share", target=1.0, better="higher", n=len(task_ids))


def bfcl_agreement(data: Path, vectors: Path) -> None:
    """Print the share of recorded BFCL verdicts that we give as well, by category."""
    folder = data / "bfcl" / "bfcl_eval"
    files, classes = OfficialFiles(folder), OfficialClasses(folder)
    tasks = {key: one for category in MULTI_TURN for key, one in files.conversations(category).items()}
    right: Counter[str] = Counter()
    n_rows: Counter[str] = Counter()
    judges: dict[str, TurnsJudge] = {}
    for row in _rows(vectors / "bfcl_multi_turn.json"):
        task = tasks[row["id"]]
        judge = judges.setdefault(task.task_id, TurnsJudge(task, classes.toolbox(task.classes)))
        verdict = judge.check(play(judge, row["answer"], read_officially))
        category = task.task_id.rpartition("_")[0]
        n_rows[category] += 1
        right[category] += (verdict.valid, verdict.error_type or None) == (row["valid"], row.get("error_type"))
    questions = {key: one for name in SINGLE_TURN for key, one in files.questions(name).items()}
    names = {task_id: name for name in SINGLE_TURN for task_id in files.questions(name)}
    for row in _rows(vectors / "bfcl_single_turn.json"):
        read = decoded if row["mode"] == "prompting" else decoded_messages
        try:
            calls = read(row["answer"])
        except UnreadableCalls:
            calls = None
        found = check_calls(questions[row["id"]], calls, dots_to_underscores=row.get("dots_to_underscores", False))
        n_rows[names[row["id"]]] += 1
        right[names[row["id"]]] += found.valid == row["valid"]
    for row in _rows(vectors / "bfcl_hostile.json"):
        n_rows["hostile"] += 1
        right["hostile"] += _is_plain(row)
    _print("bfcl", right, n_rows)


def _is_plain(row: dict[str, Any]) -> bool:
    """Whether a hostile text is refused, or read as the plain calls that it may be."""
    if row["text"] is None:
        return True
    try:
        calls = read_calls(row["text"])
    except UnreadableCalls:
        return True
    return bool(json.loads(json.dumps([[call.name, call.arguments] for call in calls])) == row["plain_calls"])


def acebench_agreement(data: Path, vectors: Path) -> None:
    """Print the share of recorded ACEBench verdicts that we give as well, by category."""
    checkout = AceCheckout(data / "acebench")
    tasks = {task.task_id: task for category in CATEGORIES for task in checkout.tasks(category)}
    golds = {key: gold for category in CATEGORIES for key, gold in checkout.gold(category).items()}
    right: Counter[str] = Counter()
    n_rows: Counter[str] = Counter()
    for row in _rows(vectors / "acebench_normal_special.json"):
        task, gold = tasks[row["id"]], golds[row["id"]]
        check = check_normal if task.category in NORMAL else check_special
        n_rows[task.category] += 1
        right[task.category] += check(task, gold, row["answer"]).valid == row["valid"]
    for row in _rows(vectors / "acebench_agent.json"):
        final = row["final"] if row["kind"] in MADE_FROM_GOLD else _in_memory(row["final"])
        score = score_agent(golds[row["id"]], final, row["process"])
        category = tasks[row["id"]].category
        n_rows[category] += 1
        given = (score.end_to_end, round(score.process, 3))
        right[category] += given == (row["end_to_end"], row["process_accuracy"])
    _print("acebench", right, n_rows)


def _in_memory(final: list[dict[str, dict[str, Any]]]) -> list[dict[str, dict[str, Any]]]:
    """Return a recorded state with the integers as keys that it had in memory."""
    return [
        {
            name: {
                key: {int(number): item for number, item in value.items()} if key in NUMBERED else value
                for key, value in attributes.items()
            }
            for name, attributes in one.items()
        }
        for one in final
    ]


def _rows(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


def _print(about: str, right: Counter[str], n_rows: Counter[str]) -> None:
    for category, n in sorted(n_rows.items()):
        figure(f"{about}_agreement_{category}", right[category] / n, "share", target=1.0, better="higher", n=n)

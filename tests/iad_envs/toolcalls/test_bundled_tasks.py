"""The bundled tasks of both benchmarks: how many, that each is a good one, and that they are what is drawn."""

import json
from collections import Counter
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from iad_envs.toolcalls.acebench.checkout import AGENT, CATEGORIES, NORMAL, SPECIAL, AceCheckout, AceGold, AceTask
from tests.iad_envs.data_scripts import DATA, loaded, ran

SPLITS = {"train": range(24), "dev": range(24, 36), "test": range(36, 60)}
MULTI_TURN = ("base", "miss_func", "miss_param", "long_context")
WITH_GOLD = ("simple_python", "multiple", "parallel", "parallel_multiple")
N_SINGLE = dict.fromkeys((*WITH_GOLD, "irrelevance"), (16, 8, 16)) | {"live_relevance": (8, 4, 8)}
N_ACE = dict.fromkeys(NORMAL, (4, 2, 4)) | dict.fromkeys(SPECIAL, (8, 4, 8)) | dict.fromkeys(AGENT, (16, 8, 16))


def rows(name: str) -> list[dict[str, Any]]:
    path = DATA / "bfcl" / "data" / f"{name}.json"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@cache
def multi_turn(category: str) -> list[tuple[dict[str, Any], list[list[str]]]]:
    gold = {row["id"]: row["ground_truth"] for row in rows(f"possible_answer/BFCL_v4_multi_turn_{category}")}
    return [(row, gold[row["id"]]) for row in rows(f"BFCL_v4_multi_turn_{category}")]


@cache
def ace(category: str) -> list[tuple[AceTask, AceGold]]:
    checkout = AceCheckout(DATA / "acebench")
    gold = checkout.gold(category)
    return [(one, gold[one.task_id]) for one in checkout.tasks(category)]


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ["bfcl", "acebench"])
def test_the_files_are_what_is_drawn(benchmark: str) -> None:
    """Nothing is drawn that the checks complain about, and the documents are those of the worlds."""
    assert ran(f"{benchmark}/make_tasks.py", "--check") == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bfcl/BFCL_v4_multi_turn_base", "acebench/data_agent_multi_turn"])
def test_another_seed_gives_other_tasks(name: str) -> None:
    benchmark, _, file = name.partition("/")
    code, said = ran(f"{benchmark}/make_tasks.py", "--seed", "5", "--check")
    assert (code, f"{file}.json: differs" in said, "multi_turn_func_doc" in said) == (1, True, False)


def test_questions_of_a_category_want_what_it_says_and_a_function_is_in_one_split() -> None:
    splits: dict[str, set[str]] = {}
    for category, n_tasks in N_SINGLE.items():
        tasks = rows(f"BFCL_v4_{category}")
        counts = Counter(one["split"] for one in tasks)
        assert (*map(counts.get, SPLITS), len({one["id"] for one in tasks})) == (*n_tasks, len(tasks))
        for one in tasks:
            for function in one["function"]:
                splits.setdefault(function["name"], set()).add(one["split"])
    assert {len(one) for one in splits.values()} == {1}


def test_tasks_of_acebench_share_no_function_and_no_person_across_splits() -> None:
    functions, people = Counter[str](), Counter[str]()
    for split in SPLITS:
        of_split = [task for category in CATEGORIES for task, _ in ace(category) if task.split == split]
        functions.update({one["name"] for task in of_split if task.category not in AGENT for one in task.functions})
        met = [one["name"] for task in of_split for one in task.initial_config.get("Messages", {}).get("people", ())]
        people.update({part for name in met for part in name.split()})
    assert (len(functions), len(people) > 30, {*functions.values(), *people.values()}) == (60, True, {1})
    for category, n_tasks in N_ACE.items():
        tasks = [task for task, _ in ace(category)]
        assert tuple(sum(task.split == split for task in tasks) for split in SPLITS) == n_tasks
        assert len({one.task_id for one in tasks}) == len({(one.question, one.profile) for one in tasks}) == len(tasks)


def spoilt_conversation(fault: str) -> Any:
    entry, gold = deepcopy(next(task for task in multi_turn("base") if task[0]["difficulty"] == "hard"))
    if fault == "can't be known":
        return entry, [gold[0][1:], *gold[1:]]
    return entry, [gold[0], [gold[0][0], *gold[1]], *gold[2:]] if fault == "accepted without" else [[] for _ in gold]


def spoilt_agent_task(fault: str) -> Any:
    difficulty, category = "easy" if "known" in fault else "hard", "agent_multi_turn" if "user" in fault else AGENT[0]
    task, gold = next(one for one in ace(category) if one[0].difficulty == difficulty)
    stones = gold.milestones[0]
    refused, needless = ("[log_in_phone(pin='no')]", *stones), (*stones, "[check_phone()]")
    for word, others in {"gold": stones[:-1], "without": needless, "refused": refused}.items():
        if word in fault:
            return task, gold._replace(milestones=(others,))
    if "known" in fault:
        return task._replace(question="Please go on."), gold
    waiting = [{**goal, "holds": {"Phone": {"wifi": "maybe"}}} for goal in task.script["goals"]]
    return task._replace(script={**task.script, "goals": waiting}), gold


def test_what_is_wrong_with_a_task_is_found() -> None:
    conversations, tasks = loaded("bfcl/checking.py"), loaded("acebench/ace_checking.py")
    for fault in ("can't be known", "accepted without", "to do nothing is accepted"):
        assert any(fault in one for one in conversations.faults(*spoilt_conversation(fault))), fault
    for fault in ("gold is not accepted", "without [check_phone()]", "is refused", "can't be known", "user waits for"):
        assert any(fault in one for one in tasks.faults(*spoilt_agent_task(fault))), fault

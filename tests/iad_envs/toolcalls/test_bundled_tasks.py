"""The bundled tasks of both benchmarks: how many, that each is a good one, and that they are what is drawn."""

import json
from collections import Counter
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from iad_envs.toolcalls.acebench.checkout import AGENT, CATEGORIES, NORMAL, SPECIAL, AceCheckout, AceGold, AceTask
from iad_envs.toolcalls.acebench.reading import read_agent
from iad_envs.toolcalls.worlds import ACE_WORLD_NAMES, WORLD_NAMES, world
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


def functions_of(names: tuple[str, ...]) -> set[str]:
    return {one["name"] for name in names for one in world(name).documents}


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


def test_conversations_are_told_in_four_ways_and_call_every_function() -> None:
    for category in MULTI_TURN:
        tasks = [entry for entry, _ in multi_turn(category)]
        assert [entry["id"] for entry in tasks] == [f"multi_turn_{category}_{number}" for number in range(60)]
        for split, numbers in SPLITS.items():
            assert {tasks[number]["split"] for number in numbers} == {split}
            if category == "base":
                counts = Counter(tasks[number]["difficulty"] for number in numbers)
                assert (counts["easy"], counts["hard"]) == (len(numbers) * 5 // 12, len(numbers) // 2)
    for (base, gold), (late, late_gold), (short, short_gold), (long, long_gold) in zip(
        *map(multi_turn, MULTI_TURN), strict=True
    ):
        assert base["initial_config"] == late["initial_config"] == short["initial_config"] == long["initial_config"]
        assert (long["question"], long_gold, late["difficulty"]) == (base["question"], gold, "hard")
        assert [calls for calls in late_gold if calls] == [calls for calls in short_gold if calls] == gold
        assert len(late_gold) == len(short_gold) == len(gold) + 1
        ((turn, names),) = late["missed_function"].items()
        assert late["question"][int(turn)] == late_gold[int(turn) - 1] == []
        assert {call.partition("(")[0] for call in late_gold[int(turn)]} == set(names)
        assert [one for one in late["question"] if one] == base["question"]
        assert sum(one not in base["question"] for one in short["question"]) == 2
    called = {call.partition("(")[0] for _, gold in multi_turn("base") for calls in gold for call in calls}
    assert called == functions_of(WORLD_NAMES)


def test_questions_of_a_category_want_what_it_says_and_a_function_is_in_one_split() -> None:
    splits: dict[str, set[str]] = {}
    for category, n_tasks in N_SINGLE.items():
        tasks = rows(f"BFCL_v4_{category}")
        counts = Counter(one["split"] for one in tasks)
        assert (*map(counts.get, SPLITS), len({one["id"] for one in tasks})) == (*n_tasks, len(tasks))
        for one in tasks:
            names = [function["name"] for function in one["function"]]
            assert len(one["question"]) == len(one["question"][0]) == 1
            assert len(set(names)) == len(names)
            for name in names:
                splits.setdefault(name, set()).add(one["split"])
        if category in WITH_GOLD:
            golds = rows(f"possible_answer/BFCL_v4_{category}")
            assert {len(one["ground_truth"]) > 1 for one in golds} == {category.startswith("parallel")}
            assert {len(one["function"]) > 1 for one in tasks} == {category.endswith("multiple")}
    assert {len(one) for one in splits.values()} == {1}


def test_tasks_of_acebench_are_of_their_kinds_and_share_no_function_and_no_person_across_splits() -> None:
    functions, people, stones = Counter[str](), Counter[str](), []
    for split in SPLITS:
        of_split = [task for category in CATEGORIES for task, _ in ace(category) if task.split == split]
        functions.update({one["name"] for task in of_split if task.category not in AGENT for one in task.functions})
        met = [one["name"] for task in of_split for one in task.initial_config.get("Messages", {}).get("people", ())]
        people.update({part for name in met for part in name.split()})
    assert (len(functions), len(people) > 30, {*functions.values(), *people.values()}) == (60, True, {1})
    for category, n_tasks in N_ACE.items():
        tasks = [task for task, _ in ace(category)]
        counts = Counter((task.split, task.difficulty) for task in tasks)
        assert tuple(sum(task.split == split for task in tasks) for split in SPLITS) == n_tasks
        assert len({one.task_id for one in tasks}) == len({(one.question, one.profile) for one in tasks}) == len(tasks)
        if category.endswith(("switch", "adjust")):
            ids = [f"{category}_{number}_{turn}" for number in range(5) for turn in (0, 1)]
            assert [one.task_id for one in tasks] == ids
            for first, second in zip(tasks[::2], tasks[1::2], strict=True):
                assert (second.question.startswith(first.question), second.split) == (True, first.split)
        if category in AGENT:
            for split, n in zip(SPLITS, n_tasks, strict=True):
                assert min(counts[split, "easy"], counts[split, "hard"]) >= 0.4 * n
            for task, gold in ace(category):
                names = [one["name"] for one in task.functions]
                assert (set(names), len(set(names))) == (functions_of(task.involved_classes), len(names))
                assert [next(iter(one)) for one in gold.answer] == [*task.involved_classes] == [*task.initial_config]
                assert bool(task.script) is (category == "agent_multi_turn")
                stones += gold.milestones[0]
    called = {call.name for stone in stones for call in read_agent(stone, "sound")}
    assert functions_of(ACE_WORLD_NAMES) - called <= {"switch_wifi_off", "log_out_phone", "check_phone"}


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


@pytest.mark.parametrize("fault", ["can't be known", "accepted without", "to do nothing is accepted"])
def test_what_is_wrong_with_a_conversation_is_found(fault: str) -> None:
    assert any(fault in one for one in loaded("bfcl/checking.py").faults(*spoilt_conversation(fault)))


@pytest.mark.parametrize(
    "fault",
    ["gold is not accepted", "without [check_phone()]", "is refused", "can't be known", "user waits for"],
)
def test_what_is_wrong_with_an_agent_task_is_found(fault: str) -> None:
    assert any(fault in one for one in loaded("acebench/ace_checking.py").faults(*spoilt_agent_task(fault)))

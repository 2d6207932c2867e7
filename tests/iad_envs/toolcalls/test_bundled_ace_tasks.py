"""The bundled tasks in the form of ACEBench: how many, that each is a good one, and that they are what is drawn."""

import os
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from iad_envs.toolcalls.acebench.checkout import AGENT, CATEGORIES, NORMAL, SPECIAL, AceCheckout, AceGold, AceTask
from iad_envs.toolcalls.acebench.reading import read_agent
from iad_envs.toolcalls.worlds import ACE_WORLD_NAMES, world
from tests.iad_envs.data_scripts import loaded, ran

FOLDER = Path(__file__).parents[3] / "data" / "acebench"
OFFICIAL = Path(os.environ.get("IAD_REAL_DATA", "/nonexistent")) / "acebench"
SPLITS = ("train", "dev", "test")
N_TASKS = (
    dict.fromkeys(NORMAL, (4, 2, 4)) | dict.fromkeys(SPECIAL, (8, 4, 8)) | dict.fromkeys(AGENT, (16, 8, 16))
)  # fmt: skip


@cache
def tasks(category: str) -> list[tuple[AceTask, AceGold]]:
    checkout = AceCheckout(FOLDER)
    gold = checkout.gold(category)
    return [(one, gold[one.task_id]) for one in checkout.tasks(category)]


def test_the_files_are_what_is_drawn() -> None:
    """Nothing is drawn that the checks complain about, or that is not as hard as it says."""
    assert ran("acebench/make_tasks.py", "--check") == (0, "")


@pytest.mark.slow
def test_another_seed_gives_other_tasks() -> None:
    code, said = ran("acebench/make_tasks.py", "--seed", "5", "--check")
    assert code == 1
    assert "data_agent_multi_turn.json: differs" in said


@pytest.mark.parametrize("category", CATEGORIES)
def test_how_many_there_are(category: str) -> None:
    found = tasks(category)
    counts = Counter(task.split for task, _ in found)
    assert tuple(counts[split] for split in SPLITS) == N_TASKS[category]
    assert len({task.task_id for task, _ in found}) == len(found)
    assert len({(task.question, task.profile) for task, _ in found}) == len(found)
    assert {task.difficulty for task, _ in found} <= {"easy", "medium", "hard"}


def test_dialogues_have_two_turns_in_one_split() -> None:
    for category in ("normal_multi_turn_user_switch", "normal_multi_turn_user_adjust"):
        found = [task for task, _ in tasks(category)]
        assert [one.task_id for one in found] == [
            f"{category}_{number}_{turn}" for number in range(5) for turn in (0, 1)
        ]
        for first, second in zip(found[::2], found[1::2], strict=True):
            assert second.question.startswith(first.question)
            assert second.split == first.split


@pytest.mark.parametrize("category", AGENT)
def test_many_agent_tasks_are_easy_and_many_are_hard(category: str) -> None:
    counts = Counter((task.split, task.difficulty) for task, _ in tasks(category))
    for split, n in zip(SPLITS, N_TASKS[category], strict=True):
        assert counts[split, "easy"] >= 0.4 * n
        assert counts[split, "hard"] >= 0.4 * n


def test_functions_of_normal_and_special_tasks_and_people_of_agent_tasks_are_in_one_split() -> None:
    functions, people = Counter[str](), Counter[str]()
    for split in SPLITS:
        of_split = [task for category in CATEGORIES for task, _ in tasks(category) if task.split == split]
        functions.update({one["name"] for task in of_split if task.category not in AGENT for one in task.functions})
        met = [one["name"] for task in of_split for one in task.initial_config.get("Messages", {}).get("people", ())]
        people.update({part for name in met for part in name.split()})
    assert len(functions) == 60
    assert len(people) > 30
    assert {*functions.values(), *people.values()} == {1}


@pytest.mark.parametrize("category", AGENT)
def test_agent_tasks_offer_what_their_worlds_have(category: str) -> None:
    for task, gold in tasks(category):
        names = [one["name"] for one in task.functions]
        assert set(names) == {one["name"] for name in task.involved_classes for one in world(name).documents}
        assert len(set(names)) == len(names)
        assert [next(iter(one)) for one in gold.answer] == list(task.involved_classes) == list(task.initial_config)
        assert bool(task.script) is (category == "agent_multi_turn")


def test_what_changes_something_is_in_some_gold() -> None:
    stones = [stone for category in AGENT for _, gold in tasks(category) for stone in gold.milestones[0]]
    called = {call.name for stone in stones for call in read_agent(stone, "sound")}
    every = {one["name"] for name in ACE_WORLD_NAMES for one in world(name).documents}
    assert every - called <= {"switch_wifi_off", "log_out_phone", "check_phone"}


def spoilt(fault: str) -> tuple[AceTask, AceGold]:
    """A task with a fault."""
    category = "agent_multi_turn" if "user" in fault else "agent_multi_step"
    task, gold = next(one for one in tasks(category) if one[0].difficulty == ("easy" if "said" in fault else "hard"))
    stones, script = gold.milestones[0], task.script
    if fault == "a call is missing":
        return task, gold._replace(milestones=(stones[:-1],))
    if fault == "a call is needless":
        return task, gold._replace(milestones=((*stones, "[check_phone()]"),))
    if fault == "a call is refused":
        return task, gold._replace(milestones=(("[log_in_phone(pin='no')]", *stones),))
    if fault == "a value is not said":
        return task._replace(question="Please go on."), gold
    goals = [{**goal, "holds": {"Phone": {"wifi": "maybe"}}} for goal in script["goals"]]
    return task._replace(script={**script, "goals": goals}), gold


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("a call is missing", "gold is not accepted"),
        ("a call is needless", "accepted without [check_phone()]"),
        ("a call is refused", "is refused"),
        ("a value is not said", "can't be known"),
        ("the user waits for ever", "the user waits for goal 0"),
    ],
)
def test_what_is_wrong_is_found(fault: str, said: str) -> None:
    assert any(said in one for one in loaded("acebench/ace_checking.py").faults(*spoilt(fault)))


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="no checkout of ACEBench in IAD_REAL_DATA")
def test_nothing_is_called_as_in_the_official_data() -> None:
    checkout = AceCheckout(OFFICIAL)
    official = {one["name"] for category in CATEGORIES for task in checkout.tasks(category) for one in task.functions}
    ours = {one["name"] for category in CATEGORIES for task, _ in tasks(category) for one in task.functions}
    assert len(official) > 1000
    assert not official & ours
    questions = {task.question for category in CATEGORIES for task in checkout.tasks(category)}
    assert not questions & {task.question for category in CATEGORIES for task, _ in tasks(category)}

"""The bundled tasks in the form of ACEBench: how many, that each is a good one, and that they are what is drawn."""

import os
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from iad_envs.toolcalls.acebench.checkout import AGENT, CATEGORIES, NORMAL, SPECIAL, AceCheckout, AceGold, AceTask
from iad_envs.toolcalls.acebench.checkout import DATA as TASKS
from iad_envs.toolcalls.worlds import ACE_WORLD_NAMES, world
from tests.iad_envs.toolcalls.generators import DATA, checking, require_what_is_drawn

OFFICIAL = Path(os.environ.get("IAD_REAL_DATA", "/nonexistent")) / "acebench"
N_TASKS = dict.fromkeys(NORMAL, (4, 2, 4)) | dict.fromkeys(SPECIAL, (8, 4, 8)) | dict.fromkeys(AGENT, (16, 8, 16))
"""Of train, dev and test."""


@cache
def tasks(category: str) -> list[tuple[AceTask, AceGold]]:
    checkout = AceCheckout(DATA / "acebench")
    gold = checkout.gold(category)
    return [(one, gold[one.task_id]) for one in checkout.tasks(category)]


def first(category: str, condition: Callable[[AceTask, AceGold], bool] = lambda *_: True) -> tuple[AceTask, AceGold]:
    return next(one for one in tasks(category) if condition(*one))


@pytest.fixture(scope="module")
def check() -> ModuleType:
    return checking("acebench/ace_checking.py")


def test_the_files_are_what_is_drawn(tmp_path: Path) -> None:
    assert "data_agent_multi_turn.json: differs" in require_what_is_drawn("acebench", tmp_path)
    assert sum(path.stat().st_size for path in (DATA / "acebench" / TASKS).rglob("*.json")) < 2_000_000


@pytest.mark.parametrize("category", CATEGORIES)
def test_there_are_enough_and_nothing_is_wrong_with_any(category: str, check: ModuleType) -> None:
    found = tasks(category)
    counts = Counter(task.split for task, _ in found)
    assert tuple(counts[split] for split in ("train", "dev", "test")) == N_TASKS[category]
    assert len({task.task_id for task, _ in found}) == len(found)
    assert len({(task.question, task.profile) for task, _ in found}) == len(found)
    for task, gold in found:
        assert task.difficulty in ("easy", "medium", "hard")
        assert check.faults(task, gold) == [], task.task_id


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
def test_agent_tasks_are_as_hard_as_they_say_and_offer_what_their_worlds_have(category: str, check: ModuleType) -> None:
    for task, gold in tasks(category):
        assert check.agent_difficulty(task, gold) == task.difficulty, task.task_id
        names = [one["name"] for one in task.functions]
        assert set(names) == {one["name"] for name in task.involved_classes for one in world(name).documents}
        assert len(set(names)) == len(names)
        assert [next(iter(one)) for one in gold.answer] == list(task.involved_classes) == list(task.initial_config)
        assert bool(task.script) is (category == "agent_multi_turn")
    counts = Counter((task.split, task.difficulty) for task, _ in tasks(category))
    for split, n in zip(("train", "dev", "test"), N_TASKS[category], strict=True):
        assert min(counts[split, "easy"], counts[split, "hard"]) >= 0.4 * n


def test_functions_and_people_are_in_one_split() -> None:
    functions, people = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for task, _ in (one for category in (*NORMAL, *SPECIAL) for one in tasks(category)):
        for one in task.functions:
            functions[one["name"]].add(task.split)
    for task, _ in (one for category in AGENT for one in tasks(category)):
        for one in task.initial_config.get("Messages", {}).get("people", ()):
            for part in one["name"].split():
                people[part].add(task.split)
    assert (len(functions), len(people) > 30) == (60, True)
    assert {len(splits) for splits in (*functions.values(), *people.values())} == {1}


def test_gold_calls_all_that_changes_something_and_meets_obstacles(check: ModuleType) -> None:
    met: Counter[str] = Counter()
    for task, gold in (one for category in AGENT for one in tasks(category)):
        for call, known in check.ways(task, gold, check.words_of(task)):
            met[call.name] += 1
            met["flow"] += "returned" in known
    every = {one["name"] for name in ACE_WORLD_NAMES for one in world(name).documents}
    assert every - met.keys() <= {"switch_wifi_off", "log_out_phone", "check_phone"}
    assert all(met[name] >= 3 for name in check.SETTINGS)
    assert met["flow"] >= 30


def test_an_id_that_is_told_too_early_is_found(check: ModuleType) -> None:
    task, gold = first("agent_multi_step", lambda _, gold: "set_reminder" in str(gold.milestones))
    shown = (result.shown for result in check.run_of(task, gold.milestones[0], "sound").results)
    new = next(one["reminder_id"] for one in shown if len(one) == 1 and "reminder_id" in one)
    early = task._replace(question=f"{task.question} I mean {new}.")
    assert f"{new} is said, and is not there yet" in check.faults(early, gold)


def changed(change: str, task: AceTask, gold: AceGold) -> tuple[AceTask, AceGold]:
    """A task with one thing that is wrong."""
    stones = gold.milestones[0] if gold.milestones else ()
    if change == "a call is missing":
        return task, gold._replace(milestones=(stones[:-1],))
    if change == "a call is needless":
        return task, gold._replace(milestones=((*stones, "[check_phone()]"),))
    if change == "a call is refused":
        return task, gold._replace(milestones=(("[log_in_phone(pin='no')]", *stones),))
    if change == "nothing is said":
        return task._replace(question="user: Please.\n"), gold
    if change == "the user knows nothing":
        return task._replace(script={**task.script, "facts": []}), gold
    if change == "a goal never holds":
        goals = [{**goal, "holds": {"Phone": {"wifi": "maybe"}}} for goal in task.script["goals"]]
        return task._replace(script={**task.script, "goals": goals}), gold
    if change == "a goal always holds":
        goals = [task.script["goals"][0], {**task.script["goals"][1], "holds": {}}]
        return task._replace(script={**task.script, "goals": goals}), gold
    return task, gold._replace(answer={next(iter(gold.answer)): [change]})


@pytest.mark.parametrize(
    ("category", "part", "change", "fault"),
    [
        *((category, "", "a call is missing", "gold is not accepted") for category in AGENT),
        *((category, "", "a call is needless", "sound: accepted without [check_phone()]") for category in AGENT),
        ("agent_multi_step", "", "a call is refused", "is refused"),
        ("agent_multi_step", "", "nothing is said", "can't be known"),
        ("agent_multi_turn", "sign_in", "the user knows nothing", "the user waits for goal 0"),
        ("agent_multi_turn", "", "a goal never holds", "the user waits for goal 0"),
        ("agent_multi_turn", "", "a goal always holds", "the user ends before"),
        ("normal_atom_number", "", "nothing is said", "can't be known"),
        ("special_incomplete", "", "nonsense", "does not need"),
        ("special_error_param", "", "-77", "is not said"),
    ],
)
def test_what_is_wrong_is_found(check: ModuleType, category: str, part: str, change: str, fault: str) -> None:
    is_agent = category in AGENT

    def fits(task: AceTask, gold: AceGold) -> bool:
        n_goals = len(task.script["goals"]) if task.script else 2
        return part in str(gold.milestones) and (not is_agent or (task.difficulty == "hard" and n_goals > 1))

    assert any(fault in one for one in check.faults(*changed(change, *first(category, fits))))


def test_a_wrong_type_is_found(check: ModuleType) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert check.ill_typed({"n": 3}, schema) == ""
    assert "type integer" in check.ill_typed({"n": True}, schema)
    assert "other parts" in check.ill_typed({}, schema)
    assert "one of" in check.ill_typed("c", {"type": "string", "enum": ["a"]})
    assert "type number" in check.ill_typed(["x"], {"type": "array", "items": {"type": "number"}})


def test_what_is_said(check: ModuleType) -> None:
    for value, words, is_said in (
        (False, "Send it without a ribbon.", True),
        (False, "Send it with a ribbon.", False),
        (True, "Send it with a ribbon.", True),
        (True, "Send it.", False),
        ({"count": 4, "kind": {"name": "oak"}}, "4 of the oak", True),
        ([{"count": 4}, {"count": 5}], "4 of them", False),
    ):
        assert check.stands_in(value, "ribbon", words) is is_said


def test_relative_days_are_in_hard_tasks(check: ModuleType) -> None:
    time = "Today is Tuesday, 2026-03-31."
    assert check.relative_days("Come tomorrow.", time) == "2026-04-01"
    assert check.relative_days("Come the day after tomorrow.", time) == "2026-04-02"
    assert check.relative_days("Come tomorrow.", "") == ""
    normal = [task for category in NORMAL for task, _ in tasks(category)]
    assert {one.difficulty for one in normal if check.relative_days(one.question, one.time)} == {"hard"}


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="no checkout of ACEBench in IAD_REAL_DATA")
def test_nothing_is_called_as_in_the_official_data() -> None:
    checkout = AceCheckout(OFFICIAL)
    official = [task for category in CATEGORIES for task in checkout.tasks(category)]
    ours = [task for category in CATEGORIES for task, _ in tasks(category)]
    names = {one["name"] for task in official for one in task.functions}
    assert len(names) > 1000
    assert not names & {one["name"] for task in ours for one in task.functions}
    assert not {task.question for task in official} & {task.question for task in ours}

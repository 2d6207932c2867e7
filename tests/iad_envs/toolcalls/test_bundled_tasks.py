"""The bundled function-calling tasks: how many there are, that each is a good one, and that they are what is drawn."""

import json
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from iad_envs.toolcalls.worlds import WORLD_NAMES, world
from tests.iad_envs.data_scripts import loaded, ran

DATA = Path(__file__).parents[3] / "data" / "bfcl" / "data"
MULTI_TURN = ("base", "miss_func", "miss_param", "long_context")
SPLITS = {"train": range(24), "dev": range(24, 36), "test": range(36, 60)}
N_SINGLE = {
    "simple_python": (16, 8, 16),
    "multiple": (16, 8, 16),
    "parallel": (16, 8, 16),
    "parallel_multiple": (16, 8, 16),
    "irrelevance": (16, 8, 16),
    "live_relevance": (8, 4, 8),
}
WITH_GOLD = [category for category in N_SINGLE if category not in ("irrelevance", "live_relevance")]


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


@cache
def multi_turn(category: str) -> list[tuple[dict[str, Any], list[list[str]]]]:
    name = f"BFCL_v4_multi_turn_{category}.json"
    gold = {row["id"]: row["ground_truth"] for row in rows(f"possible_answer/{name}")}
    return [(row, gold[row["id"]]) for row in rows(name)]


def scenario(number: int) -> Iterator[tuple[dict[str, Any], list[list[str]]]]:
    return (multi_turn(category)[number] for category in MULTI_TURN)


def test_the_files_are_what_is_drawn() -> None:
    """Nothing is drawn that the checks complain about, and the documents are those of the worlds."""
    assert ran("bfcl/make_tasks.py", "--check") == (0, "")


@pytest.mark.slow
def test_another_seed_gives_other_tasks() -> None:
    code, said = ran("bfcl/make_tasks.py", "--seed", "5", "--check")
    assert code == 1
    assert "BFCL_v4_multi_turn_base.json: differs" in said
    assert "multi_turn_func_doc" not in said


@pytest.mark.parametrize("category", MULTI_TURN)
def test_scenarios_are_split_by_their_number(category: str) -> None:
    tasks = multi_turn(category)
    assert [entry["id"] for entry, _ in tasks] == [f"multi_turn_{category}_{number}" for number in range(60)]
    for split, numbers in SPLITS.items():
        assert {tasks[number][0]["split"] for number in numbers} == {split}


def test_four_ways_to_tell_a_scenario() -> None:
    for number in range(60):
        (base, gold), (late, late_gold), (short, short_gold), (long, long_gold) = scenario(number)
        assert base["initial_config"] == late["initial_config"] == short["initial_config"] == long["initial_config"]
        assert (long["question"], long_gold) == (base["question"], gold)
        assert [calls for calls in late_gold if calls] == [calls for calls in short_gold if calls] == gold
        assert len(late_gold) == len(short_gold) == len(gold) + 1
        ((turn, names),) = late["missed_function"].items()
        assert late["question"][int(turn)] == []
        assert late_gold[int(turn) - 1] == []
        assert {call.partition("(")[0] for call in late_gold[int(turn)]} == set(names)
        assert [one for one in late["question"] if one] == base["question"]
        assert sum(one not in base["question"] for one in short["question"]) == 2


def test_difficulties_of_the_base_category() -> None:
    counts = Counter((entry["split"], entry["difficulty"]) for entry, _ in multi_turn("base"))
    for split, numbers in SPLITS.items():
        assert counts[split, "easy"] == len(numbers) * 5 // 12
        assert counts[split, "hard"] == len(numbers) // 2
    for category in ("miss_func", "miss_param"):
        assert {entry["difficulty"] for entry, _ in multi_turn(category)} == {"hard"}


def test_every_function_is_in_some_gold() -> None:
    called = {call.partition("(")[0] for _, gold in multi_turn("base") for calls in gold for call in calls}
    assert called == {one["name"] for name in WORLD_NAMES for one in world(name).documents}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("a call is missing", "can't be known"),
        ("what is known is looked up", "accepted without"),
        ("nothing is wanted", "to do nothing is accepted"),
    ],
)
def test_what_is_wrong_is_found(change: str, fault: str) -> None:
    entry, gold = deepcopy(next(task for task in multi_turn("base") if task[0]["difficulty"] == "hard"))
    if change == "a call is missing":
        gold[0] = gold[0][1:]
    elif change == "what is known is looked up":
        gold[1] = [gold[0][0], *gold[1]]
    else:
        gold = [[] for _ in gold]
    assert any(fault in one for one in loaded("bfcl/checking.py").faults(entry, gold))


@pytest.mark.parametrize("category", N_SINGLE)
def test_single_turn_tasks(category: str) -> None:
    tasks = rows(f"BFCL_v4_{category}.json")
    counts = Counter(one["split"] for one in tasks)
    assert tuple(counts[split] for split in SPLITS) == N_SINGLE[category]
    assert len({one["id"] for one in tasks}) == len(tasks)
    for one in tasks:
        assert len(one["question"]) == len(one["question"][0]) == 1
        assert len({function["name"] for function in one["function"]}) == len(one["function"])


def test_a_function_of_the_single_turn_tasks_is_in_one_split() -> None:
    splits: dict[str, set[str]] = {}
    for category in N_SINGLE:
        for one in rows(f"BFCL_v4_{category}.json"):
            for function in one["function"]:
                splits.setdefault(function["name"], set()).add(one["split"])
    assert {len(one) for one in splits.values()} == {1}


@pytest.mark.parametrize("category", WITH_GOLD)
def test_a_category_says_whether_several_calls_are_wanted_and_several_functions_offered(category: str) -> None:
    golds = rows(f"possible_answer/BFCL_v4_{category}.json")
    assert {len(one["ground_truth"]) > 1 for one in golds} == {category.startswith("parallel")}
    tasks = rows(f"BFCL_v4_{category}.json")
    assert {len(one["function"]) > 1 for one in tasks} == {category.endswith("multiple")}

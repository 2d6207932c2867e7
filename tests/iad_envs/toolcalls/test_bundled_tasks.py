"""The bundled function-calling tasks: how many there are, that each is a good one, and that they are what is drawn."""

import json
from collections import Counter
from copy import deepcopy
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from iad_envs.toolcalls.worlds import WORLD_NAMES, world
from tests.iad_envs.toolcalls.generators import DATA, checking, require_what_is_drawn

FILES = DATA / "bfcl" / "data"
MULTI_TURN = ("base", "miss_func", "miss_param", "long_context")

N_SINGLE = {
    "simple_python": (16, 8, 16),
    "multiple": (16, 8, 16),
    "parallel": (16, 8, 16),
    "parallel_multiple": (16, 8, 16),
    "irrelevance": (16, 8, 16),
    "live_relevance": (8, 4, 8),
}


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FILES / name).read_text(encoding="utf-8").splitlines()]


@cache
def multi_turn(category: str) -> list[tuple[dict[str, Any], list[list[str]]]]:
    name = f"BFCL_v4_multi_turn_{category}.json"
    gold = {row["id"]: row["ground_truth"] for row in rows(f"possible_answer/{name}")}
    return [(row, gold[row["id"]]) for row in rows(name)]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    return checking("bfcl/checking.py")


def test_the_files_are_what_is_drawn(tmp_path: Path) -> None:
    differing = require_what_is_drawn("bfcl", tmp_path)
    assert "BFCL_v4_multi_turn_base.json: differs" in differing
    assert "multi_turn_func_doc" not in differing
    assert sum(path.stat().st_size for path in FILES.rglob("*.json")) < 3_000_000
    for name in WORLD_NAMES:
        assert rows(f"multi_turn_func_doc/{name.lower()}.json") == list(world(name).documents)


@pytest.mark.parametrize("category", MULTI_TURN)
def test_nothing_is_wrong_with_a_task(category: str, check: ModuleType) -> None:
    tasks, n_flows = multi_turn(category), 0
    assert [entry["id"] for entry, _ in tasks] == [f"multi_turn_{category}_{number}" for number in range(60)]
    assert [entry["split"] for entry, _ in tasks] == [*["train"] * 24, *["dev"] * 12, *["test"] * 24]
    for entry, gold in tasks:
        assert check.faults(entry, gold) == [], entry["id"]
        assert check.difficulty_of(entry, gold) == entry["difficulty"]
        n_flows += any("returned" in how for _, _, how in check.ways(entry, gold))
    assert n_flows >= 28  # in half of them arguments come from results


def test_four_ways_to_tell_a_scenario() -> None:
    for ways in zip(*map(multi_turn, MULTI_TURN), strict=True):
        (base, gold), (late, late_gold), (short, short_gold), (long, long_gold) = ways
        assert base["initial_config"] == late["initial_config"] == short["initial_config"] == long["initial_config"]
        assert (long["question"], long_gold) == (base["question"], gold)
        assert [calls for calls in late_gold if calls] == [calls for calls in short_gold if calls] == gold
        assert len(late_gold) == len(short_gold) == len(gold) + 1
        ((turn, names),) = late["missed_function"].items()
        assert late["question"][int(turn)] == late_gold[int(turn) - 1] == []
        assert {call.partition("(")[0] for call in late_gold[int(turn)]} == set(names)
        assert [one for one in late["question"] if one] == base["question"]
        assert sum(one not in base["question"] for one in short["question"]) == 2


def test_scenarios_are_easy_and_hard_and_every_function_is_in_some_gold() -> None:
    counts = Counter((entry["split"], entry["difficulty"]) for entry, _ in multi_turn("base"))
    for split, n in {"train": 24, "dev": 12, "test": 24}.items():
        assert (counts[split, "easy"], counts[split, "hard"]) == (n * 5 // 12, n // 2)
    for category in ("miss_func", "miss_param"):
        assert {entry["difficulty"] for entry, _ in multi_turn(category)} == {"hard"}
    called = {call.partition("(")[0] for _, gold in multi_turn("base") for calls in gold for call in calls}
    assert called == {one["name"] for name in WORLD_NAMES for one in world(name).documents}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("a call is missing", "can't be known"),
        ("what is known is looked up", "accepted without"),
        ("nothing is said", "can't be known"),
        ("nothing is wanted", "to do nothing is accepted"),
        ("a call is refused", "error"),
        ("a turn lacks nothing", "can be begun"),
        ("another function is withheld", "does not need what is withheld"),
    ],
)
def test_what_is_wrong_is_found(check: ModuleType, change: str, fault: str) -> None:
    category = {"a turn lacks nothing": "miss_param", "another function is withheld": "miss_func"}.get(change, "base")
    hard = (task for task in multi_turn(category) if task[0]["difficulty"] == "hard")
    entry, gold = deepcopy(next(hard))
    if change == "a call is missing":
        gold[0] = gold[0][1:]
    elif change == "what is known is looked up":
        gold[1] = [gold[0][0], *gold[1]]
    elif change == "nothing is said":
        entry["question"][-1][0]["content"] = "Please go on."
    elif change == "nothing is wanted":
        gold = [[] for _ in gold]
    elif change == "a call is refused":
        gold[0] = ["inspect_bed(bed_id='BD-0')"]
        entry["involved_classes"] = [*entry["involved_classes"], "Greenhouse"]
    elif change == "a turn lacks nothing":
        place = gold.index([])
        entry["question"][place] += entry["question"][place + 1]
    else:
        ((turn, _),) = entry["missed_function"].items()
        entry["missed_function"] = {turn: ["find_books"]}
    assert any(fault in one for one in check.faults(entry, gold))


@pytest.mark.parametrize(
    ("value", "words", "is_said"),
    [
        ("BK-10", "Lend BK-10.", True),
        ("BK-1", "Lend BK-10.", False),
        (10, "Lend BK-10.", False),
        (10, "Lend it for 10 days.", True),
        (10.0, "It weighs 10 kg.", True),
        (1.5, "It weighs 1.5 kg.", True),
        (5, "It weighs 1.5 kg.", False),
        ("2026-03-04", "On March 4, 2026, please.", True),
        ("2026-03-04", "On April 4, 2026, please.", False),
        ([1, 2.5], "Add 2.5 and 1.", True),
        (["a", "b"], "Only a.", False),
        ({"width": 3, "height": 4}, "3 by 4", True),
        ("", "Nothing.", False),
        (True, "List what is unread.", True),
        (True, "List all.", False),
        (False, "List what is unread.", False),
    ],
)
def test_what_is_said(check: ModuleType, value: object, words: str, is_said: bool) -> None:
    assert check.is_said(value, words, "unread_only") is is_said


def test_single_turn_tasks() -> None:
    splits: dict[str, set[str]] = {}
    for category, counts in N_SINGLE.items():
        tasks = rows(f"BFCL_v4_{category}.json")
        assert Counter(one["split"] for one in tasks) == dict(zip(("train", "dev", "test"), counts, strict=True))
        assert len({one["id"] for one in tasks}) == len(tasks)
        for one in tasks:
            assert len(one["question"]) == len(one["question"][0]) == 1
            assert len({function["name"] for function in one["function"]}) == len(one["function"])
            for function in one["function"]:
                splits.setdefault(function["name"], set()).add(one["split"])
    assert {len(one) for one in splits.values()} == {1}


@pytest.mark.parametrize("category", ["simple_python", "multiple", "parallel", "parallel_multiple"])
def test_nothing_is_wrong_with_a_single_turn_task(category: str, check: ModuleType) -> None:
    gold = {one["id"]: one["ground_truth"] for one in rows(f"possible_answer/BFCL_v4_{category}.json")}
    for one in rows(f"BFCL_v4_{category}.json"):
        assert list(check.single_faults(one, gold[one["id"]])) == [], one["id"]
        assert (len(gold[one["id"]]) > 1) is category.startswith("parallel")
        assert (len(one["function"]) > 1) is category.endswith("multiple")


@pytest.mark.parametrize(
    ("gold", "fault"),
    [
        ({"send": {"kilos": [3.0], "speed": ["slow", ""]}}, ""),
        ({"send": {"kilos": [4.0], "speed": ["slow", ""]}}, "can't be known"),
        ({"send": {"kilos": [3.0], "speed": ["fast"]}}, "can't be known"),
        ({"send": {"kilos": [3.0, ""], "speed": ["slow", ""]}}, "may not be left out"),
        ({"send": {"kilos": [3.0]}}, "other parameters"),
        ({"post": {}}, "not offered"),
    ],
)
def test_what_is_wrong_with_a_single_turn_task_is_found(check: ModuleType, gold: object, fault: str) -> None:
    properties = {"kilos": {"type": "float"}, "speed": {"type": "string", "default": "slow"}}
    entry = {
        "question": [[{"role": "user", "content": "Send 3 kg."}]],
        "function": [{"name": "send", "parameters": {"properties": properties, "required": ["kilos"]}}],
    }
    found = list(check.single_faults(entry, [gold]))
    assert fault in found[0] if fault else found == []

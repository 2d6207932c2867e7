"""The rule-based agent for tool calls: what it solves, what it reads, and what it makes of feedback."""

import json
import shutil
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.policy.agent import ToolCallAgent
from iad_envs.toolcalls.policy.responses import UNABLE, choices_of
from iad_policy import Candidate, Feedback, IADPolicyWrapper, State
from iad_policy.types import ShownAttempt
from tests.iad_envs.toolcalls.policy.talks import Talk, asked, tool

DATA = Path(__file__).parents[4] / "data" / "bfcl"
FIND_BOAT = tool(
    "find_boat", "Finds a boat by its name.", ("boat_id", "Id of the boat."), name="Name of the boat, in quotes."
)
PAINT_BOAT = tool(
    "paint_boat",
    "Paints a boat.",
    ("layer_id", "Id of the layer."),
    boat_id="Id of the boat, such as 'BT-1'.",
    colour={"type": "string", "description": "Its colour.", "enum": ["red", "blue"]},
    layers={"type": "integer", "description": "How many layers. Defaults to 2.", "default": 2},
)
SELL_BOAT = tool(
    "sell_boat", "Sells a boat.", boat_id="Id of the boat.", price={"type": "float", "description": "Price."}
)
BOATS = (FIND_BOAT, PAINT_BOAT, SELL_BOAT)


def greedy(state: State) -> str:
    found = ToolCallAgent().propose(state, feedback=None, temperature=0.0, rng=Random(0)).action
    assert isinstance(found, str)
    return found


@cache
def successes(category: str, temperature: float, split: str = "train") -> dict[str, tuple[str, bool]]:
    env = gym.make("IAD/BFCL-v0", category=category, split=split).unwrapped
    found = {}
    for task_id in env.task_ids:  # type: ignore[attr-defined]
        talk = Talk(task_id).played(temperature)
        found[task_id] = (env.tasks[task_id].difficulty, bool(talk.gold["success"]))  # type: ignore[attr-defined]
    return found


def share(category: str, temperature: float, difficulty: str = "") -> float:
    found = [success for kind, success in successes(category, temperature).values() if difficulty in kind]
    return sum(found) / len(found)


def test_cold_it_solves_more_than_warm_and_easy_tasks_more_often_than_hard_ones() -> None:
    cold, warm = share("multi_turn_base", 0.0), share("multi_turn_base", 1.0)
    assert cold >= 0.5
    assert 0.2 <= warm <= cold
    assert share("multi_turn_base", 0.0, "hard") < share("multi_turn_base", 0.0, "easy")
    assert 0.3 <= share("single_turn", 1.0) <= 0.7
    assert share("single_turn", 1.0, "hard") < share("single_turn", 1.0, "easy")


def test_chance_solves_next_to_nothing() -> None:
    env = gym.make("IAD/BFCL-v0", category="multi_turn_base")
    with IADPolicyWrapper("random", env, strategy="single") as policy:
        for task_id in env.unwrapped.task_ids[:12]:  # type: ignore[attr-defined]
            observation, info = env.reset(options={"task_id": task_id})
            while not info["stop_reason"]:
                observation, _, _, _, info = env.step(policy.act(observation, info))
            assert not info["success"]


def test_all_that_it_does_is_valid() -> None:
    for task_id in list(successes("multi_turn_base", 1.0))[:8]:
        state = Talk(task_id).played(2.0, seed=3).state
        assert [turn.info["facts"]["complaint"] for turn in state.history if turn.info["invalid_action"]] == []


def test_a_value_of_the_right_type_goes_where_its_words_point_and_a_default_is_left_out() -> None:
    assert greedy(asked("Paint the boat BT-7 red.", *BOATS)) == "[paint_boat(boat_id='BT-7', colour='red')]"
    assert greedy(asked("Paint BT-7 blue, with 3 layers.", *BOATS)) == (
        "[paint_boat(boat_id='BT-7', colour='blue', layers=3)]"
    )
    assert greedy(asked("Sell BT-7 for a price of 95.", *BOATS)) == "[sell_boat(boat_id='BT-7', price=95.0)]"


def test_it_looks_up_what_a_call_needs_and_goes_on_with_the_result() -> None:
    request = "Paint 'Old Margaret' red."
    assert greedy(asked(request, *BOATS)) == "[find_boat(name='Old Margaret')]"
    looked_up = ("find_boat", {"name": "Old Margaret"}, '{"boat_id": "BT-9"}')
    assert greedy(asked(request, *BOATS, results=(looked_up,))) == "[paint_boat(boat_id='BT-9', colour='red')]"
    painted = ("paint_boat", {"boat_id": "BT-9", "colour": "red"}, '{"layer_id": "LY-1"}')
    assert greedy(asked(request, *BOATS, results=(looked_up, painted))).startswith("reply[")


def test_it_asks_for_what_nobody_has_said_and_declines_what_nothing_can_do() -> None:
    assert greedy(asked("Paint the boat BT-7.", *BOATS)).endswith("Which colour do you mean?]")
    assert greedy(asked("Bake me some bread.", *BOATS)) == UNABLE


def test_a_call_that_failed_is_not_repeated() -> None:
    request = "Find the boat 'Old Margaret'."
    failed = ("find_boat", {"name": "Old Margaret"}, "Error during execution: unknown")
    assert "[find_boat(name='Old Margaret')]" in choices_of(asked(request, *BOATS))
    assert "[find_boat(name='Old Margaret')]" not in choices_of(asked(request, *BOATS, results=(failed,)))


def test_a_single_question_is_answered_at_once_with_all_calls() -> None:
    talk = Talk("parallel_1")
    assert greedy(talk.state).count("departures(") == 3
    talk.did(greedy(talk.state))
    assert talk.state.done
    assert talk.gold["success"]


def test_a_seed_has_one_response_and_seeds_have_several() -> None:
    state = Talk("multi_turn_base_13").state
    drawn = [
        ToolCallAgent().propose(state, feedback=None, temperature=3.0, rng=Random(seed)).action for seed in range(20)
    ]
    again = [
        ToolCallAgent().propose(state, feedback=None, temperature=3.0, rng=Random(seed)).action for seed in range(20)
    ]
    assert drawn == again
    assert len(set(drawn)) > 1


def test_given_best_and_worst_it_takes_another_response_until_there_is_none() -> None:
    state = Talk("multi_turn_base_13").state
    tried: list[Candidate] = []
    for n in range(len(choices_of(state))):
        feedback = (
            Feedback("", best=tried[0], worst=tried[-1], attempts=tuple(map(ShownAttempt, tried))) if tried else None
        )
        action = ToolCallAgent().propose(state, feedback=feedback, temperature=1.0, rng=Random(n)).action
        assert action not in [one.action for one in tried]
        tried.append(Candidate(action))
    feedback = Feedback("", best=tried[1], worst=tried[0], attempts=tuple(map(ShownAttempt, tried)))
    last = ToolCallAgent().propose(state, feedback=feedback, temperature=1.0, rng=Random(0)).action
    assert last == tried[1].action


@pytest.fixture(scope="module")
def other_gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tasks, with gold of nothing."""
    folder = tmp_path_factory.mktemp("data") / "bfcl"
    shutil.copytree(DATA / "data", folder / "data")
    for path in (folder / "data" / "possible_answer").glob("*.json"):
        lines = []
        for line in path.read_text(encoding="utf-8").splitlines():
            task = json.loads(line)
            gold: list[Any] = [[] for _ in task["ground_truth"]]
            if "multi_turn" not in path.name:
                gold = [{name: {} for name in task["ground_truth"][0]}]
            lines.append(json.dumps({**task, "ground_truth": gold}))
        path.write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize("task_id", ["multi_turn_base_13", "multi_turn_miss_param_20", "multiple_3", "irrelevance_2"])
def test_with_other_gold_it_and_the_verifier_do_the_same(other_gold: Path, task_id: str) -> None:
    ours, theirs = Talk(task_id), Talk(task_id, other_gold)
    rng = (Random(5), Random(5))
    while not ours.state.done:
        first, second = (
            ToolCallAgent().propose(talk.state, feedback=None, temperature=1.0, rng=one).action
            for talk, one in zip((ours, theirs), rng, strict=True)
        )
        assert first == second
        assert ours.verdict(first) == theirs.verdict(second)
        ours.did(first)
        theirs.did(second)
    assert theirs.state.done

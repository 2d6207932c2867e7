"""What the solution agent gets wrong, by type, and that it solves tasks as often as its rate says."""

from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.policy.mistakes import wrong_response
from iad_envs.toolcalls.responses import read_response
from iad_policy import IADPolicyWrapper
from iad_policy.registry.domain import domain_by_id
from tests.iad_envs.toolcalls.policy.talks import Talk

SOW = "[sow_seeds(bed_id='BD-58', species='fennel', count=19)]"


def calls_of(action: str) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, dict(call.arguments)) for call in read_response(action, dots=True).calls]


def drawn(task_id: str, right: str, n: int = 200) -> set[str]:
    state, rng = Talk(task_id).state, Random(0)
    found = {wrong_response(state, right, rng) for _ in range(n)}
    assert all(read_response(action, dots=True).kind != "unreadable" for action in found)
    return found


def kind_of(calls: list[tuple[str, dict[str, Any]]]) -> str:
    if len(calls) != 1:
        return "a call made twice" if calls else "words"
    ((name, arguments),) = calls
    if name != "sow_seeds":
        return "another function"
    return "another value" if len(arguments) == 3 else "a dropped argument"


def test_calls_go_wrong_in_every_way_and_their_values_keep_their_types() -> None:
    found = [calls_of(action) for action in drawn("multi_turn_base_13", SOW)]
    kinds = {"another value", "a dropped argument", "another function", "a call made twice", "words"}
    assert {kind_of(calls) for calls in found} == kinds
    for ((_, arguments),) in (calls for calls in found if kind_of(calls) == "another value"):
        assert [type(arguments[name]) for name in ("bed_id", "species", "count")] == [str, str, int]
    pair = f"{SOW[:-1]}, {SOW[1:]}"
    assert calls_of(SOW) in map(calls_of, drawn("multi_turn_base_13", pair))


def test_words_go_wrong_as_a_call_that_nobody_asked_for() -> None:
    offered = {one["name"] for one in Talk("multi_turn_base_1").state.info["page"]["tools"]}
    for action in drawn("multi_turn_base_1", "reply[]", 50):
        ((name, arguments),) = calls_of(action)
        assert name in offered
        assert all(value in ("something", 3, True, [], {}) or isinstance(value, str) for value in arguments.values())


@pytest.mark.parametrize(
    ("env_id", "category"),
    [
        *(("IAD/BFCL-v0", category) for category in ("multi_turn", "single_turn")),
        *(("IAD/ACEBench-v0", category) for category in ("agent", "normal", "special")),
    ],
)
def test_gold_with_mistakes_solves_less_the_more_there_are(env_id: str, category: str) -> None:
    env: Any = gym.make(env_id, category=category)
    task_ids, shares = env.unwrapped.task_ids[::8], []
    for rate in ("0", "0.3", "1"):
        n_solved = 0
        with IADPolicyWrapper(f"solution:{rate}", env, strategy="single") as policy:
            for task_id in task_ids:
                observation, info = env.reset(options={"task_id": task_id})
                while not info["stop_reason"]:
                    observation, _, _, _, info = env.step(policy.act(observation, info))
                n_solved += info["success"]
        shares.append(n_solved / len(task_ids))
    assert shares[0] == 1.0 > shares[1] > shares[2]
    assert shares[2] <= (0.2 if category == "single_turn" else 0.0)  # to "relevance" any call is right
    assert domain_by_id(env_id).agent.startswith("solution:")
    env.close()

"""A model as the agent of a conversation with function calls: what it reads, and what becomes of its answers."""

import json
from itertools import pairwise
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.policy.language_agent import ToolCallLanguageAgent, as_tool
from iad_policy.agents.language import language_agent
from iad_policy.errors import UnknownName
from iad_policy.models.scripted import ScriptedModel
from iad_policy.types import Candidate, State, Turn

BASE, LATE = "multi_turn_base_54", "multi_turn_miss_func_48"


def walked(task_id: str, *actions: str, env_id: str = "IAD/BFCL-v0") -> State:
    """Return the state after actions; in a category its first task's."""
    category = task_id.rpartition("_")[0] if task_id[-1].isdigit() else task_id
    env: Any = gym.make(env_id, category=category).unwrapped
    observation, info = env.reset(**({"options": {"task_id": task_id}} if category != task_id else {"seed": 0}))
    history = []
    for action in actions:
        history.append(Turn(observation, action, info, thought="a thought that nobody reads again"))
        observation, *_, info = env.step(action)
    return State(observation, info, history=tuple(history))


def agent(*answers: Any, style: Any = None, env_id: str = "IAD/BFCL-v0", **arguments: Any) -> ToolCallLanguageAgent:
    env = gym.make(env_id, **arguments)
    made = language_agent(env, ScriptedModel(list(answers)), style)
    assert isinstance(made, ToolCallLanguageAgent)
    return made


def proposed(one: ToolCallLanguageAgent, state: State) -> Candidate:
    return one.propose(state, feedback=None, temperature=None, rng=Random(0))


def test_the_chat_has_what_was_said_called_and_returned_and_no_thought() -> None:
    call = "[list_loans(member_id='MB-18')]"
    messages = agent().messages(walked(BASE, call, "reply[There is one.]"))
    assert [one["role"] for one in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    system, first, called, returned, said, now = (one["content"] for one in messages)
    assert '"name": "lend_book"' in system
    assert (first, called, said) == ("List the loans of MB-18.", call, "reply[There is one.]")
    assert returned.startswith("[{'role': 'tool', 'name': 'list_loans', 'content': '{\"loans\": ")
    assert now.startswith("Osric Pemberton wants to borrow")
    assert "nobody reads" not in json.dumps(messages)
    for style in ("direct", "cot", "few-shot"):  # as in other environments
        system, user = (one["content"] for one in agent(style=style).messages(walked(BASE, call)))
        assert ("Now you see:" in user, "[function_name(parameter='value')]" in system) == (True, True)


def test_functions_calls_and_results_go_through_the_models_own_interface() -> None:
    system, _, called, returned = agent(style="fc").messages(walked(BASE, "[list_loans(member_id='MB-18')]"))
    assert "lend_book" not in system["content"]
    tools = {one["function"]["name"]: one["function"] for one in system["tools"]}
    assert tools["lend_book"]["parameters"]["type"] == "object"
    (call,) = called["tool_calls"]
    function = call["function"]
    assert (function["name"], json.loads(function["arguments"])) == ("list_loans", {"member_id": "MB-18"})
    assert (returned["role"], returned["tool_call_id"]) == ("tool", call["id"])
    assert "LN-93" in returned["content"]


def test_functions_that_come_later_are_told_when_they_come() -> None:
    before, after = walked(LATE), walked(LATE, "reply[I can't.]")
    first, last = agent().messages(before), agent().messages(after)
    assert '"name": "return_book"' not in json.dumps(first).replace('\\"', '"')
    assert first[0] == last[0]  # so that a server can keep what it has read
    assert '"name": "return_book"' in last[-1]["content"]
    own = [one["function"]["name"] for one in agent(style="fc").messages(after)[0]["tools"]]
    assert "return_book" in own


def test_names_with_dots_are_written_without_and_read_back() -> None:
    types = {"n": {"type": "float"}, "x": {"type": "any"}}
    written = as_tool({"name": "shop.find", "parameters": {"type": "dict", "properties": types}})["function"]
    assert (written["name"], written["parameters"]["properties"]) == ("shop_find", {"n": {"type": "number"}, "x": {}})
    state = walked("simple_python")
    name = state.info["page"]["tools"][0]["name"]
    assert "." in name
    answer = f'<tool_call>{{"name": "{name.replace(".", "_")}", "arguments": {{}}}}</tool_call>'
    candidate = proposed(agent(answer, style="fc", category="simple_python"), state)
    assert json.loads(candidate.action) == [{"name": name, "arguments": {}}]


def test_an_answer_becomes_an_action_or_an_error_that_says_what_was_expected() -> None:
    call, state = "[list_loans(member_id='MB-18')]", walked(BASE)
    for answer, action, thought in (
        (call, call, ""), (f"<think>\nHm.\n</think>\n{call}", call, "Hm."),
        ("Which member?", "reply[Which member?]", ""), ("<think>\nHm.", None, ""), ("[list_loans(m=", None, ""),
    ):  # fmt: skip
        candidate = proposed(agent(answer, answer), state)
        assert (candidate.action, candidate.thought if action else "") == (action, thought)
        expected = "" if action else "unreadable answer: expected a list of calls such as "
        assert candidate.error[: len(expected) or None] == expected


def test_a_dialogue_with_known_facts_begins_in_the_system_text_and_neighbouring_messages_are_one() -> None:
    state = walked("normal_preference", env_id="IAD/ACEBench-v0")
    system, *others = agent(env_id="IAD/ACEBench-v0", category="normal_preference").messages(state)
    assert state.info["page"]["messages"][0]["content"] in system["content"]
    assert "Missing necessary parameters" in system["content"]
    assert all(message["role"] != "system" for message in others)
    for number in range(4):
        task_id = f"normal_multi_turn_user_adjust_{number}_1"
        env: Any = gym.make("IAD/ACEBench-v0", category="normal", split=None).unwrapped
        observation, info = env.reset(options={"task_id": task_id})
        roles = [one["role"] for one in agent(env_id="IAD/ACEBench-v0").messages(State(observation, info))]
        assert all(left != right for left, right in pairwise(roles)), task_id
    with pytest.raises(UnknownName, match="style"):
        language_agent(gym.make("IAD/WebShop-v0"), ScriptedModel([]), "fc")  # type: ignore[arg-type]

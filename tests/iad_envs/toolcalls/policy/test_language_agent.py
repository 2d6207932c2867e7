"""A model as the agent of a conversation with function calls: what it reads, and what becomes of its answers."""

import json
from itertools import pairwise
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.policy.language_agent import ToolCallLanguageAgent, as_tool
from iad_policy import evaluate
from iad_policy.agents.language import language_agent
from iad_policy.errors import UnknownName
from iad_policy.models.scripted import ScriptedModel
from iad_policy.types import Candidate, State, Turn
from tests.contract.environments import solution_of

BASE, LATE = "multi_turn_base_54", "multi_turn_miss_func_48"


def walked(task_id: str, *actions: str) -> State:
    """Return the state after actions."""
    env: Any = gym.make("IAD/BFCL-v0", category=task_id.rpartition("_")[0]).unwrapped
    observation, info = env.reset(options={"task_id": task_id})
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
    state = walked(BASE, "[list_loans(member_id='MB-18')]", "reply[There is one.]")
    messages = agent().messages(state)
    assert [one["role"] for one in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    system, first, called, returned, said, now = (one["content"] for one in messages)
    assert '"name": "lend_book"' in system
    assert first == "List the loans of MB-18."
    assert called == "[list_loans(member_id='MB-18')]"
    assert returned.startswith("[{'role': 'tool', 'name': 'list_loans', 'content': '{\"loans\": ")
    assert said == "reply[There is one.]"
    assert now.startswith("Osric Pemberton wants to borrow")
    assert "nobody reads" not in json.dumps(messages)


def test_functions_calls_and_results_go_through_the_models_own_interface() -> None:
    state = walked(BASE, "[list_loans(member_id='MB-18')]")
    system, _, called, returned = agent(style="fc").messages(state)
    assert "lend_book" not in system["content"]
    tools = {one["function"]["name"]: one["function"] for one in system["tools"]}
    assert tools["lend_book"]["parameters"]["type"] == "object"
    (call,) = called["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == (
        "list_loans",
        {"member_id": "MB-18"},
    )
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
    document = {"name": "shop.find", "parameters": {"type": "dict", "properties": {"n": {"type": "float"}}}}
    assert as_tool(document)["function"]["name"] == "shop_find"
    assert as_tool(document)["function"]["parameters"]["properties"]["n"]["type"] == "number"
    env: Any = gym.make("IAD/BFCL-v0", category="simple_python").unwrapped
    observation, info = env.reset(seed=0)
    name = info["page"]["tools"][0]["name"]
    assert "." in name
    answer = f'<tool_call>{{"name": "{name.replace(".", "_")}", "arguments": {{}}}}</tool_call>'
    candidate = proposed(agent(answer, style="fc", category="simple_python"), State(observation, info))
    assert json.loads(candidate.action) == [{"name": name, "arguments": {}}]


@pytest.mark.parametrize(
    ("answer", "action", "thought"),
    [
        ("[list_loans(member_id='MB-18')]", "[list_loans(member_id='MB-18')]", ""),
        ("<think>\nHm.\n</think>\n[list_loans(member_id='MB-18')]", "[list_loans(member_id='MB-18')]", "Hm."),
        ("Which member?", "reply[Which member?]", ""),
    ],
)
def test_an_answer_becomes_an_action(answer: str, action: str, thought: str) -> None:
    candidate = proposed(agent(answer), walked(BASE))
    assert (candidate.action, candidate.thought, candidate.error) == (action, thought, "")


@pytest.mark.parametrize("answer", ["<think>\nI still think", "[list_loans(member_id="])
def test_what_can_t_be_read_is_an_error_that_says_what_was_expected(answer: Any) -> None:
    candidate = proposed(agent(answer, answer), walked(BASE))
    assert candidate.action is None
    assert candidate.error.startswith("unreadable answer: expected a list of calls such as ")


def test_a_dialogue_with_known_facts_begins_in_the_system_text() -> None:
    env: Any = gym.make("IAD/ACEBench-v0", category="normal_preference").unwrapped
    observation, info = env.reset(seed=0)
    one = agent(env_id="IAD/ACEBench-v0", category="normal_preference")
    messages = one.messages(State(observation, info))
    assert info["page"]["messages"][0]["content"] in messages[0]["content"]
    assert "Missing necessary parameters" in messages[0]["content"]
    assert all(message["role"] != "system" for message in messages[1:])


def test_neighbouring_messages_of_one_side_are_one() -> None:
    env: Any = gym.make("IAD/ACEBench-v0", category="normal_multi_turn_user_adjust").unwrapped
    one = agent(env_id="IAD/ACEBench-v0", category="normal_multi_turn_user_adjust")
    for task_id in env.task_ids:
        observation, info = env.reset(options={"task_id": task_id})
        roles = [message["role"] for message in one.messages(State(observation, info))]
        assert all(left != right for left, right in pairwise(roles)), task_id


def test_styles_of_other_environments_are_here_too_and_theirs_are_not_there() -> None:
    state = walked(BASE)
    for style in ("direct", "cot", "few-shot"):
        (system, user) = agent(style=style).messages(state)
        assert "Now you see:" in user["content"]
        assert "[function_name(parameter='value')]" in system["content"]
    with pytest.raises(UnknownName, match="style"):
        language_agent(gym.make("IAD/WebShop-v0"), ScriptedModel([]), "fc")  # type: ignore[arg-type]


def test_a_model_that_answers_gold_solves_its_task() -> None:
    env: Any = gym.make("IAD/BFCL-v0", category="multi_turn_base").unwrapped
    env.reset(options={"task_id": env.task_ids[0]})
    gold = solution_of(env)
    found = evaluate(
        "IAD/BFCL-v0",
        ["single"],
        agent=agent(*gold, category="multi_turn_base"),
        verifier="none",
        tasks=1,
        env_args={"category": "multi_turn_base"},
        baseline="single",
    )
    (records,) = found.records.values()
    assert [record.reward for record in records] == [1.0]

"""`IAD/ACEBench-v0` on the bundled tasks: answers, refusals in words, agent tasks and their users."""

from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.acebench.dialogue import MAX_MESSAGES, NOBODY
from iad_envs.toolcalls.acebench.env import GROUPS, ACEBenchEnv
from iad_envs.toolcalls.acebench.executor import NOT_UNDERSTOOD
from iad_envs.toolcalls.acebench.user import STOP
from tests.contract.environments import solution_of
from tests.iad_policy.models.openai_server import Reply, serving

ASKED = "agent_multi_turn_33"
"""Its user says a title, and a day, an hour and a PIN when asked; then wants another reminder ticked off."""
ALONE = "agent_multi_step_33"


def make(category: str = "agent", **arguments: Any) -> ACEBenchEnv:
    env = gym.make("IAD/ACEBench-v0", category=category, **arguments).unwrapped
    assert isinstance(env, ACEBenchEnv)
    return env


def started(task_id: str, **arguments: Any) -> ACEBenchEnv:
    env = make(task_id.rpartition("_")[0], split=None, **arguments)
    env.reset(options={"task_id": task_id})
    return env


def codes(info: dict[str, Any]) -> list[str]:
    return [one["code"] for one in info["facts"]["findings"]]


@pytest.mark.parametrize("category", ["agent", "normal", "special"])
@pytest.mark.parametrize("scoring", ["official", "sound"])
def test_gold_scores_1_and_saying_nothing_0(category: str, scoring: str) -> None:
    assert {*GROUPS[category]} <= GROUPS.keys()
    env = make(category, scoring=scoring)
    for task_id in env.task_ids:
        for actions in (env._reference(env._task(task_id)), [f"reply[{STOP}]"]):
            env.reset(options={"task_id": task_id})
            for action in actions:
                _, reward, terminated, _, info = env.step(action)
            assert terminated
            assert (reward == 1.0) == info["success"] == (len(actions) > 1 or STOP not in actions[0]), task_id


def test_the_user_answers_what_is_asked_and_says_the_next_wish_when_the_first_holds() -> None:
    env = started(ASKED)
    assert "tool_error" in codes(env.step("[find_reminders(words='write to the landlord')]")[4])
    ahead = env.simulate(env.snapshot(), "reply[What is the PIN?]")
    assert (ahead.done, ahead.info["stop_reason"], "6107" in str(ahead)) == (True, "awaiting", False)
    for action, *said in (
        ("reply[What is the PIN?]", "6107"),
        ("[log_in_phone(pin='6107'), find_reminders(words='write to the landlord')]",),
        ("reply[When should it be?]", "July 10, 2026", "10:45"),
        ("[move_reminder(reminder_id='RM-34', day='2026-07-10', hour='10:45')]",),
        ("reply[It is moved.]", "tick it off"),
        ("reply[Which reminder?]", "order firewood"),
        ("[find_reminders(words='order firewood')]",),
        ("[tick_reminder(reminder_id='RM-48')]",),
    ):
        observation, _, terminated, _, info = env.step(action)
        assert ([text in observation for text in said], terminated) == ([True] * len(said), False), action
        assert "10:45" not in said or info["facts"]["turn"] == 2
    _, reward, terminated, _, info = env.step("reply[It is ticked off.]")
    assert (float(reward), terminated, info["progress"]) == (1.0, True, 1.0)


def test_without_a_user_words_are_answered_by_a_sentence_and_the_last_ones_end_the_task() -> None:
    ask, end = "reply[What is the PIN?]", f"reply[{STOP}]"
    assert NOT_UNDERSTOOD in started(ALONE, scoring="official").step(ask)[0]
    env = started(ALONE)
    observation, _, terminated, _, info = env.step(ask)
    assert (terminated, info["page"]["messages"][-1]["content"]) == (False, NOBODY)
    assert NOBODY in observation
    # An error of an app changes nothing, and is a finding.
    info = env.step("[find_reminders(words='sharpen the skates')]")[4]
    assert (codes(info), info["facts"]["changed"]) == (["tool_error"], [])
    assert "Reminders.logged_in" in env.step("[log_in_phone(pin='6543')]")[4]["facts"]["changed"]
    assert (env.terminal(end), env.terminal(ask)) == (True, False)
    assert env.step(end)[2]


@pytest.mark.parametrize("action", ["[check_phone()]", "no calls"])
def test_a_task_ends_after_so_many_messages_and_those_that_can_t_be_read_count(action: str) -> None:
    env = started(ALONE)
    steps = [env.step(action) for _ in range(MAX_MESSAGES // 2)]
    assert [step[2] for step in steps] == [*[False] * (MAX_MESSAGES // 2 - 1), True]
    assert not steps[-1][4]["success"]


def test_a_special_task_wants_the_sentence_alone_and_published_takes_any_text_for_an_answer() -> None:
    for scoring, expected in (("sound", 0.0), ("official", 1.0)):
        env = make("special_incomplete", scoring=scoring)
        _, info = env.reset(seed=2)
        (gold,), name = solution_of(env), info["page"]["tools"][0]["name"]
        token = env.snapshot()
        assert env.step(gold.replace("reply[", f"reply[{name}() "))[1] == expected, scoring
        env.restore(token)
        assert env.step(f"[{name}()]")[4]["progress"] == 0.0
        env.restore(token)
        assert env.step(gold)[1] == 1.0
    for published in (True, False):
        env = make("normal_single_turn_single_function", published=published)
        env.reset(seed=0)
        ahead = env.simulate(env.snapshot(), "I don't know.")
        assert (ahead.done, ahead.info["invalid_action"]) == (published, not published)
        assert (env.step(f"I call {solution_of(env)[0]}.")[1] == 1.0) == published
    env = make("agent_multi_step", published=True)
    env.reset(seed=0)
    assert env.step("[1+]")[0].startswith("Results:\nexpected calls such as")  # looks like calls, and is none


def test_a_user_can_be_played_by_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serving() as server:
        server.script(Reply("The PIN is 6107."), Reply(f"{STOP}\nand more"))
        monkeypatch.setenv("OPENAI_API_BASE", server.address)
        env = started(ASKED, user="llm:openai/anything")
        env.step("[check_phone()]")
        env.simulate(env.snapshot(), "reply[What is the PIN?]")
        assert not server.requests
        observation, *_ = env.step("reply[What is the PIN?]")
        assert "The PIN is 6107." in observation
        assert env.step("reply[Thank you.]")[2]
    said = [one["role"] for one in server.requests[-1]["messages"]]
    assert said == ["system", "assistant", "user", "assistant", "user"]
    assert "write to the landlord" in server.requests[0]["messages"][0]["content"]

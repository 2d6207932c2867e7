"""`IAD/BFCL-v0` and `IAD/ACEBench-v0` on the bundled tasks: turns, users, limits, drafts, findings and observations."""

import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.errors import UnknownTask
from iad_envs.toolcalls.acebench.dialogue import MAX_MESSAGES, NOBODY
from iad_envs.toolcalls.acebench.executor import NOT_UNDERSTOOD
from iad_envs.toolcalls.acebench.user import STOP
from iad_envs.toolcalls.bfcl.conversations import MAX_RESPONSES
from iad_envs.toolcalls.findings import SEVERITIES
from iad_envs.toolcalls.pages import AWAITED, HANDED_IN
from tests.contract.environments import solution_of
from tests.iad_policy.models.openai_server import Reply, serving

BASE = "multi_turn_base_54"
"""Turns: list loans; find book and member and lend; read a note and copy it; ..."""
LOANS, LATE = "[list_loans(member_id='MB-18')]", "multi_turn_miss_func_48"
"""Its first turn can't be done until `return_book` or `find_books` is offered, in its second turn."""


def make(category: str, name: str = "BFCL", **arguments: Any) -> Any:
    return gym.make(f"IAD/{name}-v0", category=category, **arguments).unwrapped


def started(task_id: str, **arguments: Any) -> tuple[Any, dict[str, Any]]:
    env = make(task_id.rpartition("_")[0], split=None, **arguments)
    return env, env.reset(options={"task_id": task_id})[1]


def codes(info: dict[str, Any]) -> list[str]:
    return [one["code"] for one in info["facts"]["findings"]]


def test_a_turn_goes_on_with_calls_and_ends_with_words_and_a_simulated_end_does_not_tell_the_last_one() -> None:
    env, info = started(BASE)
    assert (info["page"]["kind"], info["facts"]["turn"]) == ("turn", 0)
    first, ends, progress = LOANS, [], []
    for action in (first, "reply[There is one.]", *solution_of(env)[2:]):
        ahead = env.simulate(env.snapshot(), "reply[Done.]")
        assert (ahead.done, ahead.info["stop_reason"], ahead.observation) == (True, "awaiting", AWAITED)
        ends.append(sorted(ahead.info))
        observation, reward, terminated, _, info = env.step(action)
        page, facts = info["page"], info["facts"]
        progress.append(info["progress"])
        if action == first:
            assert (page["kind"], facts["step_in_turn"], reward, facts["changed"]) == ("results", 1, 0.0, [])
            assert '"loan_id": "LN-93"' in observation
            assert page["calls"] == [{"name": "list_loans", "arguments": {"member_id": "MB-18"}}]
        if action.startswith("reply[There"):
            assert (page["kind"], facts["turn"], terminated, page["results"]) == ("turn", 1, False, [])
            assert "Osric Pemberton wants to borrow" in observation
        if "lend_book" in action:
            assert "Library.loans" in facts["changed"]
            assert "ungrounded_argument" not in codes(info)
    assert (terminated, info["success"]) == (True, True)
    assert all(one == ends[0] for one in ends)
    assert progress == sorted(progress)
    assert progress[-2] < progress[-1] == 1.0


def test_what_is_held_back_is_not_shown_works_not_soundly_and_fails_only_soundly() -> None:
    env, info = started(LATE)
    missed = set(env._tasks[LATE].missed[1])
    assert missed
    assert not missed & {one["name"] for one in info["page"]["tools"]}
    late = f"[{min(missed)}()]"
    after = env.simulate(env.snapshot(), late).info
    assert "unknown_function" in codes(after)
    assert "is not defined" in after["page"]["results"][0]
    observation, *_, info = env.step("reply[I can't.]")
    assert missed <= {one["name"] for one in info["page"]["tools"]}
    assert "There are more functions now." in observation
    official, _ = started(LATE, scoring="official")
    assert "is not defined" not in official.simulate(official.snapshot(), late).info["page"]["results"][0]
    # Done a turn too early, and looked up again when it was wanted.
    rewards = {}
    for scoring in ("official", "sound"):
        env, _ = started(LATE, scoring=scoring)
        gold = solution_of(env)
        info = env.step(gold[1])[4]
        if scoring == "official":
            assert "withheld_function" in codes(info)
        for action in ("reply[]", "[find_books(words='Ink and Walnut')]", *gold[2:]):
            reward = float(env.step(action)[1])
        rewards[scoring] = reward
    assert rewards == {"official": 1.0, "sound": 0.0}


@pytest.mark.parametrize(  # what can't be read counts as well
    ("action", "said"), [(LOANS, "LN-93"), ("[list_loans('MB-18')]", "every argument with its name")]
)
def test_more_responses_than_the_limit_end_the_conversation(action: str, said: str) -> None:
    env, _ = started(BASE)
    for number in range(MAX_RESPONSES + 1):
        observation, reward, terminated, _, info = env.step(action)
        assert (said in observation, terminated) == (True, number == MAX_RESPONSES)
    assert "more responses than the limit" in observation
    assert (reward, info["success"], info["stop_reason"], info["reward_parts"]["cap"]) == (0.0, False, "done", 0.0)
    for scoring, expected in (("official", 1.0), ("sound", 0.0)):  # in the last turn only the sound rule minds
        env, _ = started(BASE, scoring=scoring)
        for right in solution_of(env)[:-1]:
            env.step(right)
        for _ in range(MAX_RESPONSES):
            _, reward, terminated, *_ = env.step(action)
        assert (terminated, reward) == (True, expected), scoring


def test_published_text_ends_the_turn_drops_arguments_without_names_and_notations_can_be_refused() -> None:
    for published in (True, False):
        env, _ = started(BASE, published=published)
        ahead = env.simulate(env.snapshot(), "Well, here they are.").info
        assert (ahead["invalid_action"], ahead["stop_reason"] == "awaiting") == (not published, published)
        after = env.simulate(env.snapshot(), "list_loans('MB-18')").info
        assert after["page"]["calls"] == ([{"name": "list_loans", "arguments": {}}] if published else [])
        assert ("missing_argument" in codes(after)) == published
    texts = (LOANS, '[{"name": "list_loans", "arguments": {"member_id": "MB-18"}}]')
    for calls, published, read in (
        ("any", False, [True, True]), ("python", False, [True, False]), ("json", False, [False, True]),
        ("any", True, [True, False]), ("python", True, [True, False]), ("json", True, [False, True]),
    ):  # fmt: skip
        env, _ = started(BASE, calls=calls, published=published)
        assert [bool(env.simulate(env.snapshot(), text).info["page"]["calls"]) for text in texts] == read, calls
        assert not all(read) or env.action_key(texts[0]) == env.action_key(texts[1])


def test_each_finding_has_its_code() -> None:
    env, _ = started(BASE)
    env.step(LOANS)
    expected = {
        "[borrow(book_id='BK-1')]": ["unknown_function"], "[list_loans()]": ["missing_argument", "tool_error"],
        "[list_loans(member_id='MB-18', page=2)]": ["unknown_argument", "ungrounded_argument", "tool_error"],
        "[list_loans(member_id=18)]": ["wrong_type", "tool_error"], LOANS: ["repeated_call"],
        "[list_loans(member_id='MB-77')]": ["ungrounded_argument"],
        "[find_member(name='Nobody Atall')]": ["ungrounded_argument", "tool_error"],
    }  # fmt: skip
    for action, found in expected.items():
        after = env.simulate(env.snapshot(), action).info
        assert [code for code in codes(after) if code != "tool_error" or "tool_error" in found] == found, action
        assert all(one["severity"] == SEVERITIES[one["code"]] for one in after["facts"]["findings"])


def test_a_draft_ends_nothing_and_where_nothing_is_to_be_called_words_are_the_answer() -> None:
    env = make("simple_python")
    _, info = env.reset(seed=4)
    (gold,), name = solution_of(env), info["page"]["tools"][0]["name"]
    assert info["page"]["kind"] == "single"
    observation, reward, terminated, _, info = env.step(f"draft[{name}(nonsense=1)]")
    assert (info["page"]["kind"], terminated, reward) == ("draft", False, 0.0)
    assert "has no parameter nonsense" in observation
    observation, reward, terminated, _, info = env.step(gold)
    assert (terminated, reward, info["page"]["kind"]) == (True, 1.0, "done")
    assert (HANDED_IN in observation, len(info["available_actions"])) == (True, 0)
    said, call = ("irrelevance", "reply[No function does that.]", 1.0), ("irrelevance", "[{}()]", 0.0)
    for category, action, reward in (said, call, ("live_relevance", "[]", 0.0)):
        env = make(category)
        name = env.reset(seed=1)[1]["page"]["tools"][0]["name"]
        assert env.step(action.replace("{}", name))[1] == reward
        assert (": expected '[" in env.why_failed()) == (reward == 0), "a failure is explained with gold"


@pytest.mark.parametrize("env_id", ["IAD/BFCL-v0", "IAD/ACEBench-v0"])
def test_unknown_arguments_are_refused_with_the_known_ones(env_id: str) -> None:
    users = [{"user": "gpt-4o"}] if "ACE" in env_id else []
    for arguments in ({"category": "multi"}, {"scoring": "kind"}, {"calls": "xml"}, *users):
        with pytest.raises(UnknownTask, match=r"known .* got .*known"):
            gym.make(env_id, **arguments)


DOCS = Path(__file__).parents[3] / "docs"
NUMBERS = (
    *("9" * 400, "-" + "9" * 400, "9" * 4299, "9" * 4400, "0x" + "f" * 400, "0x" + "f" * 5000, "-0x" + "f" * 5000),
    *("1e400", "-1e400", "2**14283 + 2**14283", "10**4000 * 10**290", "[0x" + "f" * 5000 + "] + [1]"),
)
"""Python refuses to write these down, or to turn them into floats."""

PARCEL = "[create_parcel(address_id='AD-31', weight_kg=10, service='express')]"
REMINDER = "[set_reminder(title='sharpen the skates', day='2026-04-04', hour='12:30')]"


def test_a_documented_observation_is_a_real_one() -> None:
    bfcl, ace = started("multi_turn_base_45")[0], ace_started("agent_multi_turn_27")
    for name, env, action in (("bfcl", bfcl, PARCEL), ("acebench", ace, REMINDER)):
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        assert re.findall(r"^```text\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL) == [env.step(action)[0]]


@pytest.mark.parametrize("category", ["multi_turn", "single_turn"])
@pytest.mark.parametrize("options", [{}, {"published": True, "scoring": "official"}])
def test_a_huge_number_is_no_exception(category: str, options: dict[str, Any]) -> None:
    env: Any = gym.make("IAD/BFCL-v0", category=category, split=None, **options).unwrapped
    _, info = env.reset(seed=0)
    tool = next(tool for tool in info["page"]["tools"] if tool["parameters"]["properties"])
    name, parameter = tool["name"], next(iter(tool["parameters"]["properties"]))
    here = env.snapshot()
    for number in NUMBERS:
        call, inside = (f"{name}({parameter}={value})" for value in (number, f"[{number}, {{'a': {number}}}]"))
        as_json = f'{{"name": "{name}", "arguments": {{"{parameter}": {number}}}}}'
        for action in (f"[{call}]", f"[{inside}]", f"draft[{call}]", f"[{as_json}]"):
            outcome = env.simulate(here, action)
            assert env.action_key(action)
            assert (env.terminal(action), env.irreversible(action)) != (None, None)
            assert outcome.info["invalid_action"] == ("expected" in outcome.info["facts"]["complaint"])
            env.restore(here)
            assert env.step(action)[0] == outcome.observation or outcome.done


ASKED = "agent_multi_turn_33"
"""Its user says a title, and a day, an hour and a PIN when asked; then wants another reminder ticked off."""
ALONE = "agent_multi_step_33"


def ace_started(task_id: str, **arguments: Any) -> Any:
    env = make(task_id.rpartition("_")[0], split=None, name="ACEBench", **arguments)
    env.reset(options={"task_id": task_id})
    return env


@pytest.mark.parametrize("category", ["agent", "normal", "special"])
@pytest.mark.parametrize("scoring", ["official", "sound"])
def test_gold_scores_1_and_saying_nothing_0(category: str, scoring: str) -> None:
    env = make(category, scoring=scoring, name="ACEBench")
    for task_id in env.task_ids:
        for actions in (env._reference(env._task(task_id)), [f"reply[{STOP}]"]):
            env.reset(options={"task_id": task_id})
            for action in actions:
                _, reward, terminated, _, info = env.step(action)
            assert terminated
            assert (reward == 1.0) == info["success"] == (len(actions) > 1 or STOP not in actions[0]), task_id


def test_the_user_answers_what_is_asked_and_says_the_next_wish_when_the_first_holds() -> None:
    env = ace_started(ASKED)
    assert "tool_error" in codes(env.step("[find_reminders(words='write to the landlord')]")[4])
    ahead = env.simulate(env.snapshot(), "reply[What is the PIN?]")
    assert (ahead.done, ahead.info["stop_reason"], "6107" in str(ahead)) == (True, "awaiting", False)
    for action, *said in (
        ("reply[What is the PIN?]", "6107"),
        ("[log_in_phone(pin='6107'), find_reminders(words='write to the landlord')]",),
        ("reply[When should it be?]", "July 10, 2026", "10:45"),
        ("[move_reminder(reminder_id='RM-34', day='2026-07-10', hour='10:45')]",),
        ("reply[It is moved.]", "tick it off"), ("reply[Which reminder?]", "order firewood"),
        ("[find_reminders(words='order firewood')]",), ("[tick_reminder(reminder_id='RM-48')]",),
    ):  # fmt: skip
        observation, _, terminated, _, info = env.step(action)
        assert ([text in observation for text in said], terminated) == ([True] * len(said), False), action
        assert "10:45" not in said or info["facts"]["turn"] == 2
    _, reward, terminated, _, info = env.step("reply[It is ticked off.]")
    assert (float(reward), terminated, info["progress"]) == (1.0, True, 1.0)


def test_without_a_user_words_are_answered_by_a_sentence_and_the_last_ones_end_the_task() -> None:
    ask, end = "reply[What is the PIN?]", f"reply[{STOP}]"
    assert NOT_UNDERSTOOD in ace_started(ALONE, scoring="official").step(ask)[0]
    env = ace_started(ALONE)
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
    env = ace_started(ALONE)
    steps = [env.step(action) for _ in range(MAX_MESSAGES // 2)]
    assert [step[2] for step in steps] == [*[False] * (MAX_MESSAGES // 2 - 1), True]
    assert not steps[-1][4]["success"]


def test_a_special_task_wants_the_sentence_alone_and_published_takes_any_text_for_an_answer() -> None:
    for scoring, expected in (("sound", 0.0), ("official", 1.0)):
        env = make("special_incomplete", scoring=scoring, name="ACEBench")
        _, info = env.reset(seed=2)
        (gold,), name = solution_of(env), info["page"]["tools"][0]["name"]
        token = env.snapshot()
        assert env.step(gold.replace("reply[", f"reply[{name}() "))[1] == expected, scoring
        env.restore(token)
        assert env.step(f"[{name}()]")[4]["progress"] == 0.0
        env.restore(token)
        assert env.step(gold)[1] == 1.0
    for published in (True, False):
        env = make("normal_single_turn_single_function", published=published, name="ACEBench")
        env.reset(seed=0)
        ahead = env.simulate(env.snapshot(), "I don't know.")
        assert (ahead.done, ahead.info["invalid_action"]) == (published, not published)
        assert (env.step(f"I call {solution_of(env)[0]}.")[1] == 1.0) == published
    env = make("agent_multi_step", published=True, name="ACEBench")
    env.reset(seed=0)
    assert env.step("[1+]")[0].startswith("Results:\nexpected calls such as")  # looks like calls, and is none


@pytest.mark.slow
def test_a_user_can_be_played_by_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serving() as server:
        server.script(Reply("The PIN is 6107."), Reply(f"{STOP}\nand more"))
        monkeypatch.setenv("OPENAI_API_BASE", server.address)
        env = ace_started(ASKED, user="llm:openai/anything")
        env.step("[check_phone()]")
        env.simulate(env.snapshot(), "reply[What is the PIN?]")
        assert not server.requests
        observation, *_ = env.step("reply[What is the PIN?]")
        assert "The PIN is 6107." in observation
        assert env.step("reply[Thank you.]")[2]
    said = [one["role"] for one in server.requests[-1]["messages"]]
    assert said == ["system", "assistant", "user", "assistant", "user"]
    assert "write to the landlord" in server.requests[0]["messages"][0]["content"]

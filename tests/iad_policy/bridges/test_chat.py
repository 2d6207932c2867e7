"""An episode as a conversation, also with snapshots: what is said, tried and committed, and that gold stays out."""

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

from iad_envs import ENVIRONMENTS
from iad_policy.bridges.chat import OVER, Chat, ChatOutcome
from iad_policy.bridges.mcp import TRIAL, OneRequestPerId, ToolSession, kept
from iad_policy.bridges.openenv import ServedEpisodes
from iad_policy.bridges.trial import TRIAL_OVER, TrialChat
from iad_policy.errors import ContractError, UnknownName
from tests.contract.rule_based import made
from tests.iad_policy.bridges.gold import Told, aimless, gold_in, solving, texts_of

SHOP = "IAD/WebShop-v0"
WITHOUT_BROWSER = [name for name in ENVIRONMENTS if "Browser" not in name]


class Door(gym.Env[str, str]):
    """A foreign environment: `open` opens the door, and what is no text breaks it."""

    observation_space = gym.spaces.Text(100)
    action_space = gym.spaces.Text(100)

    def __init__(self, spec: EnvSpec | None = None) -> None:
        self.spec = spec

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return "closed", {"available_actions": ["open", "knock"]}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        is_open = action.strip() == "open"
        return "ajar" if is_open else "closed", float(is_open), is_open, False, {"available_actions": ["open", "knock"]}


@pytest.mark.parametrize(
    ("env", "style", "answer"),
    [
        (SHOP, None, "what?"),
        ("IAD/InterCodeBash-v0", "direct", "I will think about it."),
        ("IAD/BIRD-v0", "tool", "no idea"),
    ],
)
def test_an_answer_that_is_no_action_costs_a_step_and_is_told_why(env: str, style: str | None, answer: str) -> None:
    with Chat(env, style=style) as chat:
        chat.begin(seed=1)
        left = chat.state.steps_left
        text = chat.say(answer)
        assert chat.candidate is not None
        assert chat.candidate.error
        assert chat.candidate.error in text
        assert "NoneType" not in text
        assert chat.state.steps_left == left - 1
        assert (chat.outcome.steps, chat.outcome.invalid, chat.done) == (1, 1, False)


def test_a_model_that_never_acts_comes_to_an_end() -> None:
    with Chat(SHOP) as chat:
        chat.begin(seed=3)
        chat.say("Thought: I look.\nAction: search[red sh", finish_reason="length")  # cut off
        assert chat.candidate is not None
        assert chat.candidate.error
        assert "not possible here" in chat.say("Action: click[nothing]")
        assert (chat.outcome.steps, chat.outcome.invalid) == (2, 2)
        assert [chat.say("hm") for _ in range(30)][-1] == OVER
        assert chat.outcome == ChatOutcome(chat.outcome.task_id, False, chat.outcome.progress, 0.0, "max_steps", 15, 15)


def test_an_action_from_elsewhere_is_committed_as_it_is() -> None:
    with Chat(SHOP, style="direct") as said, Chat(SHOP, style="direct") as committed:
        assert said.begin(seed=3) == committed.begin(seed=3)
        assert committed.commit("search[shirt]") == said.say("Action: search[shirt]")
        assert committed.commit("shirt") != said.say("shirt")
        assert "got 'Action: search[shirt]'" in committed.commit("Action: search[shirt]")
        assert (committed.outcome.steps, committed.outcome.invalid) == (3, 2)
        while not committed.done:
            committed.commit("click[nothing]")
        ended = committed.outcome
        assert committed.commit("search[shirt]") == OVER
        assert committed.outcome == ended


@pytest.mark.parametrize("style", [None, "direct", "tool"])
def test_functions_that_come_later_are_told_in_every_style(style: str | None) -> None:
    with Chat("IAD/BFCL-v0", style=style) as chat:
        task = next(name for name in chat.env.unwrapped.tasks if "miss_func" in name)  # type: ignore[attr-defined]
        said = "".join(message["content"] for message in chat.begin(task_id=task))
        while not chat.done:
            said += chat.say("reply[Done.]")
            offered = [one["name"] for one in chat.state.info["page"].get("tools", ())]
            assert chat.done or all(f'"{name}"' in said for name in offered)
        assert "More functions can be called now." in said


def test_a_chat_of_function_calls_tells_results_once() -> None:
    with Chat("IAD/BFCL-v0") as chat:
        chat.begin(seed=1)
        text = chat.say("[show_folder()]")
        assert text.startswith("[{'role': 'tool', 'name': 'show_folder'")
        assert chat.say("[show_folder()]") == f"{text}\n\nshow_folder() was called in this turn before."


def test_a_foreign_environment_is_never_given_what_is_no_action() -> None:
    chat = Chat(gym.wrappers.TimeLimit(Door(EnvSpec("Door-v0", entry_point=Door, max_episode_steps=3)), 3))
    chat.begin()
    assert "ajar" in chat.preview("Action: open")  # in a copy, as it can not be simulated itself
    assert "unreadable answer" in chat.say("")
    assert chat.say("Action: knock").startswith("Now you see:\nclosed")
    assert chat.say("Action: open") == OVER
    assert (chat.outcome.reward, chat.outcome.stop_reason, chat.outcome.invalid) == (1.0, "done", 1)
    chat.begin()
    assert [chat.say("") for _ in range(4)][2:] == [OVER, OVER]
    assert (chat.outcome.stop_reason, chat.outcome.steps) == ("max_steps", 3)


def test_what_is_previewed_is_what_the_action_then_leads_to_without_the_score_at_the_end() -> None:
    with Chat(SHOP, style="tool") as chat:
        chat.begin(seed=0)
        assert chat.preview("well") == "unreadable answer: expected an action, such as search[...], got 'well'"
        for action in ("search[granola bars]", "click[next >]", "click[< prev]"):
            shown = chat.preview(action)
            page = chat.say(action).partition("Now you see:\n")[2].partition("\n\n")[0]
            assert shown == f"Action: {action}\nIt would lead to this (simulated, not done yet):\n{page}"
        chat.say(next(action for action in chat.state.info["available_actions"] if action.startswith("click[b0")))
        assert "How that is scored is not known" in chat.preview("click[buy now]")
        chat.say("click[buy now]")
        assert chat.preview("search[granola bars]") == OVER


@pytest.mark.parametrize(
    ("use", "error", "said"),
    [
        (lambda: Chat(SHOP).say("search[shirt]"), ContractError, "begin"),
        (lambda: Chat(SHOP, style="loud"), UnknownName, "loud"),
        (lambda: Chat("IAD/BFCL-v0", style="fc"), ValueError, "prompting"),
        (lambda: Chat(gym.make(SHOP), split="train"), TypeError, r"gym\.make"),
    ],
)
def test_wrong_use_is_said(use: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        use()


def test_an_environment_of_ones_own_stays_open_and_bare_actions_are_read() -> None:
    made = gym.make(SHOP)
    with Chat(made, "tool") as chat:
        chat.begin(seed=1)
        for answer in solving(made, chat.outcome.task_id, 1):
            chat.say(answer.removeprefix("Action: "))
        assert (chat.done, chat.outcome.success, chat.outcome.progress, chat.outcome.invalid) == (True, True, 1.0, 0)
    made.reset(seed=0)
    made.close()


class Dice(Door):
    """A foreign environment: `roll` shows a number that nobody can foresee."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return f"rolled {self.np_random.integers(1 << 40)}", 0.0, False, False, {"available_actions": ["roll"]}


def trial(env: Any = SHOP, style: str | None = "tool", **options: Any) -> TrialChat:
    return TrialChat(env, style, **{"snapshots": 2, **options})


def shop_actions(task_id: str) -> list[str]:
    """What solves a task of the shop."""
    return [answer.removeprefix("Action: ") for answer in solving(gym.make(SHOP), task_id)]


@pytest.mark.parametrize("env_id", WITHOUT_BROWSER)
def test_what_was_tried_is_what_the_same_answers_lead_to(env_id: str) -> None:
    env: Any = gym.make(env_id)
    task_id = env.unwrapped.task_ids[1]
    answers = solving(env, task_id)
    with Chat(env) as plain, trial(env_id, None) as chat:
        messages = chat.begin(task_id=task_id, seed=0)
        assert plain.begin(task_id=task_id, seed=0) == messages
        first = chat.snapshot()
        for answer in aimless(env):
            chat.say(answer)
        if not chat.trial_ended:
            chat.snapshot()
        chat.restore(first)
        n_tried = chat.outcome.tried
        for answer in answers:
            if chat.trial_ended:  # only the world can go on
                assert chat.say(answer) == chat.preview(answer) == TRIAL_OVER
                chat.commit_tried()
                chat.snapshot()
            tried, done = chat.say(answer), plain.say(answer)
            assert tried == done or chat.trial_ended
            assert chat.last_reward == 0
        assert (chat.done, chat.outcome.reward) == (False, 0)
        assert chat.commit_tried() == OVER
        assert not chat.is_trial
        assert chat.outcome == plain.outcome._replace(tried=n_tried + len(answers))
        assert chat.outcome.success
        assert chat.last_reward == chat.outcome.reward or chat.outcome.steps > 1


def foreign_id() -> str:
    with trial() as other:
        other.begin(seed=0)
        return other.snapshot()


def committed(chat: TrialChat) -> str:
    name = chat.snapshot()
    chat.say("search[tea]")
    chat.commit_tried()
    chat.snapshot()
    return name


def bought(chat: TrialChat) -> None:
    for action in shop_actions(chat.outcome.task_id):
        chat.say(action)


UNKNOWN = "a snapshot of this task, got '"


@pytest.mark.parametrize(
    ("do", "said"),
    [
        (lambda chat: chat.restore("0a1b"), f"{UNKNOWN}0a1b'; known: none"),
        (lambda chat: chat.restore(foreign_id()), UNKNOWN),
        (lambda chat: chat.restore(committed(chat)), UNKNOWN),
        (lambda chat: (name := chat.snapshot(), chat.begin(seed=1), chat.restore(name)), UNKNOWN),
        (lambda chat: [chat.snapshot() for _ in range(3)], "at most 2 snapshots"),
        (lambda chat: (bought(chat), chat.snapshot()), "got one that is over"),
        (lambda chat: chat.commit_tried(), "a snapshot before commit"),
        (lambda chat: trial(snapshots=0).snapshot(), "--snapshots 8"),
        (lambda chat: trial().snapshot(), "expected begin"),
    ],
)
def test_what_can_not_be_gone_back_to_is_said(do: Callable[[TrialChat], Any], said: str) -> None:
    with trial() as chat:
        chat.begin(seed=0)
        with pytest.raises(ContractError) as refused:
            do(chat)
        assert said in str(refused.value)


def test_going_back_costs_nothing_and_is_not_done() -> None:
    with trial() as chat:
        chat.begin(seed=0)
        chat.say("search[tea]")
        before = chat.state
        name = chat.snapshot()
        seen = chat.say("search[coffee]")
        assert "Actions left: 13." in seen
        assert chat.say("well").endswith(seen)  # what is no action changes nothing
        assert chat.preview("click[next >]").startswith("Action: click[next >]\nIt would ")
        assert "Actions left: 14." in chat.restore(name)
        assert (chat.state, chat.outcome.steps, chat.outcome.tried) == (before, 1, 2)
        assert "Actions left: 14." in chat.commit_tried()  # nothing was tried since
        assert "Actions left: 13." in chat.say("search[coffee]")
        assert chat.outcome.steps == 2


@pytest.mark.parametrize("oracle", [False, True])
def test_a_client_is_told_no_reward_of_what_it_tries_unless_the_server_allows_gold(oracle: bool) -> None:
    served = ServedEpisodes(lambda: trial(style="direct", oracle=oracle))
    served.reset({"seed": 0})
    actions = shop_actions(served.state["task_id"])
    begun = served.step("", "snapshot")
    name = begun["metadata"]["snapshot"]
    assert (begun["reward"], begun["done"], begun["metadata"]["trial"]) == (None, False, True)
    tried = [served.step(action) for action in actions]
    assert [step["done"] for step in tried] == [False] * (len(actions) - 1) + [True]
    assert [step["reward"] for step in tried] == ([0.0] * (len(actions) - 1) + [1.0] if oracle else [None] * len(tried))
    told = {"trial": True, "information": "oracle"} if oracle else {"trial": True}
    assert all(step["metadata"] == told for step in tried)
    assert "How that is scored is not known" in tried[-1]["text"]
    assert served.state["step_count"] == 0
    back = served.step(name, "restore")
    assert (back["text"], back["done"], back["reward"]) == (begun["text"], False, None)
    for action in actions:
        served.step(action)
    done = served.step("", "commit")
    assert (done["text"], done["reward"], done["done"]) == (OVER, 1.0, True)
    assert (done["metadata"]["tried"], done["metadata"]["oracle"]) == (2 * len(actions), oracle)
    with pytest.raises(ValueError, match="expected do with act, snapshot, restore, commit"):
        served.step("", "undo")
    served.reset({"seed": 0})
    assert served.step("search[tea]")["reward"] == 0
    served.close()


def test_an_agent_with_tools_is_told_what_is_a_trial_and_its_outcome_is_the_committed_one() -> None:
    ended: list[ChatOutcome] = []
    session = ToolSession(trial, ended.append, None)
    session.begin(None, 0)
    name = session.use(kept).partition(".")[0].removeprefix("Snapshot ")
    for action in ("search[tea]", "click[nothing]"):
        assert session.use(TrialChat.say, action).endswith(TRIAL)
    assert session.use(TrialChat.restore, name).endswith(TRIAL)
    for action in shop_actions("test-0001"):
        session.use(TrialChat.say, action)
    assert ended == []
    session.begin("test-0001", None)
    session.use(kept)
    for action in shop_actions("test-0001"):
        session.use(TrialChat.say, action)
    assert session.use(TrialChat.commit_tried) == OVER
    session.close()
    assert [(one.success, one.stop_reason) for one in ended] == [(False, ""), (True, "done")]
    with pytest.raises(ContractError, match="expected begin before"):
        session.use(TrialChat.restore, name)


@pytest.mark.parametrize(
    ("kind", "actions", "seen", "n_done"),
    [
        (Door, ("knock", "open"), "It would end the task", 2),
        (Dice, ("roll", "roll"), "rolled", 1),  # the world's own dice fall otherwise
    ],
)
def test_a_foreign_environment_is_tried_in_a_copy(kind: type[Door], actions: Any, seen: str, n_done: int) -> None:
    with trial(kind(EnvSpec("Own-v0", entry_point=kind)), None) as chat:
        chat.begin(seed=0)
        chat.snapshot()
        assert seen in [chat.say(f"Action: {action}") for action in actions][-1]
        text = chat.commit_tried()
        assert chat.outcome.steps == n_done
        assert ("1 of 2 actions were done" in text) == (n_done < len(actions))


def test_a_server_of_a_split_gives_no_task_of_another_one() -> None:
    served = ServedEpisodes(lambda: trial(split="train"))
    session = ToolSession(lambda: trial(split="train"), None, None)
    for begin in ({"task_id": "test-0001"}, {"split": "test", "index": 0}):
        with pytest.raises(ValueError, match=r"'test.*known: .*train"):
            served.reset(begin)
    with pytest.raises(ValueError, match="'train', got 'test-0001'; known: 800"):
        session.begin("test-0001", None)
    assert served.splits == ["train"]
    served.reset({"split": "train", "index": 1})
    assert served.state["task_id"] == "train-0002"
    served.close()
    session.close()


def test_a_second_request_with_an_id_in_work_is_refused_at_once() -> None:
    async def asked(app: Any, message: dict[str, Any], session: str) -> tuple[int, dict[str, Any]]:
        body, sent = json.dumps(message).encode(), list[Any]()
        parts = [
            {"type": "http.request", "body": body[:9], "more_body": True},
            {"type": "http.request", "body": body[9:]},
        ]

        async def receive() -> dict[str, Any]:
            return parts.pop(0)

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "headers": [(b"mcp-session-id", session.encode())]}
        await app(scope, receive, send)
        return sent[0]["status"], json.loads(sent[1]["body"])

    async def main() -> None:
        free = asyncio.Event()

        async def working(scope: Any, receive: Any, send: Any) -> None:
            body = (await receive())["body"] + (await receive())["body"]
            await free.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": body})

        app = OneRequestPerId(working)
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
        same = [asyncio.ensure_future(asked(app, call, "a")) for _ in range(3)]
        others = [(call, "b"), ({**call, "id": 8}, "a"), *[({"jsonrpc": "2.0", "method": "notifications/x"}, "a")] * 2]
        other = [asyncio.ensure_future(asked(app, *one)) for one in others]
        refused = await asyncio.gather(*same[1:])
        assert {status for status, _ in refused} == {409}
        assert "got 7" in refused[0][1]["error"]["message"]
        assert refused[0][1]["id"] == 7
        free.set()
        assert await same[0] == (200, call)
        assert [status for status, _ in await asyncio.gather(*other)] == [200] * 4
        assert await asked(app, call, "a") == (200, call)  # the id is free again

    asyncio.run(asyncio.wait_for(main(), 20))


SLOW = ("IAD/WebShopBrowser-v0", "IAD/BookingBrowser-v0")
"""Environments with a browser whose texts are those of the others."""


@pytest.mark.parametrize(
    "env_id", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in ENVIRONMENTS]
)
def test_no_message_has_gold_and_gold_in_one_would_be_found(env_id: str) -> None:
    """Bridges whose libraries exclude each other are held to the same by tests/full/test_bridge_*.py."""
    with closing(made(env_id)) as env:
        world: Any = env.unwrapped
        task_id = world.task_ids[1]
        for answers in ([*solving(env, task_id), "and now?"], aimless(env)):
            chat = Chat(env)
            texts = texts_of(chat.begin(task_id=task_id, seed=0))
            texts += [chat.say(answer) for answer in answers]
            assert len(texts) == 2 + len(answers)
            assert gold_in(Told(texts, answers), env, task_id) == []
        gold = world.oracle(world.snapshot())
        for secret in (str(gold["reference"]), str(gold["solution"])):
            assert gold_in(Told([*texts, secret], answers), env, task_id)


def test_a_score_in_a_message_is_found() -> None:
    with Chat(SHOP, style="direct") as chat:
        task_id = chat.task_ids[0]
        texts, answers = texts_of(chat.begin(task_id=task_id, seed=0)), ["Action: search[kids headphones]"]
        texts.append(chat.say(answers[0]))
        for action in (chat.state.info["available_actions"][2], "click[buy now]"):
            answers.append(f"Action: {action}")
            texts.append(chat.say(answers[-1]))
        assert 0.0 < chat.reward < 1.0
        assert gold_in(Told(texts, answers), chat.env, task_id) == []
        for leak in (f"You got {chat.reward:.3f}.", f"Score: {100 * chat.reward:.2f} %", str(chat.state.observation)):
            assert gold_in(Told([*texts, leak], answers), chat.env, task_id), leak

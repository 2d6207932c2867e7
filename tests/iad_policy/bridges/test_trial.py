"""Snapshots over a bridge: what is tried, what is gone back to, what is committed, and what a client learns by it."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

from iad_policy.bridges.chat import OVER, Chat, ChatOutcome
from iad_policy.bridges.mcp import TRIAL, OneRequestPerId, ToolSession, kept
from iad_policy.bridges.openenv import ServedEpisodes
from iad_policy.bridges.trial import TRIAL_OVER, TrialChat
from iad_policy.errors import ContractError
from tests.contract.rule_based import KEYLESS
from tests.iad_policy.bridges.gold import Told, aimless, gold_in, solving
from tests.iad_policy.bridges.test_chat import Door

SHOP = "IAD/WebShop-v0"


class Dice(Door):
    """A foreign environment: `roll` shows a number that nobody can foresee."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return f"rolled {self.np_random.integers(1 << 40)}", 0.0, False, False, {"available_actions": ["roll"]}


def trial(env: Any = SHOP, style: str | None = "tool", **options: Any) -> TrialChat:
    return TrialChat(env, style, **{"snapshots": 2, **options})


def shop_actions(task_id: str) -> list[str]:
    """What solves a task of the shop."""
    env: Any = gym.make(SHOP)
    env.reset(options={"task_id": task_id})
    actions: list[str] = env.unwrapped.oracle(env.unwrapped.snapshot())["solution"]
    return actions


@pytest.mark.parametrize("env_id", [name for name in KEYLESS if "Browser" not in name])
def test_what_was_tried_is_what_the_same_answers_lead_to_and_has_no_gold(env_id: str) -> None:
    env: Any = gym.make(env_id)
    task_id = env.unwrapped.task_ids[1]
    answers = solving(env, task_id)
    with Chat(env) as plain, trial(env_id, None) as chat:
        messages = chat.begin(task_id=task_id, seed=0)
        assert plain.begin(task_id=task_id, seed=0) == messages
        texts = [str(message["content"]) for message in messages]
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
            if not chat.trial_ended:
                assert tried == done
                texts.append(tried)
            assert chat.last_reward == 0
        assert (chat.done, chat.outcome.reward) == (False, 0)
        assert chat.commit_tried() == OVER
        assert not chat.is_trial
        assert chat.outcome == plain.outcome._replace(tried=n_tried + len(answers))
        assert chat.outcome.success
        assert chat.last_reward == chat.outcome.reward or chat.outcome.steps > 1
        assert gold_in(Told(texts, answers), env, task_id) == []


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


@pytest.mark.parametrize(
    ("do", "said"),
    [
        (lambda chat: chat.restore("0a1b"), "expected a snapshot of this task, got '0a1b'; known: none"),
        (lambda chat: chat.restore(foreign_id()), "expected a snapshot of this task, got '"),
        (lambda chat: chat.restore(committed(chat)), "expected a snapshot of this task, got '"),
        (lambda chat: (name := chat.snapshot(), chat.begin(seed=1), chat.restore(name)), "of this task, got '"),
        (lambda chat: [chat.snapshot() for _ in range(3)], "expected at most 2 snapshots at a time, got one more"),
        (lambda chat: (bought(chat), chat.snapshot()), "expected a task that goes on, got one that is over"),
        (lambda chat: chat.commit_tried(), "expected a snapshot before commit, got none"),
        (lambda chat: trial(snapshots=0).snapshot(), "got one that takes none; start it with --snapshots 8"),
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


@pytest.mark.parametrize("begin", [{"task_id": "test-0001"}, {"split": "test", "index": 0}])
def test_a_server_of_a_split_gives_no_task_of_another_one(begin: dict[str, Any]) -> None:
    served = ServedEpisodes(lambda: trial(split="train"))
    session = ToolSession(lambda: trial(split="train"), None, None)
    with pytest.raises(ValueError, match=r"'test.*known: .*train"):
        served.reset(begin)
    if "task_id" in begin:
        with pytest.raises(ValueError, match="expected a task_id of the split 'train', got 'test-0001'; known: 800"):
            session.begin(begin["task_id"], None)
    assert served.splits == ["train"]
    served.reset({"split": "train", "index": 1})
    assert served.state["task_id"] == "train-0002"
    served.close()
    session.close()


def test_a_second_request_with_an_id_in_work_is_refused_at_once() -> None:
    async def asked(app: Any, message: dict[str, Any], session: str) -> tuple[int, dict[str, Any]]:
        body, sent = json.dumps(message).encode(), []
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
            body = b""
            while (part := await receive()).get("more_body"):
                body += part["body"]
            await free.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": body + part["body"]})

        app = OneRequestPerId(working)
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
        same = [asyncio.ensure_future(asked(app, call, "a")) for _ in range(8)]
        others = [(call, "b"), ({**call, "id": 8}, "a"), ({"jsonrpc": "2.0", "method": "notifications/x"}, "a")]
        other = [asyncio.ensure_future(asked(app, *one)) for one in (*others, others[-1])]
        refused = await asyncio.gather(*same[1:])
        assert {status for status, _ in refused} == {409}
        assert "expected an id of its own for each request in work, got 7" in refused[0][1]["error"]["message"]
        assert refused[0][1]["id"] == 7
        free.set()
        assert await same[0] == (200, call)
        assert [status for status, _ in await asyncio.gather(*other)] == [200] * 4
        assert await asked(app, call, "a") == (200, call)  # the id is free again

    asyncio.run(asyncio.wait_for(main(), 20))

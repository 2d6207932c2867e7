"""An episode as a conversation: what is said, what an answer does, and what stays out."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

from iad_policy.bridges.chat import OVER, Chat, ChatOutcome
from iad_policy.errors import ContractError, UnknownName
from tests.contract.rule_based import KEYLESS

SHOP = "IAD/WebShop-v0"
BASH = "IAD/InterCodeBash-v0"


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


@pytest.mark.parametrize("style", [None, "direct", "tool"])
@pytest.mark.parametrize(
    ("env", "answer"), [(SHOP, "what?"), (BASH, "I will think about it first."), ("IAD/BIRD-v0", "no idea")]
)
def test_an_answer_that_is_no_action_costs_a_step_and_is_told_what_was_expected(
    env: str, answer: str, style: str | None
) -> None:
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
        chat.begin(seed=1)
        said = [chat.say("hm") for _ in range(30)]
        assert said[-1] == OVER
        assert chat.outcome == ChatOutcome(chat.outcome.task_id, False, chat.outcome.progress, 0.0, "max_steps", 15, 15)


def test_what_is_said_after_the_end_changes_nothing() -> None:
    with Chat(SHOP, style="direct") as chat:
        chat.begin(seed=3)
        chat.say("search[shirt]")
        chat.say(chat.state.info["available_actions"][2])
        assert chat.say("click[buy now]") == OVER
        assert chat.done
        ended, state = chat.outcome, chat.state
        assert ended.stop_reason == "done"
        assert ended.reward == chat.reward
        assert chat.say("search[shirt]") == OVER
        assert chat.outcome == ended
        assert chat.state is state
        assert ended.metrics == {
            "success": float(ended.success),
            "progress": ended.progress,
            "reward": ended.reward,
            "steps": 3.0,
            "invalid": 0.0,
        }


def test_an_answer_that_was_cut_off_and_an_action_that_is_refused_count_as_invalid() -> None:
    with Chat(SHOP) as chat:
        chat.begin(seed=3)
        chat.say("Thought: I look.\nAction: search[red sh", finish_reason="length")
        assert chat.candidate is not None
        assert chat.candidate.error
        assert "not possible here" in chat.say("Action: click[nothing]")
        assert (chat.outcome.steps, chat.outcome.invalid) == (2, 2)


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


def test_functions_that_come_later_are_told_in_every_style() -> None:
    for style in (None, "direct", "tool"):
        with Chat("IAD/BFCL-v0", style=style) as chat:
            tasks = chat.env.unwrapped.tasks  # type: ignore[attr-defined]
            task = next(name for name in tasks if "miss_func" in name)
            first = "".join(message["content"] for message in chat.begin(task_id=task))
            later: list[str] = []
            while not chat.done:
                later.append(chat.say("reply[Done.]"))
                offered = [one["name"] for one in chat.state.info["page"].get("tools", ())]
                if not chat.done:
                    assert all(f'"{name}"' in first + "".join(later) for name in offered)
            assert any("More functions can be called now." in text for text in later)


def test_a_chat_of_function_calls_tells_results_once() -> None:
    with Chat("IAD/BFCL-v0") as chat:
        chat.begin(seed=1)
        text = chat.say("[show_folder()]")
        assert text.startswith("[{'role': 'tool', 'name': 'show_folder'")
        again = chat.say("[show_folder()]")
        assert again == f"{text}\n\nshow_folder() was called in this turn before."


def test_chats_run_side_by_side() -> None:
    def played(seed: int) -> tuple[list[str], ChatOutcome]:
        with Chat(SHOP, style="direct") as chat:
            chat.begin(seed=seed)
            return [chat.say(f"search[{word}]") for word in ("shirt", "lamp")], chat.outcome

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(played, range(4))) == [played(seed) for seed in range(4)]


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


@pytest.mark.parametrize(
    ("env", "possible", "refused"),
    [
        ("IAD/WebShop-v0", "search[granola bars]", "click[nothing]"),
        ("IAD/Booking-v0", "TYPE [q] [bistro]", "CLICK [nothing]"),
        ("IAD/BIRD-v0", "execute[SELECT 1]", "execute[SELECT nothing]"),
        ("IAD/BFCL-v0", "reply[Done.]", "[nothing_such()]"),
    ],
)
def test_a_preview_shows_the_simulated_outcome_and_commits_nothing(env: str, possible: str, refused: str) -> None:
    with Chat(env, style="tool") as chat:
        chat.begin(seed=0)
        before, outcome = chat.state, chat.outcome
        shown = chat.preview(possible)
        assert shown.startswith(f"Action: {possible}\nIt would ")
        assert shown != chat.preview(refused)
        assert (chat.state, chat.outcome) == (before, outcome._replace(tried=2))


def test_what_is_previewed_is_what_the_action_then_leads_to_without_the_score_at_the_end() -> None:
    with Chat(SHOP, style="tool") as chat:
        chat.begin(seed=0)
        assert chat.preview("well") == "unreadable answer: expected an action, such as search[...], got 'well'"
        for action in ("search[granola bars]", "click[next >]", "click[< prev]"):
            shown = chat.preview(action)
            page = chat.say(action).partition("Now you see:\n")[2].partition("\n\n")[0]
            assert shown == f"Action: {action}\nIt would lead to this (simulated, not done yet):\n{page}"
        chat.say(next(action for action in chat.state.info["available_actions"] if action.startswith("click[b0")))
        shown = chat.preview("click[buy now]")
        assert "It would end the task. How that is scored is not known. What would be seen:" in shown
        chat.say("click[buy now]")
        assert chat.preview("search[granola bars]") == OVER


def test_wrong_use_is_said() -> None:
    with pytest.raises(ContractError, match="begin"):
        Chat(SHOP).say("search[shirt]")
    with pytest.raises(UnknownName, match="loud"):
        Chat(SHOP, style="loud")
    with pytest.raises(ValueError, match="prompting"):
        Chat("IAD/BFCL-v0", style="fc")
    with pytest.raises(TypeError, match=r"gym\.make"):
        Chat(gym.make(SHOP), split="train")


@pytest.mark.parametrize("style", [None, "tool"])
@pytest.mark.parametrize("env", [name for name in KEYLESS if "Browser" not in name])
def test_the_solution_said_action_by_action_reaches_success(env: str, style: str | None) -> None:
    made = gym.make(env)
    inner: Any = made.unwrapped
    with Chat(made, style) as chat:
        chat.begin(seed=1)
        is_bare = style == "tool" or env in ("IAD/BFCL-v0", "IAD/ACEBench-v0", "IAD/Sketch2Code-v0")
        for action in inner.oracle(inner.snapshot())["solution"]:
            chat.say(action if is_bare else f"Thought: This is next.\nAction: {action}")
        assert (chat.done, chat.outcome.success, chat.outcome.progress) == (True, True, 1.0), chat.outcome
        assert chat.outcome.invalid == 0
    made.reset(seed=0)  # an environment of one's own stays open
    made.close()

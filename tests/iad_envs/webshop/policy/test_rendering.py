"""The shop's pages in words: everything that can be done once, what is selected, and what was read."""

import re
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.webshop.policy.rendering import ShopRendering
from iad_policy.prompts.rendering import Rendering
from iad_policy.simulators.llm import Unpredicted
from iad_policy.types import State, Turn

WORDS = ShopRendering()
TASK = "test-0141"
RUG = ("search[stain resistant rug charcoal 2 x 3 feet]", "click[b0wwpcxg4k]")


def played(*actions: str, **options: Any) -> State:
    """Return the state after actions."""
    env = gym.make("IAD/WebShop-v0", **options)
    observation, info = env.reset(options={"task_id": TASK})
    history: list[Turn] = []
    done = False
    for action in actions:
        history.append(Turn(observation, action, info))
        observation, _, done, _, info = env.step(action)
    env.close()
    return State(observation, info, history=tuple(history), steps_left=15 - len(actions), done=done)


@pytest.mark.parametrize("search_anywhere", [True, False])
@pytest.mark.parametrize("more", [None, "click[next >]", "click[charcoal]", "click[features]", "click[reviews]"])
def test_a_page_shows_each_possible_action_once_and_no_other(more: str | None, search_anywhere: bool) -> None:
    ways = [(), RUG[:1], RUG] if more is None else [(RUG[0], more) if more == "click[next >]" else (*RUG, more)]
    for actions in ways:
        state = played(*actions, search_anywhere=search_anywhere)
        page = WORDS.page(state)
        available = set(state.info["available_actions"])
        names = re.findall(r"\[([^\]]+)\]", page.replace("search[words]", ""))
        assert sorted(f"click[{name}]" for name in names) == sorted(available - {"search[...]"})
        assert page.count("search[words]") == ("search[...]" in available)
        assert WORDS.actions(state) == ""


def test_the_words_keep_ids_prices_selections_and_what_was_read() -> None:
    state = played(*RUG, "click[features]", "click[< prev]", "click[charcoal]", "click[< prev]", "click[purple]")
    for at, text in (
        (played(*RUG), "Selected: nothing; still open: color, size."),
        (played(*RUG, "click[charcoal]", "click[2 x 3 feet]"), "Selected: color = charcoal, size = 2 x 3 feet."),
        (played(*RUG, "click[features]", "click[< prev]"), "Not read: description."),
        (played(*RUG, "click[charcoal]", "click[buy now]"), "Bought: product b0wwpcxg4k, $143.49: Ivorne Ember"),
        (played("search[qwertyuiop]", "click[next >]"), "Page 2 of 0 results:\nnone on this page\n"),
        (played(*RUG, "click[reviews]"), "Reviews of b0wwpcxg4k:\n(no text)\n"),
    ):
        assert text in WORDS.page(at)
    turns = "\n".join(WORDS.turns(state))
    products = state.history[1].info["page"]["products"]
    assert all(f"{one['asin'].lower()} {one['price']}" in turns for one in products)
    for text in ("Stain Resistant. Spills bead up", "back on the product's page", "selected color = charcoal"):
        assert text in turns
    values = WORDS.values(state)
    assert "click['purple']" in values["facts"]
    del values["instruction"]  # the same without its label, for prompts of other authors
    assert "\n".join(values.values()).count(str(state.info["instruction"])) == 1


def test_other_observation_modes_and_states_without_a_page_are_shown_as_they_are() -> None:
    state = played(*RUG, observation_mode="text_rich")
    assert WORDS.page(state) == state.observation.strip() or WORDS.page(state) == state.observation
    assert "click[buy now]" in WORDS.actions(state)
    bare = State("a page", {"instruction": "a rug", "available_actions": ("click[x]",)})
    assert WORDS.values(bare) | {"task": ""} == Rendering().values(bare) | {"task": ""}


def test_of_a_page_that_stays_a_judge_sees_the_selection_alone() -> None:
    assert WORDS.outcome(played(*RUG, "click[charcoal]")) == (
        "The same product's page. Selected: color = charcoal; still open: size."
    )
    assert "[charcoal]" in WORDS.outcome(played(*RUG))
    invalid = played(*RUG, "click[purple]")
    assert "[charcoal]" in WORDS.outcome(invalid)
    assert "click['purple'] is not possible here" in WORDS.outcome(invalid)


def test_a_predicted_page_is_shown_in_the_simulator_s_words() -> None:
    seen = "Instruction: [SEP] a rug [SEP] Back to Search [SEP] < Prev [SEP] A rug [SEP] Price: $5"
    info = {"instruction": "a rug", "available_actions": (), "page": Unpredicted(), "facts": Unpredicted()}
    predicted = State(seen, info, history=(Turn("WebShop [SEP] Search", "search[rug]", info),))
    assert WORDS.page(predicted) == seen
    assert WORDS.turns(predicted) == ["0. WebShop [SEP] Search", "1. search[rug]"]
    assert WORDS.outcome(predicted) == seen

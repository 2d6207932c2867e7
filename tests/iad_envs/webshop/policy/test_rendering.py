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


def test_what_is_selected_and_what_is_still_open_is_told() -> None:
    assert "Selected: nothing; still open: color, size." in WORDS.page(played(*RUG))
    one = played(*RUG, "click[charcoal]")
    assert one.observation == played(*RUG).observation, "the page itself does not say it"
    assert "Selected: color = charcoal; still open: size." in WORDS.page(one)
    both = played(*RUG, "click[charcoal]", "click[2 x 3 feet]", "click[features]", "click[< prev]")
    assert "Selected: color = charcoal, size = 2 x 3 feet." in WORDS.page(both)
    assert "3. click[charcoal]\n   selected color = charcoal" in WORDS.turns(both)


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


def test_the_history_keeps_ids_prices_titles_and_what_was_read() -> None:
    state = played(*RUG, "click[features]", "click[< prev]", "click[< prev]", "click[next >]")
    searched, opened, read, back, results, following = WORDS.turns(state)
    products = state.history[1].info["page"]["products"]
    assert all(f"{one['asin'].lower()} {one['price']}" in searched for one in products)
    assert "$143.49 Ivorne Ember Select Area Rug" in opened
    assert "Stain Resistant. Spills bead up and can be dabbed away." in read
    assert back == "4. click[< prev]\n   back on the product's page"
    assert results == "5. click[< prev]\n   page 1, 50 results"
    assert following == "6. click[next >]"
    assert "Not read: description." in WORDS.page(played(*RUG, "click[features]", "click[< prev]"))
    values = WORDS.values(state)
    del values["instruction"]  # the same without its label, for prompts of other authors
    assert "\n".join(values.values()).count(str(state.info["instruction"])) == 1


def test_purchases_empty_pages_and_invalid_actions_are_told() -> None:
    bought = WORDS.page(played(*RUG, "click[charcoal]", "click[buy now]"))
    assert bought.startswith("Bought: product b0wwpcxg4k, $143.49: Ivorne Ember")
    assert bought.endswith("Selected: color = charcoal; still open: size.")
    state = played("search[qwertyuiop]", "click[next >]")
    assert WORDS.turns(state)[0] == "1. search[qwertyuiop]\n   page 1, 0 results: none on this page"
    assert WORDS.page(state).startswith("Page 2 of 0 results:\nnone on this page\n")
    assert WORDS.page(played(*RUG, "click[reviews]")).startswith("Reviews of b0wwpcxg4k:\n(no text)\n")
    told = "\n\n".join(WORDS.values(played(*RUG, "click[purple]", "click[navy]")).values())
    assert "3. click[purple]\n   The last action was not valid here and changed nothing: click['purple']" in told


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

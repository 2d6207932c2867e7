"""The shop's pages in words: everything that can be done once, what is selected, and what was read."""

import re

import pytest

from iad_envs.webshop.env import WebShopEnv
from iad_envs.webshop.policy.rendering import ShopRendering
from iad_policy.prompts.rendering import Rendering
from iad_policy.simulators.llm import Unpredicted
from iad_policy.types import State, Turn
from tests.iad_envs.episode import Episode

WORDS = ShopRendering()
TASK = "test-0141"
RUG = ("search[stain resistant rug charcoal 2 x 3 feet]", "click[b0wwpcxg4k]")
WALK = (*RUG, "click[charcoal]", "click[features]", "click[< prev]", "click[reviews]", "click[< prev]", "click[< prev]")


@pytest.mark.parametrize("search_anywhere", [True, False])
def test_a_page_shows_each_possible_action_once_and_no_other(search_anywhere: bool) -> None:
    episode = Episode(WebShopEnv(search_anywhere=search_anywhere), None, TASK, steps_left=15)
    for action in (*WALK, "click[next >]", ""):
        page, available = WORDS.page(episode.state), set(episode.state.info["available_actions"])
        names = re.findall(r"\[([^\]]+)\]", page.replace("search[words]", ""))
        assert sorted(f"click[{name}]" for name in names) == sorted(available - {"search[...]"})
        assert page.count("search[words]") == ("search[...]" in available)
        assert WORDS.actions(episode.state) == ""
        episode.did(action)


def test_other_observation_modes_and_states_without_a_page_are_shown_as_they_are() -> None:
    state = Episode(WebShopEnv(observation_mode="text_rich"), None, TASK, steps_left=15).did(*RUG).state
    assert WORDS.page(state) == state.observation.strip() or WORDS.page(state) == state.observation
    assert "click[buy now]" in WORDS.actions(state)
    bare = State("a page", {"instruction": "a rug", "available_actions": ("click[x]",)})
    assert WORDS.values(bare) | {"task": ""} == Rendering().values(bare) | {"task": ""}


def test_a_predicted_page_is_shown_in_the_simulator_s_words() -> None:
    seen = "Instruction: [SEP] a rug [SEP] Back to Search [SEP] < Prev [SEP] A rug [SEP] Price: $5"
    info = {"instruction": "a rug", "available_actions": (), "page": Unpredicted(), "facts": Unpredicted()}
    predicted = State(seen, info, history=(Turn("WebShop [SEP] Search", "search[rug]", info),))
    assert WORDS.page(predicted) == seen
    assert WORDS.turns(predicted) == ["0. WebShop [SEP] Search", "1. search[rug]"]
    assert WORDS.outcome(predicted) == seen

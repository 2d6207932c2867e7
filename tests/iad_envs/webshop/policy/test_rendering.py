"""Predicted and missing pages of the shop in words. Those of real ones are in the recorded episodes."""

from iad_envs.webshop.policy.rendering import ShopRendering
from iad_policy.prompts.rendering import Rendering
from iad_policy.simulators.llm import Unpredicted
from iad_policy.types import State, Turn

WORDS = ShopRendering()


def test_a_predicted_page_is_shown_in_the_simulator_s_words_and_a_state_without_one_as_it_is() -> None:
    seen = "Instruction: [SEP] a rug [SEP] Back to Search [SEP] < Prev [SEP] A rug [SEP] Price: $5"
    info = {"instruction": "a rug", "available_actions": (), "page": Unpredicted(), "facts": Unpredicted()}
    predicted = State(seen, info, history=(Turn("WebShop [SEP] Search", "search[rug]", info),))
    assert WORDS.page(predicted) == seen
    assert WORDS.turns(predicted) == ["0. WebShop [SEP] Search", "1. search[rug]"]
    assert WORDS.outcome(predicted) == seen
    bare = State("a page", {"instruction": "a rug", "available_actions": ("click[x]",)})
    assert WORDS.values(bare) | {"task": ""} == Rendering().values(bare) | {"task": ""}

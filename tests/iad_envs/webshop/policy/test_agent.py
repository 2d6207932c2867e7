"""The rule-based shopper: what it proposes, alone and with feedback."""

from random import Random

import iad_envs  # noqa: F401 (registers)
from iad_envs.webshop.policy.agent import WebShopAgent
from iad_policy import Candidate, Feedback, State
from tests.iad_envs.webshop.policy.pages import ITEM, state


def proposals(agent: WebShopAgent, at: State, feedback: Feedback | None = None, n: int = 200) -> list[str]:
    return [agent.propose(at, feedback=feedback, temperature=None, rng=Random(seed)).action for seed in range(n)]


def test_a_cold_shopper_searches_with_every_word_and_a_warm_one_drops_some() -> None:
    index = state({"kind": "index"})
    assert len(set(proposals(WebShopAgent(temperature=0.0), index))) == 1
    warm = proposals(WebShopAgent(), index)
    assert len(set(warm)) > 20
    assert any("waterproof" in action for action in warm)
    assert any("waterproof" not in action for action in warm)


def test_the_shopper_prefers_what_the_instruction_names_and_never_clicks_what_is_not_shown() -> None:
    seen = proposals(WebShopAgent(), state(ITEM))
    assert seen.count("click[forest green]") > seen.count("click[sand]")
    assert set(seen) <= {
        *(f"click[{value}]" for values in ITEM["options"].values() for value in values),
        *("click[buy now]", "click[< prev]", "click[description]", "click[features]"),
    }


def test_a_refined_search_keeps_most_of_best_and_is_neither_best_nor_worst() -> None:
    best, worst = Candidate("search[hiking boot green]"), Candidate("search[hiking boot]")
    feedback = Feedback("", best=best, worst=worst)
    for action in proposals(WebShopAgent(), state({"kind": "index"}), feedback):
        words = set(action.removeprefix("search[").removesuffix("]").split())
        assert action not in {best.action, worst.action}
        assert len(words ^ {"hiking", "boot", "green"}) == 1
    feedback = Feedback("", best=Candidate("click[buy now]"), worst=Candidate("click[< prev]"))
    assert not {"click[buy now]", "click[< prev]"} & set(proposals(WebShopAgent(), state(ITEM), feedback))

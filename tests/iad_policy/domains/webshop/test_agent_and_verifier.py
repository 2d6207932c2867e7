"""The rule-based shopper and the proxy verifier: what they read, and that neither knows more than an agent may."""

import math
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import Candidate, Feedback, IADPolicyWrapper, State, Verdict
from iad_policy.domains.webshop.agent import WebShopAgent
from iad_policy.domains.webshop.options import wanted_values
from iad_policy.domains.webshop.reading import price_fits, read_instruction
from iad_policy.domains.webshop.verifier import INVALID, WebShopVerifier
from iad_policy.types import PublicInfo

INSTRUCTION = "i need a waterproof women's hiking boot in forest green, size 8.5, and price lower than 60.00 dollars"
ITEM = {
    "kind": "item",
    "asin": "B0A",
    "title": "Fernwalk Hiking Boot for Women",
    "price": "$49.99",
    "options": {"color": ["sand", "forest green"], "size": ["8", "8.5"]},
    "selected": {},
}


def state(page: dict[str, Any], **others: Any) -> State:
    info = {"instruction": INSTRUCTION, "page": page, "invalid_action": False, "facts": {"complaint": ""}}
    return State(
        "", PublicInfo(info, frozenset({"progress", "success", "reward_parts"})), **{"steps_left": 10, **others}
    )


def proposals(agent: WebShopAgent, at: State, feedback: Feedback | None = None, n: int = 200) -> list[str]:
    return [agent.propose(at, feedback=feedback, temperature=None, rng=Random(seed)).action for seed in range(n)]


def test_an_instruction_is_read_as_words_and_a_limit() -> None:
    wanted = read_instruction(INSTRUCTION)
    assert wanted.price_limit == 60.0
    assert {"waterproof", "women", "hiking", "boot", "forest", "green", "8.5"} <= set(wanted.words)
    assert not {"60.00", "dollar", "price", "lower"} & set(wanted.words)
    assert read_instruction("a red mug").price_limit == math.inf
    assert read_instruction("a red mug for under $12").price_limit == 12.0


def test_option_values_are_found_where_the_instruction_names_them() -> None:
    assert wanted_values(ITEM["options"], read_instruction(INSTRUCTION)) == {"color": "forest green", "size": "8.5"}


def test_a_range_fits_by_its_lowest_price() -> None:
    assert price_fits("$50.00 to $70.00", 60.0)
    assert not price_fits("$61.00", 60.0)
    assert price_fits("", 60.0)


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


def test_a_refined_click_avoids_best_and_worst() -> None:
    feedback = Feedback("", best=Candidate("click[buy now]"), worst=Candidate("click[< prev]"))
    assert not {"click[buy now]", "click[< prev]"} & set(proposals(WebShopAgent(), state(ITEM), feedback))


def test_feedback_reaches_the_shopper_without_a_score() -> None:
    env = gym.make("IAD/WebShop-v0")
    told: list[Feedback] = []

    class Listening(WebShopAgent):
        def propose(
            self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random
        ) -> Candidate:
            if feedback is not None:
                told.append(feedback)
            return super().propose(state, feedback=feedback, temperature=temperature, rng=rng)

    policy = IADPolicyWrapper(Listening(), env, strategy="iad", n=3)
    observation, info = env.reset(seed=0)
    policy.act(observation, info)
    assert told
    assert all(math.isnan(one.score) for hint in told for one in (hint.best, hint.worst) if one is not None)


@pytest.mark.parametrize("temperature", [-1.0, math.nan, math.inf])
def test_a_temperature_that_is_none_is_refused(temperature: float) -> None:
    with pytest.raises(ValueError, match="temperature"):
        WebShopAgent(temperature=temperature)


def verdict(at: State, action: str, page: dict[str, Any], **others: Any) -> Verdict:
    preview = state(page, **others)
    (found,) = WebShopVerifier().verify(at, [Candidate(action, preview=preview)])
    return found


def test_the_right_option_scores_above_a_wrong_one_and_a_purchase_without_it_below() -> None:
    at = state(ITEM)
    right = verdict(at, "click[forest green]", {**ITEM, "selected": {"color": "forest green"}})
    wrong = verdict(at, "click[sand]", {**ITEM, "selected": {"color": "sand"}})
    early = verdict(at, "click[buy now]", {"kind": "done"}, done=True)
    assert right.score > wrong.score
    assert right.score > early.score
    assert "color" in early.critique
    assert early.passed is False


def test_buying_is_best_when_everything_asked_for_is_there() -> None:
    full = {
        **ITEM,
        "title": "Waterproof Fernwalk Hiking Boot for Women",
        "selected": {"color": "forest green", "size": "8.5"},
    }
    at = state(full)
    buy = verdict(at, "click[buy now]", {"kind": "done"}, done=True)
    back = verdict(
        at, "click[< prev]", {"kind": "results", "products": [{"asin": "B0B", "title": "Boot", "price": "$9"}]}
    )
    assert buy.score > back.score
    assert buy.passed is True


def test_a_price_above_the_limit_and_an_invalid_action_cost() -> None:
    at = state({"kind": "index"})
    cheap, dear = (verdict(at, "click[b0a]", {**ITEM, "price": price}) for price in ("$59.00", "$61.00"))
    assert cheap.score > dear.score
    assert "above the limit" in dear.critique
    invalid = State("", PublicInfo({**at.info, "invalid_action": True, "facts": {"complaint": "no"}}, frozenset()))
    (refused,) = WebShopVerifier().verify(at, [Candidate("x", preview=invalid)])
    assert (refused.score, refused.critique) == (INVALID, "no")


def test_the_verifier_is_labelled_proxy_and_reads_no_gold() -> None:
    env = gym.make("IAD/WebShop-v0")
    policy = IADPolicyWrapper("shopper", env, strategy="bon", n=4)
    assert policy.verifier is not None
    assert policy.verifier.information == "proxy"
    observation, info = env.reset(seed=1)
    done = False
    while not done:
        observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
        done = terminated or truncated
    previews = [candidate.preview for decision in policy.decisions for candidate in decision.candidates]
    assert all(preview is not None and preview.gold is None for preview in previews)

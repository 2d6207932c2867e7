"""The proxy verifier of the shop: what it prefers, what it says, and that it knows no gold."""

from itertools import pairwise
from typing import Any

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.webshop.policy.verifier import WebShopVerifier
from iad_policy import Candidate, State, Verdict
from iad_policy.types import PublicInfo
from tests.iad_envs.webshop.policy.pages import GOLD, INSTRUCTION, ITEM, RIGHT, after, results, state, tab

DONE = {"kind": "done"}
INDEX = {"kind": "index"}
WATERPROOF = {**ITEM, "title": "Waterproof Fernwalk Hiking Boot for Women"}


def verdict(at: State, action: str, preview: State) -> Verdict:
    (found,) = WebShopVerifier().verify(at, [Candidate(action, preview=preview)])
    return found


def bought(item: dict[str, Any], instruction: str = INSTRUCTION, read: tuple[dict[str, Any], ...] = ()) -> Verdict:
    """The verdict on buying from a product page, after reading some of its sub pages."""
    at = after([item, *read], item, instruction)
    return verdict(at, "click[buy now]", after([item, *read, item], DONE, instruction, done=True))


def moved(
    item: dict[str, Any], page: dict[str, Any], *, read: tuple[dict[str, Any], ...] = (), steps_left: float = 10
) -> Verdict:
    """The verdict on going on from a product page."""
    at = after([item, *read], item, steps_left=steps_left + 1)
    return verdict(at, "click[...]", after([item, *read, item], page, steps_left=steps_left))


def offering(instruction: str, **options: list[str]) -> tuple[str, dict[str, Any]]:
    return f"{instruction}, and price lower than 60.00 dollars", {**ITEM, "title": instruction, "options": options}


def test_the_asked_value_scores_above_another_one_and_above_none() -> None:
    for instruction, name, right, wrong in (
        ("a 120 ml hair mask", "size", "120ml", "60ml"),
        ("one hair serum roller", "size", "1pcs", "5pcs"),
        ("size 10.5 black loafers", "color", "2005black", "228r.brown"),
        ("blue toothbrushes", "color", "blue", "pink"),
        ("shorts, small and charcoal", "color", "heather charcoal", "heather grey"),
    ):
        wanted, item = offering(instruction, **{name: [wrong, right]})
        verdicts = [bought({**item, "selected": chosen}, wanted) for chosen in ({name: right}, {name: wrong}, {})]
        scores = [one.score for one in verdicts]
        assert scores[0] > max(scores[1:])
        assert all(right in one.critique for one in verdicts[1:])
        assert not any(one.passed for one in verdicts[1:])
    read = (tab("description", "Waterproof"), tab("features", "A boot"))
    wrong_one, without = {**RIGHT, "color": "sand"}, {"size": "8.5"}
    found = [bought({**ITEM, "selected": selected}, read=read) for selected in (RIGHT, wrong_one, without)]
    assert found[0].score > 0.8
    assert max(one.score for one in found[1:]) <= 0.05
    assert [one.passed for one in found] == [True, False, False]


@pytest.mark.parametrize("page", [INDEX, results("Mug"), results("Mug", price="$99.00"), results(), tab("reviews")])
def test_what_is_known_to_fail_never_ties_with_looking_again_while_steps_are_left(page: dict[str, Any]) -> None:
    for failing in (
        {"selected": {"size": "8.5"}}, {"selected": {**RIGHT, "color": "sand"}},
        {"selected": RIGHT, "price": "$61.00"}, {"selected": RIGHT, "price": "$61.00 to $90.00"},
    ):  # fmt: skip
        item = {**WATERPROOF, **failing}
        for other in (page, tab("features", "A boot"), {**item, "selected": RIGHT}):
            assert bought(item).score < moved(item, other, steps_left=3).score


@pytest.mark.parametrize("page", [INDEX, results("Waterproof hiking boot for women"), tab("features", "Waterproof")])
def test_with_no_step_left_to_buy_anything_else_the_purchase_is_best(page: dict[str, Any]) -> None:
    item = {**ITEM, "selected": {"size": "8.5"}}
    assert bought(item).score > moved(item, page, steps_left=1).score == 0.0


def test_facts_that_lack_are_read_before_buying_and_a_page_that_can_show_nothing_new_ranks_below_it() -> None:
    item = {**ITEM, "selected": RIGHT}
    good, bad = moved(item, tab("features", "Waterproof")), moved(item, tab("features", "A boot"))
    assert good.score > bad.score > bought(item).score
    assert ["waterproof" in one.critique for one in (good, bad)] == [False, True]
    assert "description" in bad.critique
    read = (tab("description", "Boot"), tab("features", "Boot"))
    for one, known in (({**WATERPROOF, "selected": RIGHT}, ()), (item, read)):
        for page in (tab("reviews"), *([tab("features", "Boot")] if known else []), one):
            assert moved(one, page, read=known).score < bought(one, read=known).score


def test_each_step_towards_the_purchase_ranks_above_the_one_before_and_products_count_once() -> None:
    title = WATERPROOF["title"]
    opened = verdict(state(results(title)), "click[b0a]", after([results(title)], WATERPROOF))
    found = verdict(state(INDEX), "search[boot]", after([INDEX], results(title)))
    coloured = {**WATERPROOF, "selected": {"color": "forest green"}}
    chosen, both = moved(WATERPROOF, coloured), moved(coloured, {**coloured, "selected": RIGHT})
    assert "Most promising here: B0R0 at $9.00;" in found.critique
    scores = [one.score for one in (opened, chosen, both, bought({**WATERPROOF, "selected": RIGHT}))]
    assert all(first < second for first, second in pairwise(scores))
    assert found.score > verdict(state(INDEX), "search[mug]", after([INDEX], results("Red Mug"))).score
    wrong = {**WATERPROOF, "selected": {"color": "sand"}}
    assert chosen.score > moved(WATERPROOF, wrong).score > bought(wrong).score
    page = results("Waterproof hiking boot for women", "Mug")
    fresh = verdict(state(INDEX), "search[boot]", after([INDEX], page))
    seen = {**WATERPROOF, "asin": "B0R0"}
    again = verdict(after([page], seen), "click[< prev]", after([page, seen], page))
    assert "B0R0" in fresh.critique
    assert "B0R1" in again.critique
    assert again.score < fresh.score


def test_a_critique_tells_which_click_comes_next() -> None:
    item = {**ITEM, "price": "$61.00", "selected": {"color": "sand"}}
    assert bought(item).critique == (
        "$61.00 is above the limit of $60.00: take another product. "
        'color is "sand", which differs from what is asked for: click[forest green]. '
        "size is still open: click[8.5]. "
        'Not seen: "waterproof" (not opened yet: description, features).'
    )
    unsure = bought(
        {**ITEM, "options": {"color": ["green stripes"]}, "price": "$50.00 to $70.00"}, "a boot for $60, green dots"
    )
    assert "color is open; nearest to the instruction: click[green stripes]." in unsure.critique
    assert "A part of $50.00 to $70.00 is above the limit of $60.00." in unsure.critique
    assert unsure.passed is False


def test_a_purchase_passes_only_if_nothing_is_missing_and_an_invalid_action_scores_lowest() -> None:
    complete = bought({**WATERPROOF, "selected": RIGHT})
    assert complete.passed is True
    assert complete.critique == "Everything that is asked for was seen and is selected."
    unseen = bought({**ITEM, "selected": RIGHT})
    assert unseen.passed is None
    assert "waterproof" in unseen.critique
    item = {**ITEM, "options": {"width": ["narrow", "broad"]}}
    assert "Open, and no value of it is named in the instruction: width." in bought(item, "a waterproof boot").critique
    assert "width" not in bought({**WATERPROOF, "options": {"width": ["narrow"]}}, "a waterproof boot").critique
    # Words that ask for nothing are no requirements.
    wanted = "hello, place order for a pair of blue socks along with being soft, in the flavor mint, please"
    socks = {**ITEM, "title": "Soft socks", "options": {"color": ["blue"], "flavor": ["mint"]}}
    assert bought({**socks, "selected": {"color": "blue", "flavor": "mint"}}, wanted).passed is True
    at = state(INDEX)
    invalid = State("", PublicInfo({**at.info, "invalid_action": True, "facts": {"complaint": "no"}}, GOLD))
    refused = verdict(at, "x", invalid)
    assert (refused.score, refused.critique) == (0.0, "no")
    with pytest.raises(ValueError, match="expected a preview of 'x'"):
        WebShopVerifier().verify(at, [Candidate("x")])

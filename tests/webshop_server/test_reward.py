"""Rewards, the nouns that they compare, and progress."""

import importlib.util
import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webshop_server.catalog import Product
from webshop_server.goals import Goal
from webshop_server.pages import Page
from webshop_server.progress import Progress, advance
from webshop_server.reward import COLOURS, PurchaseScorer, UnscorableError, n_matched_options
from webshop_server.tagger import LightTagger, SpacyTagger

SHOE = Product(
    asin="B000SHOE01", name="Acme Women Canvas Sneakers", category="fashion", query="walking shoes",
    product_category="Clothing › Women › Shoes", description="Great for the park.",
    bullets=("Memory foam insole", "Machine wash"), price=39.99, price_text="$39.99",
    options={"color": ("navy blue", "red"), "size": ("8", "9 wide")}, option_images={}, attributes=("rubber sole",),
)  # fmt: skip
GOAL = Goal(
    goal_id="g1", asin=SHOE.asin, name=SHOE.name, query=SHOE.query, product_category=SHOE.product_category,
    category=SHOE.category, instruction="", attributes=("rubber sole", "memory foam"), options=("blue", "9 wide"),
    price_upper=50.0,
)  # fmt: skip
SCORER = PurchaseScorer(LightTagger())


def test_the_right_purchase_scores_one_each_missing_part_costs_its_share_and_weights_sum_to_one() -> None:
    reward = SCORER.score(GOAL, SHOE, {"color": "navy blue", "size": "9 wide"})
    assert reward.total == 1.0
    assert reward.w_att + reward.w_option + reward.w_price == pytest.approx(1.0)
    parts = SCORER.score(replace(GOAL, options=()), SHOE, {}).parts()
    assert "r_option" not in parts
    assert parts["w_att"] == pytest.approx(2 / 3)
    assert (len(COLOURS), COLOURS[0]) == (102, "alabaster")
    assert COLOURS.index("tan") < COLOURS.index("taupe") < COLOURS.index("yellow")
    right = {"color": "blue", "size": "9 wide"}
    for change, options, total in (
        ({}, {}, 3 / 5), ({}, {"size": "9 wide"}, 4 / 5), ({"price": 50.0}, right, 1.0),
        ({"price": 50.01}, right, 4 / 5), ({"bullets": ()}, right, 4 / 5), ({"name": "Ceramic Vase"}, right, 0.0),
    ):  # fmt: skip
        product = replace(SHOE, **change)  # type: ignore[arg-type]
        assert SCORER.score(GOAL, product, options).total == pytest.approx(total), (change, options)


def test_options_match_by_colour_word_or_similarity() -> None:
    cases: tuple[tuple[tuple[Any, ...], str, int], ...] = (
        (("navy blue",), "light blue", 1), (("blue black",), "black", 1), (("standard",), "tan", 1),
        (("3 ounce (pack of 1)",), "3 ounce (pack of 2)", 1), (("large",), "small", 0),
        ((("color", "blue"),), "navy blue", 1), ((("size", "8 wide"),), "8 wide", 1),
        ((("color", "blue and white"),), "red", 0), (("é",), "è", 0), (("large", "large"), "large", 2),
        ((), "large", 0),
    )  # fmt: skip
    for wanted, chosen, matched in cases:
        assert n_matched_options(wanted, [chosen]) == matched, (wanted, chosen)


def test_what_the_original_fails_on_is_a_clear_error() -> None:
    unscorable: tuple[tuple[Goal, Any, str], ...] = (
        (replace(GOAL, attributes=()), 39.99, "attributes"),
        (replace(GOAL, price_upper=0.0), 39.99, "price limit above 0, got 0.0"),
        (GOAL, None, "price in dollars, got None"),
    )
    for goal, price, said in unscorable:
        with pytest.raises(UnscorableError, match=said):
            SCORER.score(goal, replace(SHOE, price=price), {})


VALUES = st.sampled_from(["navy blue", "red", "8", "9 wide", "large", "x-large", "3 pack", ""])


@given(
    wanted=st.lists(VALUES, max_size=4),
    options=st.dictionaries(st.sampled_from("abc"), st.lists(VALUES, min_size=1, max_size=3), max_size=3),
)
def test_the_best_reward_is_that_of_the_best_combination(wanted: list[str], options: dict[str, list[str]]) -> None:
    goal = replace(GOAL, options=tuple(wanted))
    product = replace(SHOE, options={name: tuple(values) for name, values in options.items()})
    rewards = [
        SCORER.score(goal, product, dict(zip(options, combination, strict=True))).total
        for combination in itertools.product(*options.values())
    ]
    assert SCORER.best(goal, product) == max(rewards)
    assert SCORER.last_or_full(goal, product) == (1.0 if 1.0 in rewards else rewards[-1])


def test_numbers_units_function_words_and_common_adjectives_are_not_nouns() -> None:
    for title, nouns in {
        "Acme Women's Walking Sneakers, 2 Pack of 10oz": ("acme", "women", "walking", "sneakers"),
        "Soft Blue Throw Blanket 50 x 62 inch for the Sofa": ("throw", "blanket", "sofa"),
        "Shirt and T-Shirt and Shirt": ("shirt", "t", "shirt", "shirt"), "12 x 16 & 3D, with!": (), "": (),
    }.items():  # fmt: skip
        assert LightTagger().nouns(title) == nouns, title


@pytest.mark.skipif(importlib.util.find_spec("spacy") is not None, reason="spaCy is installed")
def test_without_spacy_the_error_names_the_extra() -> None:
    with pytest.raises(ImportError, match=r'pip install -e ".+\[spacy\]"'):
        SpacyTagger()


VASE = replace(SHOE, asin="B000VASE01", name="Ceramic Vase")
INDEX = Page("index", "", ())
RESULTS = Page("results", "", (), products=(VASE, SHOE))
ITEM = Page("item", "", (), product=SHOE)
DONE = Page("done", "", (), product=SHOE)


def test_search_item_and_purchase_count_a_third_each_and_progress_never_falls() -> None:
    progress, seen = Progress(), []
    for page in (INDEX, RESULTS, ITEM, DONE._replace(selected=(("color", "blue"), ("size", "9 wide")))):
        progress = advance(progress, page, GOAL, SCORER)
        seen.append(progress.best)
    assert seen == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert advance(Progress(), DONE, GOAL, SCORER).best == pytest.approx(3 / 5)  # at least the reward
    for kind in ("description", "features", "reviews", "attributes"):
        assert advance(Progress(), ITEM._replace(kind=kind), GOAL, SCORER).item == 1.0
    far = advance(advance(Progress(), RESULTS, GOAL, SCORER), ITEM, GOAL, SCORER)
    for page in (ITEM._replace(product=VASE), INDEX):
        assert advance(far, page, GOAL, SCORER) == far


def test_agentboard_counts_the_last_combination_where_none_is_full() -> None:
    colours = ("blue", "red")
    page, full = (
        ITEM._replace(product=replace(SHOE, options={"color": colours, "size": sizes}))
        for sizes in (("8",), ("9 wide", "8"))
    )
    assert advance(Progress(), page, GOAL, SCORER).item == pytest.approx(4 / 5)
    assert advance(Progress(), page, GOAL, SCORER, mode="agentboard").item == pytest.approx(3 / 5)
    assert advance(Progress(), full, GOAL, SCORER, mode="agentboard").item == 1.0

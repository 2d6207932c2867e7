"""What is read in an instruction and on a page, without gold."""

import math

from iad_envs.webshop.policy.reading import (
    lines_read,
    price_fits,
    price_share,
    read_instruction,
    shown_terms,
    unread,
    unseen_words,
    words_of,
)
from tests.iad_envs.webshop.policy.pages import INSTRUCTION, ITEM, after, tab


def requirements(instruction: str) -> list[str]:
    return [" ".join(word.text for word in one) for one in read_instruction(instruction).requirements]


def unseen(instruction: str, *texts: str) -> list[str]:
    shown = shown_terms(texts)
    wanted = read_instruction(instruction).requirements
    return [word.text for requirement in wanted for word in unseen_words(requirement, shown)]


def test_an_instruction_is_read_as_words_and_a_limit() -> None:
    wanted = read_instruction(INSTRUCTION)
    assert wanted.price_limit == 60.0
    assert {"waterproof", "women", "hiking", "boot", "forest", "green", "8.5"} <= set(wanted.words)
    assert not {"60.00", "dollar", "price", "lower"} & set(wanted.words)
    assert read_instruction("a red mug").price_limit == math.inf
    assert read_instruction("a red mug for under $12").price_limit == 12.0
    assert words_of("Blue Toothbrushes, 120ml") == ("blue", "toothbrush", "120ml")


REQUIREMENTS = {
    "place order for a pack of 12 blue diamond almonds that is gluten free and has the pecan flavor":
        "12 pack blue diamond almonds|gluten free|pecan",
    "i need some draw string shorts. the need to be small and charcoal along with being machine washable":
        "draw string shorts|small|charcoal|machine washable",
    "i am looking for a chair that is easy to install, in x-large": "chair|easy install|xlarge",
    "16 ounce bag of sweet potato chips": "16 ounce bag|sweet potato chips",
    "a waterproof boot in size 8.5, priced below 60.00 dollars": "waterproof boot|8.5",
}  # fmt: skip


def test_requirements_are_the_words_that_stand_together() -> None:
    assert {text: "|".join(requirements(text)) for text in REQUIREMENTS} == REQUIREMENTS


def test_a_requirement_is_seen_in_whichever_way_it_is_written() -> None:
    for instruction, shown in (
        ("a drawstring bag", "Bag with a draw string"),
        ("a draw string bag", "Drawstring bag"),
        ("blue toothbrushes", "Toothbrush, BLUE"),
        ("120 ml serum", "serum 120ml"),
        ("a machine washable shirt", "Shirt. Machine wash, tumble dry"),
        ("an anti-slip mat", "Antislip mat"),
        ("a mug, easy to clean", "Mug - Easy Clean"),
    ):
        assert unseen(instruction, shown) == [], instruction
    assert unseen("a black waterproof boot", "Boot, blackberry colored") == ["black", "waterproof"]


def test_a_price_range_fits_by_its_lowest_price_and_in_part() -> None:
    assert price_fits("$50.00 to $70.00", 60.0)
    assert not price_fits("$61.00", 60.0)
    assert price_fits("", 60.0)
    shares = [price_share(price, 60.0) for price in ("$50.00 to $70.00", "$61.00", "$60.00", "", "$70.00 to $90.00")]
    assert shares == [0.5, 0.0, 1.0, 1.0, 0.0]


def test_sub_pages_of_other_products_do_not_count_as_read() -> None:
    here = after([ITEM, tab("features", "Waterproof"), tab("description", "A mug", asin="B0B")], ITEM)
    assert lines_read(here, "B0A") == ["Waterproof"]
    assert unread(here, "B0A") == ["description"]

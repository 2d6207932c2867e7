"""What is read in an instruction and on a page, without gold: words, requirements, prices, and the asked options.

Words are compared as people compare them: plurals, numbers, units, sizes and codes.
"""

import math

from iad_envs.webshop.policy.options import asked_values, is_near, wanted_values
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
from iad_envs.webshop.policy.terms import is_specific, read_words, singular
from tests.iad_envs.webshop.policy.pages import INSTRUCTION, ITEM, after, tab


def terms(text: str) -> list[str]:
    return [word.term for word in read_words(text)]


def test_what_people_write_in_several_ways_has_the_same_terms_and_what_differs_others() -> None:
    many = "toothbrushes boxes dresses watches batteries cookies hoodies shoes potatoes gloves jeans lens glass cactus"
    one = "toothbrush box dress watch battery cookie hoodie shoe potato glove jean lens glass cactus"
    assert list(map(singular, many.split())) == one.split()
    assert singular("gas") == "gas"
    assert [pair for pair in SAME if terms(pair[0]) != terms(pair[1])] == []
    pairs = ["black/blackberry", "large/x-large", "10/10.5", "string/str", "bed/bedding"]
    for pair in (*pairs, "2 pack/12 pack", "size 10 in black/size 10 inch black"):
        one, other = pair.split("/")
        assert terms(one) != terms(other)


SAME = (
    ("120 ml", "120ml"), ("4 fl oz", "4 fluid ounces"), ("4 fl. oz", "4 Fl Oz"), ("1.6 oz", "1.60 Ounce"),
    ("one pack", "1-pack"), ("pack of 12", "12 pack"), ("set of two", "2-set"), ("3 pcs", "3pieces"),
    ("x-large", "XL"), ("3x-large", "xxx-large"), ("2XL", "xx large"), ("extra small", "XS"),
    ("size m", "size medium"), ("39x49in", "39 x 49 inches"), ("20 by 30 inches", "20x30 in"),
    ("60x40x40cm", "60 x 40 x 40 centimeters"), ("gray", "Grey"), ("women's", "woman"), ("mens", "men’s"),
    ("machine washable", "machine wash"), ("easily", "easy"), ("headaches", "headache"),
    ("rubber soles", "rubber sole"), ("shelves", "shelf"), ("6 feet", "6 foot"),
    ("mattress; queen", "mattress queen"),
)  # fmt: skip


def test_codes_are_told_from_words_and_colours_sizes_and_numbers_are_specific() -> None:
    words = read_words("2005black a01#pink 120ml 7.5")
    assert [word.text for word in words] == ["2005", "black", "a", "01", "pink", "120", "ml", "7.5"]
    assert [word.text for word in words if word.is_code] == ["2005", "a", "01"]
    assert all(map(is_specific, read_words("navy, XL, 8.5, one, grey")))
    assert not any(map(is_specific, read_words("waterproof hiking boots, machine washable")))


ASKED = (
    ("a 120 ml hair mask", "color", "60ml|120ml", "120ml"), ("a 120ml hair mask", "size", "60 ml|120 ml", "120 ml"),
    ("an one organic hair serum roller", "size", "5pcs|1pcs", "1pcs"),
    ("a jacket in size l", "size", "x-large|large", "large"),
    ("a deodorant, 1.6 oz", "size", "1.6 ounce (pack of 2)|1.6 ounce (pack of 1)", "1.6 ounce (pack of 1)"),
    ("size 10.5 black loafers", "size", "10|10.5|11", "10.5"), ("gray socks", "color", "white|grey", "grey"),
    ("an XL red jacket", "size", "large|x-large|xx-large", "x-large"),
    ("boots in navy blue", "color", "blue|navy|navy blue", "navy blue"),
    ("a pack of 6 brushes", "number of items", "1 pack|6 pack|12 pack", "6 pack"),
    ("6 pack of 12 ounce bottles", "size", "12 count|6 ounce|12 oz", "12 oz"),
    ("18 x 18 inch pillow", "size", '20" x 20"|18" x 18"', '18" x 18"'),
    ("a rug, 8 by 10 feet", "size", "4 x 6 feet|8 x 10 feet", "8 x 10 feet"),
    ("men's shirts with fit type: youth", "fit type", "men|women|youth", "youth"),
    ("almonds in pecan flavor", "flavor name", "cheddar|pecan", "pecan"),
    ("a lotion with fresh scent", "scent", "butter|fresh", "fresh"),
    ("shirts with color: a4-gray", "color", "a3-gray|a4-gray", "a4-gray"),
    ("a rack, i want color b as well", "color", "a|b|c", "b"),
)  # fmt: skip


def test_the_asked_values_are_found_or_the_nearest_and_no_others() -> None:
    for instruction, name, values, expected in ASKED:
        assert wanted_values({name: values.split("|")}, read_instruction(instruction)) == {name: expected}, instruction
    for instruction, values, expected, is_exact in (
        ("men's size 10.5 black loafers", "black1901|228r.brown|2005black|blackberry", "black1901|2005black", True),
        ("shorts, small and charcoal", "heather grey|heather charcoal", "heather charcoal", False),
    ):
        asked = asked_values({"color": values.split("|")}, read_instruction(instruction))["color"]
        assert ("|".join(asked.values), asked.is_exact) == (expected, is_exact)
    assert wanted_values({"color": ["heather charcoal"]}, read_instruction("charcoal shorts")) == {}
    for instruction, name, values in (
        ("a coatrack with a round base", "color", ["a", "b", "c"]),
        ("black loafers", "color", ["blackberry", "brown"]), ("a boot in size 8", "size", ["8.5", "18"]),
        ("a mug", "color", ["red", "blue"]), ("a 3 ounce lotion", "size", ["3 pack", "13 ounce"]),
    ):  # fmt: skip
        assert asked_values({name: values}, read_instruction(instruction)) == {}, instruction
    wanted, offered = read_instruction("a deep treatment hair mask"), {"hair type": ["curly hair", "fine hair"]}
    assert "hair type" in asked_values(offered, wanted)
    assert asked_values(offered, wanted, "Overnight Hair Mask") == {}
    wanted = read_instruction("a light blue shirt")
    assert is_near("color", "navy blue", wanted)
    assert not is_near("color", "red", wanted)


def unseen(instruction: str, *texts: str) -> list[str]:
    shown = shown_terms(texts)
    wanted = read_instruction(instruction).requirements
    return [word.text for requirement in wanted for word in unseen_words(requirement, shown)]


def test_an_instruction_is_read_as_words_and_a_limit_that_a_range_fits_in_part() -> None:
    wanted = read_instruction(INSTRUCTION)
    assert wanted.price_limit == 60.0
    assert {"waterproof", "women", "hiking", "boot", "forest", "green", "8.5"} <= set(wanted.words)
    assert not {"60.00", "dollar", "price", "lower"} & set(wanted.words)
    assert read_instruction("a red mug").price_limit == math.inf
    assert read_instruction("a red mug for under $12").price_limit == 12.0
    assert words_of("Blue Toothbrushes, 120ml") == ("blue", "toothbrush", "120ml")
    assert price_fits("$50.00 to $70.00", 60.0)
    assert not price_fits("$61.00", 60.0)
    assert price_fits("", 60.0)
    shares = [price_share(price, 60.0) for price in ("$50.00 to $70.00", "$61.00", "$60.00", "", "$70.00 to $90.00")]
    assert shares == [0.5, 0.0, 1.0, 1.0, 0.0]


REQUIREMENTS = {
    "place order for a pack of 12 blue diamond almonds that is gluten free and has the pecan flavor":
        "12 pack blue diamond almonds|gluten free|pecan",
    "i need some draw string shorts. the need to be small and charcoal along with being machine washable":
        "draw string shorts|small|charcoal|machine washable",
    "i am looking for a chair that is easy to install, in x-large": "chair|easy install|xlarge",
    "16 ounce bag of sweet potato chips": "16 ounce bag|sweet potato chips",
    "a waterproof boot in size 8.5, priced below 60.00 dollars": "waterproof boot|8.5",
}  # fmt: skip


def test_requirements_are_the_words_that_stand_together_and_seen_in_any_spelling() -> None:
    for text, expected in REQUIREMENTS.items():
        found = (" ".join(word.text for word in one) for one in read_instruction(text).requirements)
        assert "|".join(found) == expected
    for instruction, shown in (
        ("a drawstring bag", "Bag with a draw string"), ("a draw string bag", "Drawstring bag"),
        ("blue toothbrushes", "Toothbrush, BLUE"), ("120 ml serum", "serum 120ml"),
        ("a machine washable shirt", "Shirt. Machine wash, tumble dry"), ("an anti-slip mat", "Antislip mat"),
        ("a mug, easy to clean", "Mug - Easy Clean"),
    ):  # fmt: skip
        assert unseen(instruction, shown) == [], instruction
    assert unseen("a black waterproof boot", "Boot, blackberry colored") == ["black", "waterproof"]


def test_sub_pages_of_other_products_do_not_count_as_read() -> None:
    here = after([ITEM, tab("features", "Waterproof"), tab("description", "A mug", asin="B0B")], ITEM)
    assert lines_read(here, "B0A") == ["Waterproof"]
    assert unread(here, "B0A") == ["description"]

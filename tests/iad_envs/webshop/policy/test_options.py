"""Which of the offered values an instruction asks for."""

from iad_envs.webshop.policy.options import asked_values, is_near, wanted_values
from iad_envs.webshop.policy.reading import read_instruction

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


def test_the_asked_value_is_found() -> None:
    for instruction, name, values, expected in ASKED:
        assert wanted_values({name: values.split("|")}, read_instruction(instruction)) == {name: expected}, instruction


def test_several_values_may_answer_equally_well_and_the_nearest_is_named_where_none_is_exact() -> None:
    for instruction, values, expected, is_exact in (
        ("men's size 10.5 black loafers", "black1901|228r.brown|2005black|blackberry", "black1901|2005black", True),
        ("shorts, small and charcoal", "heather grey|heather charcoal", "heather charcoal", False),
    ):
        asked = asked_values({"color": values.split("|")}, read_instruction(instruction))["color"]
        assert ("|".join(asked.values), asked.is_exact) == (expected, is_exact)
    assert wanted_values({"color": ["heather charcoal"]}, read_instruction("charcoal shorts")) == {}


def test_other_values_are_not_asked_for() -> None:
    for instruction, name, values in (
        ("a coatrack with a round base", "color", ["a", "b", "c"]),
        ("black loafers", "color", ["blackberry", "brown"]),
        ("a boot in size 8", "size", ["8.5", "18"]),
        ("a mug", "color", ["red", "blue"]),
        ("a 3 ounce lotion", "size", ["3 pack", "13 ounce"]),
    ):
        assert asked_values({name: values}, read_instruction(instruction)) == {}, instruction


def test_a_value_is_not_near_because_of_the_kind_of_product() -> None:
    wanted, offered = read_instruction("a deep treatment hair mask"), {"hair type": ["curly hair", "fine hair"]}
    assert "hair type" in asked_values(offered, wanted)
    assert asked_values(offered, wanted, "Overnight Hair Mask") == {}


def test_a_value_is_near_if_it_says_the_larger_part() -> None:
    wanted = read_instruction("a light blue shirt")
    assert is_near("color", "navy blue", wanted)
    assert not is_near("color", "red", wanted)

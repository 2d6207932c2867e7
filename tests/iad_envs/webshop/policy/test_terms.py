"""Words are compared as people compare them: plurals, numbers, units, sizes and codes."""

import pytest

from iad_envs.webshop.policy.terms import is_specific, read_words, singular


def terms(text: str) -> list[str]:
    return [word.term for word in read_words(text)]


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("toothbrushes", "toothbrush"),
        ("boxes", "box"),
        ("dresses", "dress"),
        ("watches", "watch"),
        ("batteries", "battery"),
        ("cookies", "cookie"),
        ("hoodies", "hoodie"),
        ("shoes", "shoe"),
        ("potatoes", "potato"),
        ("gloves", "glove"),
        ("jeans", "jean"),
        ("lens", "lens"),
        ("glass", "glass"),
        ("cactus", "cactus"),
        ("gas", "gas"),
    ],
)
def test_plurals_are_cut_to_the_singular(many: str, one: str) -> None:
    assert singular(many) == one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("120 ml", "120ml"),
        ("4 fl oz", "4 fluid ounces"),
        ("4 fl. oz", "4 Fl Oz"),
        ("1.6 oz", "1.60 Ounce"),
        ("one pack", "1-pack"),
        ("pack of 12", "12 pack"),
        ("set of two", "2-set"),
        ("3 pcs", "3pieces"),
        ("x-large", "XL"),
        ("3x-large", "xxx-large"),
        ("2XL", "xx large"),
        ("extra small", "XS"),
        ("size m", "size medium"),
        ("39x49in", "39 x 49 inches"),
        ("20 by 30 inches", "20x30 in"),
        ("60x40x40cm", "60 x 40 x 40 centimeters"),
        ("gray", "Grey"),
        ("women's", "woman"),
        ("mens", "men’s"),
        ("machine washable", "machine wash"),
        ("easily", "easy"),
        ("headaches", "headache"),
        ("rubber soles", "rubber sole"),
        ("shelves", "shelf"),
        ("6 feet", "6 foot"),
        ("mattress; queen", "mattress queen"),
    ],
)
def test_what_people_write_in_several_ways_has_the_same_terms(one: str, other: str) -> None:
    assert terms(one) == terms(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("black", "blackberry"),
        ("large", "x-large"),
        ("10", "10.5"),
        ("2 pack", "12 pack"),
        ("size 10 in black", "size 10 inch black"),
        ("string", "str"),
        ("bed", "bedding"),
    ],
)
def test_what_differs_has_other_terms(one: str, other: str) -> None:
    assert terms(one) != terms(other)


def test_codes_are_told_from_words_and_measures() -> None:
    assert [(word.text, word.is_code) for word in read_words("2005black a01#pink 120ml 7.5")] == [
        ("2005", True),
        ("black", False),
        ("a", True),
        ("01", True),
        ("pink", False),
        ("120", False),
        ("ml", False),
        ("7.5", False),
    ]


def test_colours_sizes_and_numbers_are_specific() -> None:
    assert all(map(is_specific, read_words("navy, XL, 8.5, one, grey")))
    assert not any(map(is_specific, read_words("waterproof hiking boots, machine washable")))

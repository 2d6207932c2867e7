"""Words are compared as people compare them: plurals, numbers, units, sizes and codes."""

from iad_envs.webshop.policy.terms import is_specific, read_words, singular


def terms(text: str) -> list[str]:
    return [word.term for word in read_words(text)]


def test_plurals_are_cut_to_the_singular() -> None:
    many = "toothbrushes boxes dresses watches batteries cookies hoodies shoes potatoes gloves jeans lens glass cactus"
    one = "toothbrush box dress watch battery cookie hoodie shoe potato glove jean lens glass cactus"
    assert list(map(singular, many.split())) == one.split()
    assert singular("gas") == "gas"


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


def test_what_people_write_in_several_ways_has_the_same_terms() -> None:
    assert [pair for pair in SAME if terms(pair[0]) != terms(pair[1])] == []


def test_what_differs_has_other_terms() -> None:
    pairs = ["black/blackberry", "large/x-large", "10/10.5", "string/str", "bed/bedding"]
    for pair in (*pairs, "2 pack/12 pack", "size 10 in black/size 10 inch black"):
        one, other = pair.split("/")
        assert terms(one) != terms(other)


def test_codes_are_told_from_words_and_measures() -> None:
    words = read_words("2005black a01#pink 120ml 7.5")
    assert [word.text for word in words] == ["2005", "black", "a", "01", "pink", "120", "ml", "7.5"]
    assert [word.text for word in words if word.is_code] == ["2005", "a", "01"]


def test_colours_sizes_and_numbers_are_specific() -> None:
    assert all(map(is_specific, read_words("navy, XL, 8.5, one, grey")))
    assert not any(map(is_specific, read_words("waterproof hiking boots, machine washable")))

"""Makes words of instructions and shop pages comparable: plurals, number words, units, size names and codes.

A *term* is the form in which two words are compared, and is not meant to be read: "toothbrushes" and "toothbrush" have
the same term, and so have "120 ml" and "120ml", "one" and "1", "x-large" and "XL", "4 fl oz" and "4 fluid ounces".
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

_NUMBERS = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12", "dozen": "12",
}  # fmt: skip


def _size_name(match: re.Match[str]) -> str:
    digit, crosses, _, size = match.groups()
    n = int(digit) if digit else len(crosses or "x")
    return "x" * n + ("large" if size.startswith("l") else "small")


_IN_ONE_WAY: Sequence[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = (
    (
        re.compile(rf"(?<!\d )(?<!\d-)\b(pack|set|box|case|bag|pair|bundle)(?:e?s)? of (\d+|{'|'.join(_NUMBERS)})\b"),
        r"\2 \1",
    ),
    (re.compile(r"(?<=[\dwl\"]) by (?=\d)"), " x "),
    (re.compile(r"\b(?:(\d)\s?x|(x{1,5})|(extra))[\s-]*(large|small|l|s)\b"), _size_name),
    (
        re.compile(r"(?<=\bsize )([sml])\b|^([sml])$"),
        lambda match: {"s": "small", "m": "medium", "l": "large"}[match[0]],
    ),
    (re.compile(r"\bfl(?:uid)?\.? ?(?=oz|ounce)"), ""),
    (re.compile(r"""(?<=\d)\s?(?:"|''|″|”)|(?<=\d)in\b|(?<=\d) in(?=\s*(?:[,.)x]|$))"""), " inch "),
)
"""How packs, sizes and inches are written."""

_UNITS = {
    "ounce": "oz", "ounces": "oz", "inches": "inch", "foot": "ft", "feet": "ft", "pound": "lb", "pounds": "lb",
    "lbs": "lb", "milliliter": "ml", "milliliters": "ml", "millilitre": "ml", "millilitres": "ml", "centimeter": "cm",
    "centimeters": "cm", "gram": "g", "grams": "g", "piece": "pc", "pieces": "pc", "pcs": "pc", "ct": "count",
    "counts": "count", "packs": "pack", "pk": "pack", "packet": "pack", "packets": "pack",
}  # fmt: skip
COUNTING = frozenset(["pc", "pack", "count", "set", "box", "bag", "pair", "bundle", "unit"])
"""Units that only say how many: "one" asks for "1 pack" as well as for "1 pcs"."""
ALL_UNITS = frozenset([*_UNITS.values(), *COUNTING])


class Word(NamedTuple):
    """A word of a text.

    Attributes:
        text: The word as written, in lower case, except for size names.
        term: The form in which it is compared.
        is_code: Whether it is a part of a code such as "a01" or "2005black" (a number glued to a word that is no unit),
            or a single letter.
        starts: Whether punctuation stands before it.
    """

    text: str
    term: str
    is_code: bool
    starts: bool


@lru_cache(maxsize=16_384)
def read_words(text: str) -> tuple[Word, ...]:
    """Return the words of a text. Digits and letters are separate words: "120ml" has two."""
    text = text.lower().replace("’", "'").replace("'s", "").replace("\xa0", " ")
    for pattern, written in _IN_ONE_WAY:
        text = pattern.sub(written, text)
    found = list(re.finditer(r"\d+(?:\.\d+)?|[^\W\d_]+", text))
    words: list[Word] = []
    end = 0
    for before, match, after in zip([None, *found], found, [*found[1:], None], strict=False):
        glued = [
            other[0]
            for other in (before, after)
            if other is not None and (other.end() == match.start() or match.end() == other.start())
        ]
        starts = re.search(r"[,.;:?!()|+]", text[end : match.start()]) is not None
        is_code = len(match[0]) == 1 and match[0] != "x"
        if match[0][0].isdigit():
            measures = ("x", "w", "l", "h", "d", "t", "m", "mm", "gb", "tb", "k", "v", "hz", "p")  # are no codes
            is_code = any(term(other) not in ALL_UNITS and term(other) not in measures for other in glued)
        words.append(Word(match[0], term(match[0]), is_code, starts))
        end = match.end()
    return tuple(words)


def is_specific(word: Word) -> bool:
    """Return whether a word is a colour, a size or a number: what options are about."""
    is_size = re.fullmatch("x{0,5}(?:larg|small)|medium", word.term) is not None
    return word.term in COLOURS or is_size or word.term[0].isdigit()


@lru_cache(maxsize=16_384)
def term(word: str) -> str:
    """Return the form in which a word in lower case is compared."""
    if word[0].isdigit():
        return word.rstrip("0").rstrip(".") if "." in word else word.lstrip("0") or "0"
    if word in _NUMBERS:
        return _NUMBERS[word]
    irregular = {
        "gray": "grey", "women": "woman", "womens": "woman", "men": "man", "mens": "man", "colour": "color",
        "children": "child", "feet": "foot", "geese": "goose", "halves": "half", "knives": "knife", "leaves": "leaf",
        "loaves": "loaf", "mice": "mouse", "scarves": "scarf", "shelves": "shelf", "teeth": "tooth",
    }  # fmt: skip
    word = irregular.get(word) or singular(word)
    word = _UNITS.get(word, word)
    for suffix in ("ability", "able", "ingly", "edly", "ing", "ed", "ly"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            word = word.removesuffix(suffix)
            break
    if len(word) > 4:
        word = word.removesuffix("e")
    return f"{word[:-1]}i" if len(word) > 3 and word.endswith("y") else word


@lru_cache(maxsize=16_384)
def singular(word: str) -> str:
    """Return the singular of a regular English noun in lower case. Other words are returned as they are."""
    in_ie = {
        "beanie", "birdie", "bootie", "brownie", "calorie", "cookie", "cutie", "foodie", "genie", "hoodie", "movie",
        "onesie", "pie", "selfie", "smoothie", "tie", "veggie", "zombie",
    }  # fmt: skip
    kept = ("always", "atlas", "canvas", "christmas", "gas", "lens", "news", "series", "species", "this")
    if len(word) <= 3 or word in kept or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-1] if word[:-1] in in_ie else f"{word[:-3]}y"
    in_o = ("avocado", "echo", "hero", "mango", "mosquito", "potato", "tomato")
    if word.endswith(("ches", "shes", "sses", "xes", "zzes")) or word[:-2] in in_o:
        return word[:-2]
    return word[:-1]


COLOURS = frozenset(
    term(name)
    for name in """
    amber apricot aqua aquamarine army azure beige black blonde blue blush bronze brown burgundy camel camo champagne
    charcoal cherry chocolate clear cobalt coffee cognac copper coral cranberry cream crimson cyan denim ebony emerald
    espresso fuchsia gold golden green grey indigo ivory jade khaki lavender lilac lime magenta maroon mauve mint mocha
    multicolor mustard navy nude ocher olive orange peach pewter pink plum purple rainbow red rose ruby rust sage salmon
    sand sapphire scarlet silver slate tan taupe teal terracotta transparent turquoise violet walnut white wine yellow
    """.split()  # noqa: SIM905
)
"""The terms of colours."""

"""Finds the values of a product's options that an instruction asks for.

The words of a value are weighted and looked up in the instruction. "black1901" is black, "1.6 ounce (pack of 1)" is
1.6 oz, and "heather charcoal" is the nearest to charcoal if there is no other.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from iad_envs.webshop.policy.reading import ASKS_NOTHING, ShopInstruction, shown_terms
from iad_envs.webshop.policy.terms import ALL_UNITS, COLOURS, COUNTING, Word, is_specific, read_words


class AskedValues(NamedTuple):
    """What an instruction asks of one option of a product.

    Attributes:
        values: The offered values that answer it equally well, in the page's order.
        is_exact: Whether they say what the instruction says. Otherwise they are the nearest ones offered.
    """

    values: tuple[str, ...]
    is_exact: bool


def asked_values(
    options: Mapping[str, Sequence[str]], instruction: ShopInstruction, title: str = ""
) -> dict[str, AskedValues]:
    """Return, for each option of a product that the instruction says something about, the values that it asks for.

    Args:
        options: The product's options: name -> values.
        instruction: The instruction.
        title: The product's title. A value is not near because of words in it, except for colours, sizes and numbers:
            "hair" asks for hair masks, and not for the hair type "curly hair".
    """
    asked = {name: _asked(name, tuple(values), instruction, title) for name, values in options.items()}
    return {name: one for name, one in asked.items() if one is not None}


def wanted_values(options: Mapping[str, Sequence[str]], instruction: ShopInstruction) -> dict[str, str]:
    """Return, for each option of a product, the first of the values that the instruction asks for exactly."""
    return {name: asked.values[0] for name, asked in asked_values(options, instruction).items() if asked.is_exact}


def is_near(name: str, value: str, instruction: ShopInstruction) -> bool:
    """Return whether an option's value says what the instruction says, at least for the larger part."""
    return _match(name, value, instruction, frozenset()) > _NO_MATCH


@lru_cache(maxsize=16_384)
def _asked(name: str, values: tuple[str, ...], instruction: ShopInstruction, title: str) -> AskedValues | None:
    explained = shown_terms([title])
    matches = {value: _match(name, value, instruction, explained) for value in values}
    best = max(matches.values(), default=_NO_MATCH)
    if best == _NO_MATCH:
        return None
    return AskedValues(tuple(value for value in matches if matches[value] == best), best.is_exact)


class _Match(NamedTuple):
    """How well an instruction asks for a value. Better ones are greater.

    Attributes:
        is_exact: Whether the instruction says all that matters of the value.
        is_named: Whether it stands beside the option's name: "color: black", "black color".
        weight: Weight of the words that the instruction says.
        is_together: Whether they stand together.
        left: Weight of the words that it doesn't say, negative. 0 for all values that are only near.
    """

    is_exact: bool
    is_named: bool
    weight: float
    is_together: bool
    left: float


_NO_MATCH = _Match(False, False, 0.0, False, -math.inf)


def _match(name: str, value: str, instruction: ShopInstruction, explained: frozenset[str]) -> _Match:
    words = read_words(value)
    terms = tuple(word.term for word in words)
    # Words of option names that people leave out: "flavor name" is asked for as "flavor".
    heads = [word.term for word in read_words(name) if word.text not in ("name", "of", "number", "items")]
    beside = [pair for head in heads for pair in ((head, *terms), (*terms, head))]
    if words and any(_stands_in(pair, instruction.terms) for pair in beside):
        return _Match(True, True, float(len(words)), True, 0.0)
    if all(word.is_code for word in words):  # "a" is an article, and "02" may be a part of anything
        return _NO_MATCH
    is_together = _stands_in(terms, instruction.terms)
    total = matched = telling = 0.0
    for place, word in enumerate(words):
        unit = words[place + 1].term if place + 1 < len(words) else ""
        if word.term in ALL_UNITS and place and words[place - 1].term[0].isdigit():
            continue  # a unit belongs to its number
        is_only_number = len(words) <= 2 and word.term[0].isdigit() and unit in ALL_UNITS
        weight = 1.0 if is_only_number else _weight(word, unit)
        total += weight
        if is_together or _is_asked(word, unit, instruction):
            matched += weight
            telling += weight * (is_specific(word) or word.term not in explained)
    # Shares of the weight from which the instruction asks for a value, or for something near it.
    if matched >= 0.75 * total and matched >= min(total, 1.0):
        return _Match(True, False, matched, is_together, matched - total)
    if matched >= 0.5 * total and telling >= 1.0:
        return _Match(False, False, matched, is_together, 0.0)
    return _NO_MATCH


def _weight(word: Word, unit: str) -> float:
    if word.is_code:
        return 0.15
    if word.term in COLOURS:
        return 2.0
    if word.term == "1" and unit in COUNTING:
        return 0.25
    return 0.5 if word.term in ALL_UNITS or word.text in ASKS_NOTHING or word.text == "x" else 1.0


def _is_asked(word: Word, unit: str, instruction: ShopInstruction) -> bool:
    """Return whether an instruction says a word of a value. For a number the unit must not be another one."""
    terms = instruction.terms
    if not word.term[0].isdigit() or unit not in ALL_UNITS:
        return word.term in terms
    following = [after for term, after in zip(terms, (*terms[1:], ""), strict=True) if term == word.term]
    units = {after if after in ALL_UNITS else "" for after in following}
    return any(other in (unit, "") or {other, unit} <= COUNTING for other in units)


def _stands_in(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    return any(whole[place : place + len(part)] == part for place in range(len(whole) - len(part) + 1))

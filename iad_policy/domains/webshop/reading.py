"""Reads shop instructions and pages, using only what an agent may see.

The rule-based agent and the proxy verifier of `IAD/WebShop-v0` share this code. It uses words only, no gold.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from iad_policy.domains.webshop.terms import ALL_UNITS, COLOURS, COUNTING, Word, read_words, singular
from iad_policy.types import State

_LIMIT = re.compile(r"\$\s?(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s+(?:dollars?|usd|bucks)\b")
_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?")
_MONEY = re.compile(r"\$(\d+(?:\.\d+)?)")
_FILLER_WORDS = """
    a an the of for with and or in on to is are it its that which this these those them they their there i im id ive
    ill we me my our us you your he she his her can could would should will shall may might do does dont did please
    find get give show need needs needed want wants wanted wanting looking look like likes buy buying purchase order
    place search searching shop some any pair price priced pricing dollars dollar usd bucks than lower less under below
    over be been being was were am have has having had made make makes making by from as at so one ones also along
    other prefer preferable preferably preferred ideally must who what when where while really very just set come comes
    coming available color colour colored coloured colors size sized sizes style styled styles flavor flavored flavors
    scent scented option options type types shopping budget cost costs costing no more most not above up spend within
    max maximum around about something someone thing things kind sort asked sister brother mother father friend help
    helps helping hoping hope hello hi hey if all only d s t ll ve re m pick choose interested locking thats sure
    item items product products good nice great perfect certain possible able
"""
_FILLER = frozenset(_FILLER_WORDS.split())
"""Words that say nothing about the product."""


FACT_PAGES = ("description", "features")
"""Sub pages with facts about the product. Reviews are always empty."""

COLOUR_WEIGHT, MINOR_WEIGHT, SINGLE_WEIGHT, CODE_WEIGHT = 2.0, 0.5, 0.25, 0.15
"""Weights of an option value's words when it is compared with the instruction. Other words have weight 1."""
FULL, NEAR = 0.75, 0.5
"""Shares of a value's weight from which the instruction asks for it, or for something near it."""


class Requirement(NamedTuple):
    """Words of the instruction that stand together, such as "multipoint pairing"."""

    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        """The words as written."""
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class ShopInstruction:
    """A parsed instruction.

    Attributes:
        words: Its content words in order, each once, as one would search for them.
        text: Its words as one text.
        price_limit: Price limit in dollars. Infinite if there is none.
        requirements: What it asks for, in order.
        terms: The terms of all its words in order, without the price limit.
    """

    words: tuple[str, ...]
    text: str
    price_limit: float
    requirements: tuple[Requirement, ...]
    terms: tuple[str, ...]

    def coverage(self, words: Iterable[str]) -> float:
        """Return the share of the content words that is among `words`."""
        if not self.words:
            return 0.0
        there = set(words)
        return sum(word in there for word in self.words) / len(self.words)


@lru_cache(maxsize=4096)
def read_instruction(instruction: str) -> ShopInstruction:
    """Parse an instruction into content words, requirements and a price limit."""
    lowered = instruction.lower()
    amounts = [float(dollars or amount) for dollars, amount in _LIMIT.findall(lowered)]
    wish = _LIMIT.sub(" ", lowered)
    words = words_of(wish)
    content = tuple(dict.fromkeys(word for word in words if word not in _FILLER))
    read = read_words(wish)
    return ShopInstruction(
        words=content,
        text=f" {' '.join(words)} ",
        price_limit=amounts[-1] if amounts else math.inf,
        requirements=tuple(_requirements(read)),
        terms=tuple(word.term for word in read),
    )


def _requirements(words: Sequence[Word]) -> Iterable[Requirement]:
    together: list[Word] = []
    for word in words:
        is_filler = word.text in _FILLER
        if together and (is_filler or word.starts):
            yield Requirement(tuple(together))
            together = []
        if not is_filler:
            together.append(word)
    if together:
        yield Requirement(tuple(together))


@lru_cache(maxsize=16_384)
def words_of(text: str) -> tuple[str, ...]:
    """Return a text's words in lower case, with plurals cut to the singular."""
    return tuple(singular(word) for word in _WORD.findall(text.lower().replace("'s", "")))


def shown_terms(texts: Iterable[str]) -> frozenset[str]:
    """Return the terms of texts. Neighbours are there together as well, so "draw string" shows "drawstring"."""
    terms: set[str] = set()
    for text in texts:
        words = read_words(text)
        terms.update(word.term for word in words)
        terms.update(first.text + second.term for first, second in zip(words, words[1:], strict=False))
    return frozenset(terms)


def unseen_words(requirement: Requirement, shown: frozenset[str]) -> tuple[Word, ...]:
    """Return the words of a requirement that are not shown, alone or joined to a neighbour."""
    words = requirement.words
    joined = {
        place + side
        for place, (first, second) in enumerate(zip(words, words[1:], strict=False))
        if first.text + second.term in shown
        for side in (0, 1)
    }
    return tuple(word for place, word in enumerate(words) if word.term not in shown and place not in joined)


def price_fits(price_text: str, limit: float) -> bool:
    """Return whether the lowest price on a page is within a limit. It is True if there is no price."""
    prices = _prices(price_text)
    return not prices or min(prices) <= limit


def price_share(price_text: str, limit: float) -> float:
    """Return the share of a page's price range that is within a limit: 0 or 1 for a single price, 1 for none."""
    prices = _prices(price_text)
    if not prices or max(prices) <= limit:
        return 1.0
    low, high = min(prices), max(prices)
    return max(0.0, (limit - low) / (high - low)) if high > low else 0.0


def _prices(price_text: str) -> list[float]:
    return [float(price) for price in _MONEY.findall(price_text)]


class Asked(NamedTuple):
    """What an instruction asks of one option of a product.

    Attributes:
        values: The offered values that answer it equally well, in the page's order.
        is_exact: Whether they say what the instruction says. Otherwise they are the nearest ones offered.
    """

    values: tuple[str, ...]
    is_exact: bool


def asked_values(options: Mapping[str, Sequence[str]], instruction: ShopInstruction) -> dict[str, Asked]:
    """Return, for each option of a product that the instruction says something about, the values that it asks for."""
    asked: dict[str, Asked] = {}
    for name, values in options.items():
        matches = {value: _match(name, value, instruction) for value in values}
        best = max(matches.values(), default=_NO_MATCH)
        if best > _NO_MATCH:
            asked[name] = Asked(tuple(value for value in matches if matches[value] == best), best.is_exact)
    return asked


def wanted_values(options: Mapping[str, Sequence[str]], instruction: ShopInstruction) -> dict[str, str]:
    """Return, for each option of a product, the value that the instruction asks for exactly, or the first of several."""
    return {name: asked.values[0] for name, asked in asked_values(options, instruction).items() if asked.is_exact}


def is_near(name: str, value: str, instruction: ShopInstruction) -> bool:
    """Return whether an option's value says what the instruction says, at least for the larger part."""
    return _match(name, value, instruction) > _NO_MATCH


class _Match(NamedTuple):
    """How well an instruction asks for a value. Better ones are greater."""

    is_exact: bool
    is_named: bool
    weight: float
    is_together: bool
    left: float


_NO_MATCH = _Match(False, False, 0.0, False, -math.inf)


def _match(name: str, value: str, instruction: ShopInstruction) -> _Match:
    """Compare an option's value with an instruction.

    The words of the value are weighted. Codes, and "pack of 1" after a size, hardly count, and a unit belongs to its
    number. A value that is a code itself has to stand beside the option's name: "a" is an article elsewhere.
    """
    words = read_words(value)
    terms = tuple(word.term for word in words)
    is_named = _stands_beside(terms, name, instruction.terms)
    if not words or (all(word.is_code for word in words) and not is_named):
        return _NO_MATCH
    if is_named:
        return _Match(True, True, float(len(words)), True, 0.0)
    is_together = _stands_in(terms, instruction.terms)
    parts = list(_weighted(words))
    matched = sum(weight for weight, word, unit in parts if is_together or _is_asked(word, unit, instruction))
    total = sum(weight for weight, _, _ in parts)
    if matched < min(total, 1.0) or matched < NEAR * total:
        return _NO_MATCH
    is_exact = matched >= FULL * total
    return _Match(is_exact, False, matched, is_together, matched - total if is_exact else 0.0)


def _weighted(words: Sequence[Word]) -> Iterable[tuple[float, Word, str]]:
    """Yield the words of a value with their weights and, for numbers, their units."""
    for place, word in enumerate(words):
        unit = words[place + 1].term if place + 1 < len(words) else ""
        if word.term in ALL_UNITS and place and words[place - 1].term[0].isdigit():
            continue
        if len(words) <= 2 and word.term[0].isdigit() and unit in ALL_UNITS:
            yield 1.0, word, unit
        else:
            yield _weight(word, unit), word, unit


def _weight(word: Word, unit: str) -> float:
    if word.is_code:
        return CODE_WEIGHT
    if word.term in COLOURS:
        return COLOUR_WEIGHT
    if word.term == "1" and unit in COUNTING:
        return SINGLE_WEIGHT
    return MINOR_WEIGHT if word.term in ALL_UNITS or word.text in _FILLER or word.text == "x" else 1.0


def _is_asked(word: Word, unit: str, instruction: ShopInstruction) -> bool:
    if not word.term[0].isdigit() or unit not in ALL_UNITS:
        return word.term in instruction.terms
    units = _units_after(word.term, instruction.terms)
    return any(other in (unit, "") or {other, unit} <= COUNTING for other in units)


def _units_after(number: str, terms: tuple[str, ...]) -> set[str]:
    """Return the units that follow a number, "" for none."""
    following = [after for term, after in zip(terms, (*terms[1:], ""), strict=True) if term == number]
    return {after if after in ALL_UNITS else "" for after in following}


def _stands_in(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    return any(whole[place : place + len(part)] == part for place in range(len(whole) - len(part) + 1))


def _stands_beside(part: tuple[str, ...], name: str, terms: tuple[str, ...]) -> bool:
    heads = [word.term for word in read_words(name) if word.text not in ("name", "of", "number", "items")]
    return any(_stands_in(beside, terms) for head in heads for beside in ((head, *part), (*part, head)))


def page_of(state: State) -> Mapping[str, Any]:
    """Return the agent's current page as data."""
    page: Mapping[str, Any] = state.info["page"]
    return page


def item_of(state: State) -> Mapping[str, Any] | None:
    """Return the product page of a state, or that of the sub page's product. Elsewhere return None."""
    page = page_of(state)
    if page["kind"] == "item":
        return page
    if "asin" not in page:
        return None
    for turn in reversed(state.history):
        before: Mapping[str, Any] = turn.info.get("page", {})
        if before.get("kind") == "item" and before["asin"] == page["asin"]:
            return before
    return None


def lines_read(state: State, asin: str) -> list[str]:
    """Return the lines of a product's sub pages that were opened so far, including the current one."""
    return [line for page in _sub_pages(state, asin) for line in page["lines"]]


def unread(state: State, asin: str) -> list[str]:
    """Return the product's sub pages with facts that were not opened so far."""
    opened = {page["kind"] for page in _sub_pages(state, asin)}
    return [kind for kind in FACT_PAGES if kind not in opened]


def _sub_pages(state: State, asin: str) -> list[Mapping[str, Any]]:
    pages = [turn.info.get("page", {}) for turn in state.history] + [page_of(state)]
    return [page for page in pages if page.get("asin") == asin and "lines" in page]


def visited(state: State) -> frozenset[str]:
    """Return the ids of the products whose pages were opened so far."""
    pages = [turn.info.get("page", {}) for turn in state.history]
    return frozenset(page["asin"] for page in pages if "asin" in page)

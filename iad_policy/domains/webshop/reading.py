"""Reads shop instructions and pages, using only what an agent may see.

The rule-based agent and the proxy verifier of `IAD/WebShop-v0` share this code. It uses words only, no gold.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from iad_policy.types import State

_LIMIT = re.compile(r"\$\s?(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s+dollars?")
_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?")
_MONEY = re.compile(r"\$(\d+(?:\.\d+)?)")
_FILLER_WORDS = """
    a an the of for with and or in on to is are it its that which this these those i im am we me my you your can
    could would should will do does please find get give show need needs want wants looking look like buy some any
    pair price priced dollars dollar than lower less under below be has have having made by from as at so one also
    prefer preferably must who what there really set come comes color colour size style option type shopping budget
    cost costs costing no more most not above up spend within max maximum something someone thing asked sister
    brother mother father friend help hoping hope if all only our us d s t ll ve
"""
_FILLER = frozenset(_FILLER_WORDS.split())
"""Words that say nothing about the product."""


FACT_PAGES = ("description", "features")
"""Sub pages with facts about the product. Reviews are always empty."""


@dataclass(frozen=True, slots=True)
class ShopInstruction:
    """A parsed instruction.

    Attributes:
        words: Its content words in order, each once.
        text: Its words as one text, in which phrases are looked up.
        price_limit: Price limit in dollars. Infinite if there is none.
    """

    words: tuple[str, ...]
    text: str
    price_limit: float

    def names(self, phrase: str) -> bool:
        """Return whether the instruction contains a phrase, word for word."""
        words = plain(phrase)
        return words != "" and f" {words} " in self.text

    def coverage(self, words: Iterable[str]) -> float:
        """Return the share of the content words that is among `words`."""
        if not self.words:
            return 0.0
        there = set(words)
        return sum(word in there for word in self.words) / len(self.words)


@lru_cache(maxsize=4096)
def read_instruction(instruction: str) -> ShopInstruction:
    """Parse an instruction into content words and a price limit."""
    lowered = instruction.lower()
    amounts = [float(dollars or amount) for dollars, amount in _LIMIT.findall(lowered)]
    words = words_of(_LIMIT.sub(" ", lowered))
    content = tuple(dict.fromkeys(word for word in words if word not in _FILLER))
    return ShopInstruction(content, f" {' '.join(words)} ", amounts[-1] if amounts else math.inf)


@lru_cache(maxsize=16_384)
def words_of(text: str) -> tuple[str, ...]:
    """Return a text's words in lower case, with plurals cut to the singular."""
    return tuple(_singular(word) for word in _WORD.findall(text.lower().replace("'s", "")))


def plain(text: str) -> str:
    """Return the words of `words_of`, joined by blanks."""
    return " ".join(words_of(text))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def price_fits(price_text: str, limit: float) -> bool:
    """Return whether the lowest price on a page is within a limit. It is True if there is no price."""
    prices = [float(price) for price in _MONEY.findall(price_text)]
    return not prices or min(prices) <= limit


def wanted_values(options: Mapping[str, Sequence[str]], instruction: ShopInstruction) -> dict[str, str]:
    """Return, for each option of a product, the value that the instruction names, or the longest of several."""
    named: dict[str, str] = {}
    for name, values in options.items():
        named_values = [value for value in values if instruction.names(value)]
        if named_values:
            named[name] = max(named_values, key=lambda value: len(plain(value)))
    return named


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

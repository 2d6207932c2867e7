"""Reads shop instructions and pages, using only what an agent may see.

The rule-based agent and the proxy verifier of `IAD/WebShop-v0` share this code. It uses words only, no gold.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from iad_envs.webshop.policy.terms import Word, read_words, singular, term
from iad_policy.types import State

_LIMIT = re.compile(r"\$\s?(\d+(?:\.\d+)?)|(?<!\d)(\d+(?:\.\d+)?)\s+(?:dollars?|usd|bucks)\b")
_FILLER = frozenset(
    """
    a an the of for with and or in on to is are it its that which this these those i im am we me my you your can
    could would should will do does please find get give show need needs want wants looking look like buy some any
    pair price priced dollars dollar than lower less under below be has have having made by from as at so one also
    prefer preferably must who what there really set come comes color colour size style option type shopping budget
    cost costs costing no more most not above up spend within max maximum something someone thing asked sister
    brother mother father friend help hoping hope if all only our us d s t ll ve
    """.split()  # noqa: SIM905
)
"""Words that say nothing about the product."""
ASKS_NOTHING = _FILLER.union(
    """
    able along around available based because been being but buying care certain choose colored coloured colors coming
    did dont else flavor flavored flavors good great he hello help helping helps her here hey hi his id ideally include
    included includes including interested into item items ive just kind locate locking m make makes making may might
    needed nice new offer offers ones options order other out over per perfect pick place possible preferable preferred
    pricing product products purchase re scent scented search searching shall she since sized sizes sort styled styles
    suitable sure thats their them then they things too types usd bucks very via wanted wanting was were when where
    while ill us about
    """.split()  # noqa: SIM905
)
"""Words that ask for nothing. Some of them may help a search, but no page has to show them."""
FACT_PAGES = ("description", "features")
"""Sub pages with facts about the product. Reviews are always empty."""


@dataclass(frozen=True, slots=True)
class ShopInstruction:
    """A parsed instruction.

    Attributes:
        words: Its content words in order, each once, as one would search for them.
        text: Its words as one text.
        price_limit: Price limit in dollars. Infinite if there is none.
        requirements: What it asks for, in order: words that stand together, such as "multipoint pairing".
        terms: The terms of all its words in order, without the price limit.
    """

    words: tuple[str, ...]
    text: str
    price_limit: float
    requirements: tuple[tuple[Word, ...], ...]
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
    requirements: list[list[Word]] = [[]]
    for word in read:
        is_filler = word.text in ASKS_NOTHING
        if word.text == "to" and requirements[-1] and requirements[-1][-1].text in ("easy", "ready", "simple"):
            continue  # "easy to install"
        if is_filler or word.starts:
            requirements.append([])
        if not is_filler:
            requirements[-1].append(word)
    return ShopInstruction(
        words=content,
        text=f" {' '.join(words)} ",
        price_limit=amounts[-1] if amounts else math.inf,
        requirements=tuple(tuple(together) for together in requirements if together),
        terms=tuple(word.term for word in read),
    )


@lru_cache(maxsize=16_384)
def words_of(text: str) -> tuple[str, ...]:
    """Return a text's words in lower case, with plurals cut to the singular."""
    words = re.findall(r"[a-z0-9]+(?:\.[0-9]+)?", text.lower().replace("'s", ""))
    return tuple(map(singular, words))


def shown_terms(texts: Iterable[str]) -> frozenset[str]:
    """Return the terms of texts. Neighbours are there together as well, so "draw string" shows "drawstring"."""
    return frozenset().union(*map(_terms, texts))


@lru_cache(maxsize=16_384)
def _terms(text: str) -> frozenset[str]:
    words = read_words(text)
    pairs = (term(first.text + second.text) for first, second in pairwise(words))
    return frozenset([*(word.term for word in words), *pairs])


def unseen_words(words: Sequence[Word], shown: frozenset[str]) -> tuple[Word, ...]:
    """Return the words of a requirement that are not shown, alone or joined to a neighbour."""
    joined = {
        place + side
        for place, (first, second) in enumerate(pairwise(words))
        if term(first.text + second.text) in shown
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
    return [float(price) for price in re.findall(r"\$(\d+(?:\.\d+)?)", price_text)]


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

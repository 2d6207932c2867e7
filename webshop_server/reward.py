"""The reward of a purchase, exactly as the original WebShop computes it, quirks included.

reward = r_type * (matched attributes + matched options + price ok) / (attributes + options + 1)

Two texts match if their token-set similarity is above 85, computed and rounded as in thefuzz 0.22.1. Before the
comparison, an option value that contains one of 102 colour words is replaced by the first such word. So shades and
near-equal sizes match, extra options are free, and the name of an option does not matter.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz, process
from rapidfuzz.utils import default_process

from webshop_server.catalog import Product
from webshop_server.goals import Goal, GoalOption
from webshop_server.tagger import Tagger

SIMILAR_FROM = 85.5
"""Lowest similarity that matches: thefuzz rounds to an integer, and the original requires more than 85."""
COLOURS = tuple(
    """
    alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy
    camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral
    cranberry cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass
    gray green grey heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon
    mauve merlot midnight mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter
    pink plum purple rainbow red rose royal rust sand sapphire seashell silver skull slate steel stone
    stonewash sunflower tan taupe teal tiger turquoise violet walnut wheat white wine yellow
    """.split()  # noqa: SIM905
)
"""Colour words, in the order in which they are tried."""


class UnscorableError(ValueError):
    """A purchase has no reward because the original fails on it: no attributes, no price or no positive limit."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The reward of a purchase and its parts. All numbers are from 0 to 1, and the three weights sum to 1.

    `total` is r_type * (w_att * r_att + w_option * r_option + w_price * r_price). If the goal has no options,
    `r_option` is None and `w_option` is 0.
    """

    total: float
    r_type: float
    r_att: float
    r_option: float | None
    r_price: bool
    w_att: float
    w_option: float
    w_price: float
    query_match: bool
    category_match: bool
    title_score: float

    def parts(self) -> dict[str, float | bool]:
        """The parts, with the original's names. Parts about options are left out if the goal has no options."""
        parts = {name: getattr(self, name) for name in self.__slots__ if name != "total"}
        if self.r_option is None:
            del parts["r_option"], parts["w_option"]
        return parts


@dataclass(frozen=True, slots=True)
class ProductMatch:
    """The part of a reward that does not depend on the chosen options: product type, attributes and price.

    `n_terms` is the divisor of the reward: the goal's attributes plus its options plus one.
    """

    r_type: float
    query_match: bool
    category_match: bool
    title_score: float
    n_attributes: int
    r_price: bool
    n_terms: int

    def total(self, n_options: int) -> float:
        """The reward if this many goal options match."""
        return (self.n_attributes + n_options + self.r_price) / self.n_terms * self.r_type


def n_matched_options(goal_options: Iterable[GoalOption], chosen: Iterable[str]) -> int:
    """Number of goal options that match any of the chosen values."""
    values = [comparable_option(value) for value in chosen]
    return sum(any(similar(option, value) for value in values) for option in map(comparable_option, goal_options))


@lru_cache(maxsize=65_536)
def comparable_option(option: GoalOption) -> str:
    """Return the form of an option that is compared: its first colour word, else its normalised text.

    In a plain value, the colour word may be any substring. The original compares a (name, value) pair as the
    text of a Python tuple, so a pair has a colour only if its name or its value is exactly that word.
    """
    colour = next((colour for colour in COLOURS if colour in option), None)
    return colour or _comparable(str(option))


@lru_cache(maxsize=65_536)
def similar(first: str, second: str) -> bool:
    """Whether the similarity of two normalised texts is above 85."""
    return fuzz.token_set_ratio(first, second) >= SIMILAR_FROM


class PurchaseScorer:
    """Scores purchases with one tagger. Its caches are shared by any number of episodes, and keep products alive.

    Args:
        tagger: Finds the nouns of titles.
    """

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger
        self._match = lru_cache(maxsize=16_384)(self._match_uncached)
        self.best = lru_cache(maxsize=16_384)(self._best_uncached)
        self.last_or_full = lru_cache(maxsize=16_384)(self._last_or_full_uncached)

    def score(self, goal: Goal, product: Product, options: Mapping[str, str]) -> Reward:
        """The reward for buying a product with these options (name -> value).

        Raises:
            UnscorableError: The goal has no attributes or no positive limit, or the product has no price.
        """
        match = self._match(goal, product)
        n_options = n_matched_options(goal.options, options.values())
        return Reward(
            total=match.total(n_options),
            r_type=match.r_type,
            r_att=match.n_attributes / len(goal.attributes),
            r_option=n_options / len(goal.options) if goal.options else None,
            r_price=match.r_price,
            w_att=len(goal.attributes) / match.n_terms,
            w_option=len(goal.options) / match.n_terms,
            w_price=1 / match.n_terms,
            query_match=match.query_match,
            category_match=match.category_match,
            title_score=match.title_score,
        )

    def _match_uncached(self, goal: Goal, product: Product) -> ProductMatch:
        _require_scorable(goal, product)
        goal_nouns, product_nouns = self._tagger.nouns(goal.name), self._tagger.nouns(product.name)
        query_match = product.query == goal.query
        category_match = len(_levels(product.product_category) & _levels(goal.product_category)) >= 2
        title_score = len(set(goal_nouns) & set(product_nouns)) / len(goal_nouns) if goal_nouns else 0.2
        if title_score < 0.1:
            r_type = 0.1 if title_score else 0.0
        else:
            r_type = 1.0 if query_match or category_match or title_score > 0.2 else 0.5
        attributes, title, bullets, description = _searchable(product)
        n_attributes = sum(
            attribute in title
            or attribute in bullets
            or attribute in description
            or process.extractOne(
                _comparable(attribute),
                attributes,
                scorer=fuzz.token_set_ratio,
                processor=None,
                score_cutoff=SIMILAR_FROM,
            )
            is not None
            for attribute in goal.attributes
        )
        return ProductMatch(
            r_type=r_type,
            query_match=query_match,
            category_match=category_match,
            title_score=title_score,
            n_attributes=n_attributes,
            r_price=product.price <= goal.price_upper,
            n_terms=len(goal.attributes) + len(goal.options) + 1,
        )

    def _best_uncached(self, goal: Goal, product: Product) -> float:
        """The highest reward over all combinations of a product's option values.

        Trying every combination would be slow. Instead, the sets of goal options that a choice can match are
        joined name by name. This gives the same maximum with at most 2^(goal options) sets.
        """
        _require_scorable(goal, product)
        goal_nouns = self._tagger.nouns(goal.name)
        if goal_nouns and set(goal_nouns).isdisjoint(self._tagger.nouns(product.name)):
            return 0.0  # as most pairs: without a common noun r_type is 0, whatever else matches
        match = self._match(goal, product)
        goal_options = [comparable_option(option) for option in goal.options]
        reachable = {0}
        for values in product.options.values():
            matched = {
                sum(1 << place for place, option in enumerate(goal_options) if similar(option, value))
                for value in map(comparable_option, values)
            }
            reachable = {before | new for before in reachable for new in matched or {0}}
        return match.total(max(places.bit_count() for places in reachable))

    def _last_or_full_uncached(self, goal: Goal, product: Product) -> float:
        """1.0 if any combination of option values reaches it, else the reward of the last combination."""
        best = self.best(goal, product)
        if best in (0.0, 1.0):
            return best
        last = [values[-1] for values in product.options.values() if values]
        return self._match(goal, product).total(n_matched_options(goal.options, last))


def _require_scorable(goal: Goal, product: Product) -> None:
    if not goal.attributes:
        raise UnscorableError(f"expected a goal with attributes, got none in goal {goal.goal_id!r}; add one")
    if not goal.price_upper > 0:
        given = f"{goal.price_upper!r} in goal {goal.goal_id!r}"
        raise UnscorableError(f"expected a price limit above 0, got {given}; use 1000000 for no limit")
    if not isinstance(product.price, int | float):
        raise UnscorableError(f"expected a price in dollars, got {product.price} for product {product.asin}")


@lru_cache(maxsize=16_384)
def _searchable(product: Product) -> tuple[tuple[str, ...], str, str, str]:
    return (
        tuple(_comparable(attribute) for attribute in product.attributes),
        product.name.lower(),
        " ".join(product.bullets).lower(),
        product.description.lower(),
    )


@lru_cache(maxsize=65_536)
def _levels(product_category: str) -> frozenset[str]:
    return frozenset(level.strip() for level in product_category.split("›"))


@lru_cache(maxsize=65_536)
def _comparable(text: str) -> str:
    """Normalise a text as thefuzz does: without Latin-1 letters, in lower case, letters and digits only."""
    return default_process(re.sub("[\x80-\xff]", "", text))

"""Judges how a product with its selected options fits an instruction, and how likely buying it succeeds.

The probability is a logistic model of a few features that can be counted by hand. Nothing here knows the goal.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from iad_envs.webshop.policy.options import asked_values, is_near
from iad_envs.webshop.policy.reading import FACT_PAGES, price_share, read_instruction, shown_terms, unseen_words
from iad_envs.webshop.policy.terms import Word, is_specific

WEIGHTS: Mapping[str, float] = {
    "bias": 2.58,
    "incomplete": -1.89,
    "unseen": -2.21,
    "unseen_read": -2.69,
    "unseen_specifics": -2.42,
    "wrong_options": -4.82,
    "similar_options": -0.98,
    "open_options": -5.83,
    "unsure_options": -1.24,
    "over_price": -5.02,
}
"""Weights of the features of `Fit.features`, fitted to purchases on the bundled train and dev tasks by
`python benchmarks/support/webshop_verifier.py --fit`, which prints them."""

Status = Literal["right", "wrong", "similar", "open", "unsure", "unasked"]


class OptionFit(NamedTuple):
    """How an option of a product fits.

    Attributes:
        name: Name of the option.
        status: `right`: a value that is asked for is selected. `wrong`: another one is. `similar`: another one is,
            which shares the larger part of its words. `open`: none is. `unsure`: the instruction is not clear, and
            its nearest value is not selected. `unasked`: the instruction says nothing about it.
        asked: The values that are asked for.
        selected: The selected value, or "".
    """

    name: str
    status: Status
    asked: tuple[str, ...]
    selected: str


@dataclass(frozen=True, slots=True)
class Fit:
    """How a product with its selected options fits an instruction.

    Attributes:
        unseen: What the instruction asks for and was not seen: the words of each requirement that lack.
        n_words: Number of words that the instruction asks for.
        options: The product's options.
        price: The price as shown.
        price_limit: The price limit in dollars.
        unread: Sub pages with facts that were not opened.
    """

    unseen: tuple[tuple[Word, ...], ...]
    n_words: int
    options: tuple[OptionFit, ...]
    price: str
    price_limit: float
    unread: tuple[str, ...]

    def n_options(self, status: Status) -> int:
        """Return the number of options with a status."""
        return sum(option.status == status for option in self.options)

    @property
    def price_share(self) -> float:
        """The share of the price range that is within the limit."""
        return price_share(self.price, self.price_limit)

    @property
    def is_complete(self) -> bool:
        """Whether everything that the instruction asks for was seen and is selected, within the price limit."""
        return not self.unseen and self.price_share == 1.0 and not self.differing

    @property
    def is_known_to_fail(self) -> bool:
        """Whether an option that is asked for is open or has another value, or the price is above the limit."""
        return self.n_options("open") + self.n_options("wrong") > 0 or self.price_share == 0.0

    @property
    def differing(self) -> tuple[OptionFit, ...]:
        """The options that are not as asked for."""
        return tuple(option for option in self.options if option.status not in ("right", "unasked"))

    def with_options_set(self, n: int) -> "Fit":
        """Return this fit after the first n open or wrong options are set as asked for."""
        to_set = [option.name for option in self.options if option.status in ("open", "wrong")][:n]
        options = tuple(
            option._replace(status="right", selected=option.asked[0]) if option.name in to_set else option
            for option in self.options
        )
        return replace(self, options=options)

    def features(self) -> dict[str, float]:
        """Return the features of the model: shares are 0-1, the others are counts.

        - `incomplete`: 1 if a word that is asked for was not seen, else 0
        - `unseen`: share of the words that were not seen
        - `unseen_read`: the same, times the share of the sub pages that were read
        - `unseen_specifics`: number of colours, sizes and numbers that were not seen
        - `wrong_options`, `similar_options`, `open_options`, `unsure_options`: see `OptionFit`
        - `over_price`: share of the price range above the limit
        """
        unseen = [word for words in self.unseen for word in words]
        share = len(unseen) / self.n_words if self.n_words else 0.0
        return {
            "incomplete": float(bool(unseen)),
            "unseen": share,
            "unseen_read": share * (1.0 - len(self.unread) / len(FACT_PAGES)),
            "unseen_specifics": float(sum(map(is_specific, unseen))),
            "wrong_options": float(self.n_options("wrong")),
            "similar_options": float(self.n_options("similar")),
            "open_options": float(self.n_options("open")),
            "unsure_options": float(self.n_options("unsure")),
            "over_price": 1.0 - self.price_share,
        }

    @property
    def probability(self) -> float:
        """The probability that buying the product like this succeeds."""
        logit = WEIGHTS["bias"] + sum(WEIGHTS[name] * value for name, value in self.features().items())
        return 1.0 / (1.0 + math.exp(-logit))


def fit_of(
    instruction: str,
    *,
    title: str,
    price: str,
    options: Mapping[str, Sequence[str]],
    selected: Mapping[str, str],
    lines: Sequence[str],
    unread: Sequence[str],
) -> Fit:
    """Return how a product fits an instruction.

    Args:
        instruction: The instruction.
        title: Title of the product.
        price: Its price as shown.
        options: Its options: name -> values.
        selected: The selected values: name -> value.
        lines: The lines of its sub pages that were read.
        unread: Its sub pages with facts that were not opened.
    """
    wanted = read_instruction(instruction)
    asked = asked_values(options, wanted, title)
    # What an option can answer is a matter of the option, whether it is selected or not.
    answers = [value for one in asked.values() for value in one.values]
    shown = shown_terms([title, *lines, *selected.values(), *answers])
    lacking = (unseen_words(requirement, shown) for requirement in wanted.requirements)
    found = []
    for name in options:
        chosen, one = selected.get(name, ""), asked.get(name)
        status: Status = "similar" if chosen and is_near(name, chosen, wanted) else "wrong" if chosen else "open"
        if one is None:
            status = "unasked"
        elif not set(one.values).isdisjoint(selected.values()):
            status = "right"  # a value that is offered under two names is selected under one of them
        elif not one.is_exact:
            status = "unsure"
        found.append(OptionFit(name, status, one.values if one else (), chosen))
    return Fit(
        unseen=tuple(filter(None, lacking)),
        n_words=sum(map(len, wanted.requirements)),
        options=tuple(found),
        price=price,
        price_limit=wanted.price_limit,
        unread=tuple(unread),
    )


@lru_cache(maxsize=16_384)
def fit_at_first_sight(instruction: str, title: str, price: str) -> Fit:
    """Return how a product on a results page fits, of which only title and price are seen.

    Colours, sizes and numbers are left out: its options may have them.
    """
    fit = fit_of(instruction, title=title, price=price, options={}, selected={}, lines=(), unread=FACT_PAGES)
    general = (tuple(word for word in words if not is_specific(word)) for words in fit.unseen)
    return replace(fit, unseen=tuple(filter(None, general)))

"""The proxy verifier of `IAD/WebShop-v0`: it compares the instruction with the page that an action leads to. No gold.

A purchase scores the probability that it succeeds, from what was seen of the product and what is selected. Any other
action scores what the best purchase after it promises, a little less for each action that this still takes. These
scores only rank: reading a page whose facts are missing ranks above buying without them, whatever it shows.

It knows neither the goal's attributes nor the wanted product, and judges each candidate by itself.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym

from iad_envs.webshop.policy.fit import Fit, fit_at_first_sight, fit_of
from iad_envs.webshop.policy.reading import item_of, lines_read, page_of, unread, visited
from iad_policy.types import Candidate, State, Verdict
from iad_policy.types.information import Information

NOTHING_FOUND = 0.1
"""Lowest score of a results page, and score of the search page, with steps left."""
STEP_COST = 0.01
"""Share of the score that each action until the purchase costs, so that progress ranks above none."""
STEPS_FROM_ITEM = 1
"""Number of actions from a product's page to its purchase, without options. From results it takes one more, from the
search page two."""


class WebShopVerifier:
    """Scores a purchase by its probability of success, and other actions by what they still allow, from 0 to 1."""

    information: Information = "proxy"
    needs_preview = True
    reads_info = True

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Score each candidate's preview."""
        return [verdict(state, candidate) for candidate in candidates]


def verdict(state: State, candidate: Candidate) -> Verdict:
    """Return the verdict on a candidate, which needs a preview.

    Raises:
        ValueError: It has no preview.
    """
    preview = candidate.preview
    if preview is None:
        raise ValueError(f"expected a preview of {candidate.action!r}, got none; a driver attaches it")
    if preview.info["invalid_action"]:
        return Verdict(0.0, preview.info["facts"]["complaint"])
    kind = page_of(preview)["kind"]
    if kind == "done":
        return _purchase(state)
    if kind == "index":
        score = NOTHING_FOUND if preview.steps_left >= STEPS_FROM_ITEM + 2 else 0.0
        return Verdict(score, "Back on the search page, where a search comes next.")
    return _results(preview) if kind == "results" else _product(state, preview)


def _purchase(state: State) -> Verdict:
    fit = _fit(state)
    if fit is None:
        return Verdict(0.0, "No product is open that could be bought.")
    score = min(fit.probability, 0.05) if fit.is_known_to_fail else fit.probability
    critique = " ".join(_findings(fit)) or "Everything that is asked for was seen and is selected."
    # It passes if nothing is missing, and fails if an option or the price is not as asked. Unseen facts leave it open.
    passed = True if fit.is_complete else False if fit.is_known_to_fail or fit.differing else None
    return Verdict(score, critique, passed=passed, details=fit.features())


def _product(state: State, preview: State) -> Verdict:
    """Return the verdict on a product page or one of its sub pages."""
    fit = _fit(preview)
    if fit is None:
        return Verdict(0.0, "No product is shown.")
    is_sub_page = page_of(preview)["kind"] != "item"
    steps_left = preview.steps_left - is_sub_page
    critique = " ".join(_findings(fit)) or "Everything that is asked for was seen and is selected: buy it."
    if steps_left < STEPS_FROM_ITEM:
        return Verdict(0.0, f"No step is left to buy it. {critique}", details=fit.features())
    before = _fit(state) if is_sub_page else None
    score = _promise(fit, steps_left, n_steps=is_sub_page)
    if before is not None and before.unseen and len(fit.unread) < len(before.unread):
        known = max(score, _promise(before, steps_left, n_steps=0))
        score = known + 0.05 * (1.0 - known)  # reading is better than a purchase without the facts
    # With steps left, a product page is above every purchase that is known to fail.
    return Verdict(max(score, 0.06), critique, details=fit.features())


def _promise(fit: Fit, steps_left: float, *, n_steps: int) -> float:
    """Return what buying a product promises after its options are set, as far as the steps allow.

    Args:
        fit: The product as it is.
        steps_left: Steps left on its page.
        n_steps: Actions that lead to its page.
    """
    n_to_set = fit.n_options("open") + fit.n_options("wrong")
    n_set = int(min(n_to_set, steps_left - STEPS_FROM_ITEM))
    probability = fit.with_options_set(n_set).probability
    if fit.n_options("wrong"):
        probability *= 0.5  # it can be corrected
    return probability * (1.0 - STEP_COST * (n_steps + n_to_set + STEPS_FROM_ITEM))


def _results(preview: State) -> Verdict:
    if preview.steps_left < STEPS_FROM_ITEM + 1:
        return Verdict(0.0, "No steps are left to open and buy a product.")
    instruction, seen = preview.info["instruction"], visited(preview)
    fits = {
        product["asin"]: fit_at_first_sight(instruction, product["title"], product["price"])
        for product in page_of(preview)["products"]
        if product["asin"] not in seen
    }
    if not fits:
        return Verdict(NOTHING_FOUND, "No product here that was not opened already: search with other words.")
    best = max(fits, key=lambda asin: fits[asin].probability)
    score = fits[best].probability * (1.0 - STEP_COST * (STEPS_FROM_ITEM + 1))
    lacking = _quoted(fits[best])
    says = f"its title lacks {lacking}" if lacking else "its title has all words that are asked for"
    is_above = " and its price is above the limit" if fits[best].price_share == 0.0 else ""
    # An agent may be shown only the beginning of the results, without this product.
    critique = f"Most promising here: {best} at {fits[best].price}; {says}{is_above}."
    return Verdict(max(score, NOTHING_FOUND), critique)


def _fit(state: State) -> Fit | None:
    """Return the fit of the product that a state is about, or None if there is none."""
    item = item_of(state)
    if item is None:
        return None
    return fit_of(
        state.info["instruction"],
        title=item["title"],
        price=item["price"],
        options=item["options"],
        selected=item["selected"],
        lines=lines_read(state, item["asin"]),
        unread=unread(state, item["asin"]),
    )


def _findings(fit: Fit) -> Iterator[str]:
    """Yield what is missing, each with what to do about it, the most important first."""
    if fit.price_share == 0.0:
        yield f"{fit.price} is above the limit of ${fit.price_limit:.2f}: take another product."
    for option in fit.differing:
        asked = " or ".join(f"click[{value}]" for value in option.asked[:3])
        if option.status == "unsure":
            chosen = f'is "{option.selected}"' if option.selected else "is open"
            yield f"{option.name} {chosen}; nearest to the instruction: {asked}."
        elif option.status == "open":
            yield f"{option.name} is still open: {asked}."
        else:
            yield f'{option.name} is "{option.selected}", which differs from what is asked for: {asked}.'
    if fit.unseen:
        where = f"not opened yet: {', '.join(fit.unread)}" if fit.unread else "description and features were read"
        yield f"Not seen: {_quoted(fit)} ({where})."
    if 0.0 < fit.price_share < 1.0:
        yield f"A part of {fit.price} is above the limit of ${fit.price_limit:.2f}."
    idle = [option.name for option in fit.options if option.status == "unasked" and not option.selected]
    if idle and fit.unseen:
        yield f"Open, and no value of it is named in the instruction: {', '.join(idle)}."


def _quoted(fit: Fit) -> str:
    """Return the words that were not seen, those of a requirement together, at most six of them."""
    texts = [f'"{" ".join(word.text for word in words)}"' for words in fit.unseen]
    return ", ".join([*texts[:6], *([f"{len(texts) - 6} more"] if len(texts) > 6 else [])])

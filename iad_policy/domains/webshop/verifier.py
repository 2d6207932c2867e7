"""The proxy verifier of `IAD/WebShop-v0`: it compares the instruction with the page that an action leads to. No gold.

It extracts content words, option values and a price limit from the instruction, and scores how much of them the
previewed page shows or still allows. It knows neither the goal's attributes nor the wanted product.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from iad_policy.domains.webshop.reading import (
    FACT_PAGES,
    ShopInstruction,
    item_of,
    lines_read,
    page_of,
    price_fits,
    read_instruction,
    unread,
    visited,
    wanted_values,
    words_of,
)
from iad_policy.information import Information
from iad_policy.types import Candidate, State, Verdict

OVER_BUDGET = 0.5
"""Factor for a product whose lowest price is above the limit."""
RESULTS_FACTOR = 0.9
"""Factor for a results page, as its best product still has to be opened and read."""
UNREAD_WEIGHT = 0.5
"""Share of the missing content that is expected on unread sub pages."""
STEPS_TO_LOOK = 3
"""Number of actions needed to open, read and buy another product. With fewer left, unread pages count nothing."""
INVALID = -1.0
STEP = 0.01
"""Bonus for progress, such as a chosen option or the purchase, among pages that fit equally well."""


class WebShopVerifier:
    """Scores a candidate by how much of the instruction the next page shows: 0-1, or -1 for an invalid action."""

    information: Information = "proxy"
    needs_preview = True

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Score each candidate's preview."""
        return [self._verdict(state, candidate) for candidate in candidates]

    def _verdict(self, state: State, candidate: Candidate) -> Verdict:
        preview = candidate.preview
        if preview is None:
            raise ValueError(f"expected a preview of {candidate.action!r}, got none; a driver attaches it")
        instruction = read_instruction(state.info["instruction"])
        if preview.info["invalid_action"]:
            return Verdict(INVALID, preview.info["facts"]["complaint"])
        if page_of(preview)["kind"] == "done":
            return _purchase(state, instruction)
        return _page(preview, instruction)


def _page(preview: State, instruction: ShopInstruction) -> Verdict:
    page = page_of(preview)
    if page["kind"] == "index":
        return Verdict(0.0, "Back on the search page: nothing found yet.")
    if page["kind"] == "results":
        return _results(preview, instruction)
    item = item_of(preview)
    if item is None:
        return Verdict(0.0, "No product is shown.")
    return _item(preview, item, instruction)


def _results(preview: State, instruction: ShopInstruction) -> Verdict:
    seen = visited(preview)
    fits = {
        product["asin"]: _with_unread(_fit(instruction, product["title"], product["price"]), 1.0, preview)
        for product in page_of(preview)["products"]
        if product["asin"] not in seen
    }
    if not fits:
        return Verdict(0.0, "No results that were not looked at already.")
    best = max(fits, key=fits.__getitem__)
    return Verdict(RESULTS_FACTOR * fits[best], f"The most promising product here is {best}.")


def _item(preview: State, item: Mapping[str, Any], instruction: ShopInstruction) -> Verdict:
    named, selected = wanted_values(item["options"], instruction), item["selected"]
    # Open options count as fulfilled, so that only a wrong choice lowers the score.
    chosen = [selected.get(name, value) for name, value in named.items()]
    shown = [item["title"], *lines_read(preview, item["asin"]), *chosen]
    fit = _fit(instruction, " ".join(shown), item["price"])
    unread_share = len(unread(preview, item["asin"])) / len(FACT_PAGES)
    wrong = [name for name, value in selected.items() if named.get(name, value) != value]
    right = [name for name in named if selected.get(name) == named[name]]
    missing = [name for name in named if name not in selected]
    score = _with_unread(fit, unread_share, preview) * (1.0 - len(wrong) / (len(named) + 1)) + STEP * len(right)
    return Verdict(
        score,
        _critique(instruction, " ".join(shown), item["price"], wrong=wrong, missing=missing),
        details={"fit": fit, "options_right": len(right), "options_wrong": len(wrong)},
    )


def _purchase(state: State, instruction: ShopInstruction) -> Verdict:
    item = item_of(state)
    if item is None:
        return Verdict(0.0, "No product page to buy from.")
    named, selected = wanted_values(item["options"], instruction), item["selected"]
    missed = [name for name, value in named.items() if selected.get(name) != value]
    shown = " ".join([item["title"], *lines_read(state, item["asin"]), *selected.values()])
    fit = _fit(instruction, shown, item["price"]) * (1.0 - len(missed) / (len(named) + 1))
    return Verdict(
        fit + STEP * (len(named) - len(missed) + 1),
        _critique(instruction, shown, item["price"], wrong=[], missing=missed),
        passed=not missed,
        details={"fit": fit, "options_missed": len(missed)},
    )


def _fit(instruction: ShopInstruction, shown: str, price: str) -> float:
    """Return the share of the instruction that is shown, reduced if the price is too high."""
    return instruction.coverage(words_of(shown)) * (1.0 if price_fits(price, instruction.price_limit) else OVER_BUDGET)


def _with_unread(fit: float, unread_share: float, preview: State) -> float:
    """Return a fit plus a share for unread pages, if there are enough steps to read them."""
    return fit if preview.steps_left < STEPS_TO_LOOK else fit + UNREAD_WEIGHT * unread_share * (1.0 - fit)


def _critique(
    instruction: ShopInstruction, shown: str, price: str, *, wrong: Sequence[str], missing: Sequence[str]
) -> str:
    shown_words = set(words_of(shown))
    absent = [word for word in instruction.words if word not in shown_words]
    sentences = [f"Not seen here: {', '.join(absent)}." if absent else "All that is asked for is there."]
    if wrong:
        sentences.append(f"Another value is asked for: {', '.join(wrong)}.")
    if missing:
        sentences.append(f"Not chosen yet: {', '.join(missing)}.")
    if not price_fits(price, instruction.price_limit):
        sentences.append(f"{price} is above the limit of {instruction.price_limit:.2f}.")
    return " ".join(sentences)

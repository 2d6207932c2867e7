"""The proxy verifier of `IAD/WebShop-v0`: the instruction against the page that an action leads to. No gold.

It reads what the instruction names (content words, option values, a price limit) and scores how much of that the
previewed page shows or still allows. It knows neither the goal's attributes nor the product that is wanted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from iad_policy.domains.webshop.reading import (
    TELLING_PAGES,
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
"""Factor where the lowest price shown is above the limit."""
LOOKING = 0.9
"""Factor of a results page: its best product still has to be opened and looked at."""
HOPE = 0.5
"""How much of what a page doesn't show is expected on the sub pages that were not read yet."""
STEPS_TO_LOOK = 3
"""Actions it takes to open, read and buy another product: with fewer left there is no hope in looking further."""
INVALID = -1.0
STEP = 0.01
"""Weight of getting on: an option chosen or a purchase made, among pages that fit equally well."""


class WebShopVerifier:
    """Scores a candidate by what the page after it has of the instruction: 0-1, -1 for an invalid action."""

    information: Information = "proxy"
    needs_preview = True

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def verify(self, state: State, candidates: Sequence[Candidate], among: Sequence[Candidate]) -> Sequence[Verdict]:
        """Look at each candidate's preview."""
        return [self._verdict(state, candidate) for candidate in candidates]

    def _verdict(self, state: State, candidate: Candidate) -> Verdict:
        preview = candidate.preview
        if preview is None:
            raise ValueError(f"expected a preview of {candidate.action!r}, got none; a driver attaches it")
        wanted = read_instruction(state.info["instruction"])
        if preview.info["invalid_action"]:
            return Verdict(INVALID, preview.info["facts"]["complaint"])
        if page_of(preview)["kind"] == "done":
            return _purchase(state, wanted)
        return _page(preview, wanted)


def _page(preview: State, wanted: ShopInstruction) -> Verdict:
    page = page_of(preview)
    if page["kind"] == "index":
        return Verdict(0.0, "Back on the search page: nothing found yet.")
    if page["kind"] == "results":
        return _results(preview, wanted)
    item = item_of(preview)
    if item is None:
        return Verdict(0.0, "No product is shown.")
    return _item(preview, item, wanted)


def _results(preview: State, wanted: ShopInstruction) -> Verdict:
    seen = visited(preview)
    fits = {
        product["asin"]: _hoped(_fit(wanted, product["title"], product["price"]), 1.0, preview)
        for product in page_of(preview)["products"]
        if product["asin"] not in seen
    }
    if not fits:
        return Verdict(0.0, "No results that were not looked at already.")
    best = max(fits, key=fits.__getitem__)
    return Verdict(LOOKING * fits[best], f"The most promising product here is {best}.")


def _item(preview: State, item: Mapping[str, Any], wanted: ShopInstruction) -> Verdict:
    named, selected = wanted_values(item["options"], wanted), item["selected"]
    # What is still open counts as fulfilled, so that only a wrong choice lowers the score.
    chosen = [selected.get(name, value) for name, value in named.items()]
    shown = [item["title"], *lines_read(preview, item["asin"]), *chosen]
    fit = _fit(wanted, " ".join(shown), item["price"])
    unread_share = len(unread(preview, item["asin"])) / len(TELLING_PAGES)
    wrong = [name for name, value in selected.items() if named.get(name, value) != value]
    right = [name for name in named if selected.get(name) == named[name]]
    missing = [name for name in named if name not in selected]
    score = _hoped(fit, unread_share, preview) * (1.0 - len(wrong) / (len(named) + 1)) + STEP * len(right)
    return Verdict(
        score,
        _said(wanted, " ".join(shown), item["price"], wrong=wrong, missing=missing),
        details={"fit": fit, "options_right": len(right), "options_wrong": len(wrong)},
    )


def _purchase(state: State, wanted: ShopInstruction) -> Verdict:
    item = item_of(state)
    if item is None:
        return Verdict(0.0, "No product page to buy from.")
    named, selected = wanted_values(item["options"], wanted), item["selected"]
    missed = [name for name, value in named.items() if selected.get(name) != value]
    shown = " ".join([item["title"], *lines_read(state, item["asin"]), *selected.values()])
    fit = _fit(wanted, shown, item["price"]) * (1.0 - len(missed) / (len(named) + 1))
    return Verdict(
        fit + STEP * (len(named) - len(missed) + 1),
        _said(wanted, shown, item["price"], wrong=[], missing=missed),
        passed=not missed,
        details={"fit": fit, "options_missed": len(missed)},
    )


def _fit(wanted: ShopInstruction, shown: str, price: str) -> float:
    """Which share of the instruction is shown, less where the price is too high."""
    return wanted.coverage(words_of(shown)) * (1.0 if price_fits(price, wanted.price_limit) else OVER_BUDGET)


def _hoped(fit: float, unread_share: float, preview: State) -> float:
    """A fit, with hope for what was not read yet, if there is time to read it."""
    return fit if preview.steps_left < STEPS_TO_LOOK else fit + HOPE * unread_share * (1.0 - fit)


def _said(wanted: ShopInstruction, shown: str, price: str, *, wrong: Sequence[str], missing: Sequence[str]) -> str:
    there = set(words_of(shown))
    absent = [word for word in wanted.words if word not in there]
    said = [f"Not seen here: {', '.join(absent)}." if absent else "All that is asked for is there."]
    if wrong:
        said.append(f"Another value is asked for: {', '.join(wrong)}.")
    if missing:
        said.append(f"Not chosen yet: {', '.join(missing)}.")
    if not price_fits(price, wanted.price_limit):
        said.append(f"{price} is above the limit of {wanted.price_limit:.2f}.")
    return " ".join(said)

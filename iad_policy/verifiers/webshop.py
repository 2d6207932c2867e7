"""The proxy verifier of `IAD/WebShop-v0`: the instruction against the page that an action leads to. No gold.

It reads what the instruction names (content words, option values, a price limit) and scores how much of that the
previewed page shows or still allows. It knows neither the goal's attributes nor the product that is wanted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from iad_policy.shopping import (
    Wanted,
    item_of,
    lines_read,
    page_of,
    price_fits,
    read_instruction,
    wanted_values,
    words_of,
)
from iad_policy.types import Candidate, Information, State, Verdict

OVER_BUDGET = 0.5
"""Factor where the lowest price shown is above the limit."""
LOOKING = 0.9
"""Factor of a results page: its best product still has to be opened and looked at."""
INVALID = -1.0
STEP = 0.01
"""Weight of getting on: an option chosen or a purchase made, among pages that fit equally well."""


class InstructionVerifier:
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


def _page(preview: State, wanted: Wanted) -> Verdict:
    page = page_of(preview)
    if page["kind"] == "index":
        return Verdict(0.0, "Back on the search page: nothing found yet.")
    if page["kind"] == "results":
        return _results(page, wanted)
    item = item_of(preview)
    if item is None:
        return Verdict(0.0, "No product is shown.")
    return _item(item, lines_read(preview, item["asin"]), wanted)


def _results(page: Mapping[str, Any], wanted: Wanted) -> Verdict:
    scores = [_product_fit(product["title"], product["price"], wanted) for product in page["products"]]
    if not scores:
        return Verdict(0.0, "No results.")
    best = max(range(len(scores)), key=scores.__getitem__)
    return Verdict(
        LOOKING * scores[best],
        f"The best title here has {scores[best]:.0%} of what is asked: {page['products'][best]['asin']}.",
    )


def _product_fit(title: str, price: str, wanted: Wanted, more: Sequence[str] = ()) -> float:
    words = [*words_of(title), *(word for text in more for word in words_of(text))]
    return wanted.coverage(words) * (1.0 if price_fits(price, wanted.price_limit) else OVER_BUDGET)


def _item(item: Mapping[str, Any], lines: Sequence[str], wanted: Wanted) -> Verdict:
    named = wanted_values(item["options"], wanted)
    selected = item["selected"]
    # What is still open counts as fulfilled, so that only a wrong choice lowers the score.
    chosen = [selected.get(name, value) for name, value in named.items()]
    fit = _product_fit(item["title"], item["price"], wanted, [*lines, *chosen])
    wrong = [name for name, value in selected.items() if named.get(name, value) != value]
    right = [name for name in named if selected.get(name) == named[name]]
    fit *= 1.0 - len(wrong) / (len(named) + 1)
    missing = [name for name in named if name not in selected]
    return Verdict(
        fit + STEP * len(right),
        _said(fit, wrong, missing, item["price"], wanted),
        details={"coverage": fit, "options_right": len(right), "options_wrong": len(wrong)},
    )


def _purchase(state: State, wanted: Wanted) -> Verdict:
    item = item_of(state)
    if item is None:
        return Verdict(0.0, "No product page to buy from.")
    lines = lines_read(state, item["asin"])
    named = wanted_values(item["options"], wanted)
    selected = item["selected"]
    missed = [name for name, value in named.items() if selected.get(name) != value]
    fit = _product_fit(item["title"], item["price"], wanted, [*lines, *selected.values()])
    fit *= 1.0 - len(missed) / (len(named) + 1)
    return Verdict(
        fit + STEP * (len(named) - len(missed) + 1),
        _said(fit, [], missed, item["price"], wanted),
        passed=not missed,
        details={"coverage": fit, "options_missed": len(missed)},
    )


def _said(fit: float, wrong: Sequence[str], missing: Sequence[str], price: str, wanted: Wanted) -> str:
    said = [f"{fit:.0%} of the instruction is there."]
    if wrong:
        said.append(f"Another value is asked for: {', '.join(wrong)}.")
    if missing:
        said.append(f"Not chosen yet: {', '.join(missing)}.")
    if not price_fits(price, wanted.price_limit):
        said.append(f"{price} is above the limit of {wanted.price_limit:.2f}.")
    return " ".join(said)

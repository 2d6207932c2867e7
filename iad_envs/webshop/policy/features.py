"""The shop's pages in numbers: a row of features for each action, for models that read no text.

Features use what every agent may see: the instruction, the page, what it offers, and the number of the step.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iad_envs.webshop.policy.options import wanted_values
from iad_envs.webshop.policy.reading import price_fits, read_instruction, words_of
from iad_policy.types import State

FEATURES = (
    *("search", "search:words"),
    *("open", "open:words", "open:best", "open:dear", "open:place"),
    *("option", "option:named", "option:words", "option:taken"),
    *("buy", "buy:words", "buy:dear", "buy:late", "buy:missing"),
    *("leave", "leave:words", "leave:dear", "leave:late", "< prev", "back to search"),
    *("next >", "description", "features", "reviews"),
)


class ShopFeatures:
    """Features of the shop's actions.

    - `search`: a query, and the share of the instruction's words in it.
    - `open`: a product of the results: the share of the instruction's words in its title, whether it has most of them
      among those below the price limit, whether it is above the limit, and its place.
    - `option`: a value: whether it is the one that the instruction names and not selected yet, the share of its words
      in the instruction, and whether the option has a value already.
    - `buy` and `leave`: the product on the page: words, price, the step, and how many named options are missing.
    """

    names = FEATURES
    identity = f"webshop {len(FEATURES)}"

    def actions(self, state: State) -> list[str]:
        """Return the actions to choose from: those of the page, with some queries for `search[...]`."""
        found: list[str] = []
        for action in state.info["available_actions"]:
            if action == "search[...]":
                # Any text is a valid search. Offered are the first 2, 4 or 6 words of the instruction, and all of them.
                words = read_instruction(state.info["instruction"]).words
                counts = sorted({min(n, len(words)) for n in (2, 4, 6, 99)})
                found += [f"search[{' '.join(words[:n])}]" for n in counts if n]
            else:
                found.append(action)
        return found

    def rows(self, state: State, actions: Sequence[Any]) -> NDArray[np.float64]:
        """Return the features of actions in a state, a row for each: shape (actions, features)."""
        page = _ShopPage(state.info)
        found = (page.features(str(action)) for action in actions)
        rows = [[float(one.get(name, 0.0)) for name in FEATURES] for one in found]
        return np.array(rows).reshape(len(actions), len(FEATURES))


class _ShopPage:
    """What the features of a page's actions share."""

    def __init__(self, info: Mapping[str, Any]) -> None:
        self._wanted = read_instruction(info["instruction"])
        page = info["page"]
        self._kind = page["kind"]
        self._products = {product["asin"].lower(): product for product in page.get("products", ())}
        self._places = {asin: place for place, asin in enumerate(self._products)}
        self._covered = {
            asin: self._wanted.coverage(words_of(product["title"])) for asin, product in self._products.items()
        }
        limit = self._wanted.price_limit
        self._dear = {asin: not price_fits(product["price"], limit) for asin, product in self._products.items()}
        self._best = max((share for asin, share in self._covered.items() if not self._dear[asin]), default=1.0)
        self._options = {value.lower(): name for name, values in page.get("options", {}).items() for value in values}
        self._named = wanted_values(page.get("options", {}), self._wanted)
        self._selected = page.get("selected", {})
        self._buy: dict[str, float] = {"buy": 1.0}
        self._leave: dict[str, float] = {}
        if self._kind == "item":
            fit = {
                "words": self._wanted.coverage(words_of(" ".join([page["title"], *self._named.values()]))),
                "dear": not price_fits(page["price"], limit),
                "late": info["step"] / 15,
            }
            missing = sum(self._selected.get(name) != value for name, value in self._named.items())
            self._buy |= {f"buy:{name}": value for name, value in fit.items()} | {"buy:missing": missing}
            self._leave = {"leave": 1.0, **{f"leave:{name}": value for name, value in fit.items()}}

    def features(self, action: str) -> dict[str, float]:
        """Return the features of an action by name. Those that are not named are 0."""
        verb, _, target = action.partition("[")
        target = target.removesuffix("]").lower()
        if verb == "search":
            share = self._wanted.coverage(target.split()) if self._kind == "index" else 0.0
            return {"search": 1.0, "search:words": share, **self._leave}
        if target in self._products:
            covered, dear = self._covered[target], self._dear[target]
            return {
                "open": 1.0,
                "open:words": covered,
                "open:dear": dear,
                "open:best": covered >= self._best and not dear,
                "open:place": self._places[target] / len(self._products),
            }
        if target in self._options:
            name, words = self._options[target], words_of(target)
            wanted = self._named.get(name, "")
            return {
                "option": 1.0,
                "option:words": sum(word in self._wanted.words for word in words) / max(1, len(words)),
                "option:named": wanted.lower() == target and self._selected.get(name) != wanted,
                "option:taken": name in self._selected,
            }
        if target == "buy now":
            return self._buy
        named = {target: 1.0} if target in FEATURES else {}
        return named | (self._leave if target in ("< prev", "back to search") else {})

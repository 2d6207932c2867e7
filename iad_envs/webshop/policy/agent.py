"""A rule-based agent for `IAD/WebShop-v0`. It is stochastic and reads only the observation, without gold.

It searches with words of the instruction, opens the product whose title contains most of them, clicks the options that
the instruction names, may open a sub page, and buys. The temperature makes it drop words, choose other products and
forget options. Without temperature it is greedy. Given best and worst, it keeps and edits parts of Best's action and
avoids Worst's. It never reads a score.
"""

from collections.abc import Mapping
from random import Random
from typing import Any

from iad_envs.webshop.policy.options import wanted_values
from iad_envs.webshop.policy.reading import (
    ShopInstruction,
    lines_read,
    page_of,
    price_fits,
    read_instruction,
    unread,
    visited,
    words_of,
)
from iad_policy.agents.rule_based import ChoosingAgent
from iad_policy.types import Candidate, Feedback, State


class WebShopAgent(ChoosingAgent):
    """The shop's rule-based agent: it reads pages and draws an action that fits.

    Args:
        env: Not used. The agent reads observations only.
        temperature: Randomness of the choices. 0 is greedy. At 1, the default, about one word in four is dropped from
            a query, and an action's fit determines its probability.
    """

    name = "shopper"
    scale = 0.09

    def choices(self, state: State) -> dict[str, float]:
        """Return the sensible actions on a page, each with its fit. A larger fit is more likely."""
        page, instruction = page_of(state), read_instruction(state.info["instruction"])
        if page["kind"] == "item":
            return _item_choices(page, state, instruction)
        if page["kind"] != "results":
            return {"click[< prev]": 1.0, "click[back to search]": 0.0}
        choices: dict[str, float] = {}
        seen = visited(state)
        for product in page["products"]:
            fit = instruction.coverage(words_of(product["title"]))
            fit -= 0.0 if price_fits(product["price"], instruction.price_limit) else 0.4
            fit -= 0.3 if product["asin"] in seen else 0.0
            choices[f"click[{product['asin'].lower()}]"] = fit
        if page["products"]:
            choices["click[next >]"] = 0.15
        choices["click[back to search]"] = 0.05
        return choices

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return the next action."""
        heat, avoid = self.heat(temperature), set[str]()
        instruction = read_instruction(state.info["instruction"])
        best = None if feedback is None else feedback.best
        if feedback is not None and best is not None:
            avoid = {str(one.action) for one in (best, feedback.worst) if one is not None}
            if str(best.action).startswith("search["):
                return _search(_edited(str(best.action)[len("search[") : -1], instruction, avoid, rng))
        elif page_of(state)["kind"] == "index":
            kept = [word for word in instruction.words if rng.random() >= 0.25 * min(heat, 2.0)]
            return _search(" ".join(kept or instruction.words) or instruction.text.strip())
        choices = {action: fit for action, fit in self.choices(state).items() if action not in avoid}
        if best is not None and not choices:
            return Candidate(best.action, thought="Nothing else to try.")
        action = self._drawn(choices, heat, rng)
        return Candidate(action, thought=f"Of {len(choices)} actions that make sense here I take {action}.")


def _search(query: str) -> Candidate:
    return Candidate(f"search[{query}]", thought=f"I search for {query!r}.")


def _edited(query: str, instruction: ShopInstruction, avoid: set[str], rng: Random) -> str:
    """Return a query one word away from Best's: with one more word of the instruction, or with one word less."""
    words = query.split()
    options = [[*words, word] for word in instruction.words if word not in words]
    options += [[*words[:place], *words[place + 1 :]] for place in range(len(words))]
    new = [" ".join(option) for option in options if option and f"search[{' '.join(option)}]" not in avoid]
    return rng.choice(new) if new else query


def _item_choices(page: Mapping[str, Any], state: State, instruction: ShopInstruction) -> dict[str, float]:
    named, selected = wanted_values(page["options"], instruction), page["selected"]
    lines = lines_read(state, page["asin"])
    known = instruction.coverage(words_of(" ".join([page["title"], *lines, *named.values()])))
    choices = {"click[buy now]": 0.3 + 0.4 * known, "click[< prev]": 0.0}
    to_read = unread(state, page["asin"])
    for kind in to_read:
        choices[f"click[{kind}]"] = 0.2 + 0.4 * (1.0 - known)
    if not to_read and state.steps_left > 4:  # to go back, open another product and buy it
        choices["click[< prev]"] = 0.3 + 0.7 * (1.0 - known)
    if not price_fits(page["price"], instruction.price_limit):
        choices["click[< prev]"] = 0.9

    def share(value: str) -> float:
        words = words_of(value)
        return sum(word in instruction.words for word in words) / len(words) if words else 0.0

    for name, values in page["options"].items():
        if name in selected or not values:
            continue
        nearest = max(values, key=share)
        if name in named:
            choices[f"click[{named[name]}]"] = 0.75
        elif nearest and share(nearest) >= 0.5:
            choices[f"click[{nearest}]"] = 0.55
        else:
            choices[f"click[{values[0]}]"] = 0.1
    return choices

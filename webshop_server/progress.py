"""Progress of an episode, as AgentBoard defines it: P = (S + I + B) / 3.

S is the best reward still possible on any results page shown, I on any product page shown, B the reward of
the purchase. AgentBoard resets its running best inside the loop over a product's option combinations, so
its I counts the last combination unless one has the full reward; mode "agentboard" keeps that, mode
"maximum" is the maximum it means. Progress knows the goal: it belongs in a score, never in an observation.
"""

from typing import Literal, NamedTuple

from webshop_server.goals import Goal
from webshop_server.pages import Page
from webshop_server.reward import PurchaseScorer

Mode = Literal["maximum", "agentboard"]


class Progress(NamedTuple):
    """Best rewards so far (search, item, purchase) and the progress made, all from 0 to 1."""

    search: float = 0.0
    item: float = 0.0
    purchase: float = 0.0
    best: float = 0.0


def advance(progress: Progress, page: Page, goal: Goal, scorer: PurchaseScorer, *, mode: Mode = "maximum") -> Progress:
    """Progress after a page has been shown; the argument is not changed."""
    search, item, purchase, best = progress
    if page.products:
        search = max(search, *(scorer.best(goal, product) for product in page.products))
    elif page.kind == "done" and page.product is not None:
        purchase = max(purchase, scorer.score(goal, page.product, dict(page.selected)).total)
    elif page.product is not None:
        possible = scorer.last_or_full if mode == "agentboard" else scorer.best
        item = max(item, possible(goal, page.product))
    current = search / 3.0 + item / 3.0 + purchase / 3.0
    return Progress(search, item, purchase, max(best, current, purchase))

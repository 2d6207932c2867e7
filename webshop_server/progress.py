"""Progress of an episode, as AgentBoard defines it: P = (S + I + B) / 3.

S is the best reward that any results page seen so far still allows. I is the same for product pages, and B
is the reward of the purchase. AgentBoard resets its running best inside the loop over a product's option
combinations. Its I therefore counts the last combination unless one has the full reward. Mode "agentboard"
keeps that behaviour; mode "maximum" takes the maximum, as intended. Progress uses the goal, so it belongs in
a score and never in an observation.
"""

from typing import Literal, NamedTuple

from webshop_server.goals import Goal
from webshop_server.pages import Page
from webshop_server.reward import PurchaseScorer

Mode = Literal["maximum", "agentboard"]


class Progress(NamedTuple):
    """The best rewards so far (search, item, purchase) and the progress, all from 0 to 1."""

    search: float = 0.0
    item: float = 0.0
    purchase: float = 0.0
    best: float = 0.0


def advance(progress: Progress, page: Page, goal: Goal, scorer: PurchaseScorer, *, mode: Mode = "maximum") -> Progress:
    """Return the progress after a page was shown. The argument is not changed."""
    shown = _worth(page, goal, scorer, mode)
    search, item, purchase = map(max, progress[:3], shown[:3])
    current = search / 3.0 + item / 3.0 + purchase / 3.0
    return Progress(search, item, purchase, max(progress.best, current, purchase))


def _worth(page: Page, goal: Goal, scorer: PurchaseScorer, mode: Mode) -> Progress:
    """Return the best rewards of a page by itself. `best` is 0."""
    if page.products:
        return Progress(search=max([scorer.best(goal, product) for product in page.products]))
    if page.product is None:
        return Progress()
    if page.kind == "done":
        return Progress(purchase=scorer.score(goal, page.product, dict(page.selected)).total)
    possible = scorer.last_or_full if mode == "agentboard" else scorer.best
    return Progress(item=possible(goal, page.product))

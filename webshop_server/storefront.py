"""The interface between shop and environment: tasks, transitions, views and scores."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from webshop_server.engine import Shop, ShopState, ShopStep
from webshop_server.goals import Goals
from webshop_server.pages import RENDERERS, render_text, render_text_rich
from webshop_server.progress import Mode, Progress, advance
from webshop_server.reward import PurchaseScorer

ProgressMode = Mode | Literal["off"]
PROGRESS_MODES = ("maximum", "agentboard", "off")


class ShopTask(NamedTuple):
    """The public part of a task, without gold.

    `weight` is the relative sampling weight.
    """

    task_id: str
    split: str
    difficulty: str
    weight: float
    instruction: str


class ShopView(NamedTuple):
    """The view of a state: observation, clickables, whether a search is valid, and the page as data."""

    observation: str
    clickables: tuple[str, ...]
    takes_search: bool
    page: Mapping[str, Any]


class Assessment(NamedTuple):
    """The gold assessment of a state: progress so far, and after a purchase the reward and its parts."""

    progress: Progress
    reward: float
    parts: Mapping[str, float]


class Storefront:
    """A shop with its goals. Read-only, so any number of episodes and threads may use it.

    Args:
        shop: The engine with pages and transitions.
        goals: The goals of the tasks.
        scorer: Computes rewards.
    """

    def __init__(self, shop: Shop, goals: Goals, scorer: PurchaseScorer) -> None:
        self.shop = shop
        self._goals = goals
        self._scorer = scorer

    @property
    def tasks(self) -> Sequence[ShopTask]:
        """All tasks, in order."""
        return [self.task(goal.goal_id) for goal in self._goals]

    def task(self, task_id: str) -> ShopTask:
        """Return a task.

        Raises:
            KeyError: No such task.
        """
        goal = self._goals.by_id(task_id)
        return ShopTask(goal.goal_id, goal.split, goal.difficulty, goal.weight, goal.instruction)

    def act(self, state: ShopState, action: str) -> ShopStep:
        """Return the state after an action."""
        return self.shop.act(state, action)

    def view(self, state: ShopState, mode: str, score: float | None = None) -> ShopView:
        """Return the view of a state. With a score, the done page is that of the original, which shows the reward."""
        page = self.shop.page(state)
        if score is None or mode == "url":
            observation = RENDERERS[mode](page)
        else:
            observation = (render_text if mode == "text" else render_text_rich)(page, score)
        takes_search = page.kind == "index" or (self.shop.search_anywhere and page.kind != "done")
        return ShopView(observation, page.clickables, takes_search, page.public())

    def assess(self, task_id: str, state: ShopState, before: Progress, mode: ProgressMode) -> Assessment:
        """Return the gold assessment of a state, given the progress before it, which mode "off" leaves as it is."""
        goal = self._goals.by_id(task_id)
        progress = before
        if mode != "off":
            progress = advance(before, self.shop.page(state), goal, self._scorer, mode=mode)
        if state.kind != "done":
            return Assessment(progress, 0.0, {})
        reward = self._scorer.score(goal, *self.shop.purchase(state))
        return Assessment(progress, reward.total, {name: float(part) for name, part in reward.parts().items()})

    def reference(self, task_id: str) -> dict[str, Any]:
        """Return the gold product: `asin`, `options`, `title`."""
        goal = self._goals.by_id(task_id)
        return {"asin": goal.asin, "options": list(goal.option_values), "title": goal.name}

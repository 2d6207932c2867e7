"""Pages of the shop that many sessions see. Each is made once, whoever sees it and for whatever instruction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from iad_envs.core import unusable
from iad_envs.webshop.env import WebShopEnv, actions_of
from webshop_server.engine import ShopState, parse_action
from webshop_server.pages import Page
from webshop_server.progress import NO_PROGRESS, Progress
from webshop_server.storefront import LocalStorefront, ShopTask

PLACE = "\0instruction\0"
"""Stands where the instruction stands. Texts of a shop have no such characters."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedPage:
    """A page without what depends on the session.

    Attributes:
        before, after: The observation around the instruction. `after` is None if it does not show the instruction.
        actions: The available actions.
        kind: Kind of page, as in `Page`.
        keys: The keys of the page as data.
        data: Their values. Those that can be changed are in `lists`. Of an item page, None is in their place.
        lists: What can be changed: products, lines of a tab, or the values of each option of an item page.
        options: Of an item page, the names of the options.
        content: The page itself, None if the shop is on a server.
        clicks: Available clicks: action -> argument. Empty if the shop is on a server.
        worth: By task id, the progress that the page by itself is worth. Pages of one product share it.
    """

    before: str
    after: str | None
    actions: tuple[str, ...]
    kind: str
    keys: tuple[str, ...]
    data: tuple[Any, ...]
    lists: Sequence[Any]
    options: tuple[str, ...]
    content: Page | None
    clicks: dict[str, str]
    worth: dict[str, Progress]

    def values(self) -> tuple[Any, ...]:
        """Return the values of `keys`. Lists are the caller's own."""
        if self.kind == "results":
            return (*self.data, [product.copy() for product in self.lists])
        return (*self.data, list(self.lists)) if len(self.data) < len(self.keys) else self.data


class SharedPages:
    """Makes pages when they are first seen, and caches a limited number.

    Args:
        rules: An environment with the shop's rules. It is never reset.
    """

    def __init__(self, rules: WebShopEnv) -> None:
        self._rules = rules
        self._mode = rules._mode
        # A server is asked for the pages of its own states only.
        self._local = rules.storefront if isinstance(rules.storefront, LocalStorefront) else None
        self._any = lru_cache(maxsize=4096)(self._uncached)
        # Looked up without making a state for it.
        self._results = lru_cache(maxsize=1024)(lambda *place: self._uncached(ShopState(PLACE, "results", *place)))
        self._product = lru_cache(maxsize=4096)(lambda kind, asin: self._uncached(ShopState(PLACE, kind, asin=asin)))
        self._worth_of: Callable[[str], dict[str, Progress]] = lru_cache(maxsize=4096)(lambda asin: {})

    def shown(self, instruction: str) -> str:
        """Return an instruction as pages show it."""
        return instruction.strip() if self._mode == "text" else instruction

    def of(self, state: ShopState) -> SharedPage:
        """Return the page of a state."""
        if self._local is None or not state.instruction.strip():  # pages leave out the line of an empty instruction
            return self._any(state)
        if self._mode != "text":
            return self._any(state._replace(instruction=PLACE))
        if state.kind == "results":
            return self._results(state.query, state.number)
        return self._product(state.kind, state.asin)  # its text shows neither chosen options nor the way there

    def act(self, page: SharedPage, state: ShopState, action: Any) -> tuple[ShopState, str]:
        """Return the state after an action on its page, and "" or the reason why the action is invalid."""
        argument = page.clicks.get(action) if type(action) is str else None
        if argument is not None and self._local is not None:
            return self._local.shop.click(state, argument), ""
        complaint = unusable(action)
        if complaint:
            return state, complaint
        return self._rules.storefront.act(state, action, self._mode)

    def worth(self, page: SharedPage, state: ShopState, task: ShopTask) -> Progress:
        """Return the progress that a page by itself is worth in a task, but for purchases. Adds it to `page.worth`."""
        if len(page.worth) >= 64:
            page.worth.clear()
        mode = self._rules._progress
        if self._local is not None and page.content is not None:
            worth = self._local.worth(task.task_id, page.content, mode)
        else:
            worth = self._rules.storefront.assess(task.task_id, state, NO_PROGRESS, mode).progress
        page.worth[task.task_id] = worth
        return worth

    def _uncached(self, state: ShopState) -> SharedPage:
        content = None if self._local is None else self._local.shop.page(state)
        if self._local is None or content is None:
            view = self._rules.storefront.view(state, self._mode)
        else:
            view = self._local.show(content, self._mode)
        before, place, after = view.observation.partition(PLACE)
        actions = actions_of(view)
        # Of what can be clicked, as far as the shop reads the actions so. After them there may be a search.
        names = [name for name in content.clickables if name != "search"] if content else []
        pairs = zip(actions, names, strict=False)
        clicks = {action: name for action, name in pairs if parse_action(action) == ("click", name)}
        *data, last = view.page.values()
        is_item, has_lists = state.kind == "item", isinstance(last, list)
        options = view.page["options"] if is_item else {}
        return SharedPage(
            before,
            after if place else None,
            actions,
            state.kind,
            tuple(view.page),
            data=(*data[:-1], None, None) if is_item else tuple(data) if has_lists else (*data, last),
            lists=tuple(options.values()) if is_item else last if has_lists else (),
            options=tuple(options),
            content=content,
            clicks=clicks,
            worth=self._worth_of(state.asin) if state.asin else {},
        )

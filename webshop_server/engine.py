"""The shop as a pure state machine: which pages there are and where an action leads.

A `ShopState` is a small value without any goal; `Shop` is read-only after construction and serves any
number of episodes and threads. Transitions, pages and the grammar of actions are those of the original text
environment, except that nothing can be done after a purchase and that a bad action says what is possible.
"""

import random
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from webshop_server.catalog import Catalog, Product
from webshop_server.pages import CACHED_PRODUCTS, SUB_PAGES, Page
from webshop_server.search import SearchEngine

MAX_QUERY_LENGTH = 4096
CACHED_QUERIES = 1024
LISTED_CLICKABLES = 15
QUOTED_LENGTH = 60

_BACK, _PREVIOUS, _NEXT, _BUY = "back to search", "< prev", "next >", "buy now"
_SPECIAL_QUERIES = ("<r>", "<a>", "<c>", "<q>")


class ShopState(NamedTuple):
    """Where a shopper is. Hashable and picklable; two equal states show the same page.

    `kind` is that of the page (see `Page`); `number` is the results page, `options` are chosen (name,
    value) pairs in the order of choice, `visited` the ids of products opened since the index page.
    """

    instruction: str
    kind: str = "index"
    query: str = ""
    number: int = 0
    asin: str = ""
    options: tuple[tuple[str, str], ...] = ()
    visited: tuple[str, ...] = ()


class ShopStep(NamedTuple):
    """The state after an action, and "" or what was wrong with the action (the state is then the same)."""

    state: ShopState
    invalid: str = ""


class Shop:
    """A shop over a catalogue and a search engine.

    Args:
        catalog: the products.
        search: finds products for a query; ids that are not in the catalogue are dropped.
        page_size: products on a results page. AgentBoard has 3.
        max_results: results of a query.
        max_pages: results pages that can be reached; None is no limit, as in the original. AgentBoard: 6.
        show_attributes: item pages have a tab with the product's attributes, an aid the original switches
            off.
        special_queries: queries that start with <r>, <a>, <c> or <q> list products at random, by
            attribute, category or query: an unintended shortcut of the original.
        search_anywhere: searches are taken on every page; False only on the first, as AgentBoard has it.
    """

    def __init__(
        self,
        catalog: Catalog,
        search: SearchEngine,
        *,
        page_size: int = 10,
        max_results: int = 50,
        max_pages: int | None = None,
        show_attributes: bool = False,
        special_queries: bool = False,
        search_anywhere: bool = True,
    ) -> None:
        self.catalog = catalog
        self.search = search
        self.page_size = page_size
        self.max_results = max_results
        self.max_pages = max_pages
        self.show_attributes = show_attributes
        self.special_queries = special_queries
        self.search_anywhere = search_anywhere
        self._results = lru_cache(maxsize=CACHED_QUERIES)(self._results_uncached)
        self._item_clickables = lru_cache(maxsize=CACHED_PRODUCTS)(self._item_clickables_uncached)

    def start(self, instruction: str) -> ShopState:
        """The state of a shopper who has just been given an instruction."""
        return ShopState(instruction)

    def act(self, state: ShopState, action: str) -> ShopStep:
        """Where an action leads; any text is accepted, and a bad one explained."""
        if state.kind == "done":
            return ShopStep(state, "no action is possible: the purchase is made")
        name, argument = parse_action(action)
        if name == "search":
            return self.search_for(state, argument)
        if name == "click":
            clickables = self.clickables(state)
            if argument in clickables and argument != "search":
                return ShopStep(self._click(state, argument))
            return ShopStep(state, self._not_clickable(state, argument))
        return ShopStep(state, f"expected search[words] or click[button], got {_quoted(action)}")

    def page(self, state: ShopState) -> Page:
        """The page a state shows."""
        if state.kind == "results":
            return self._results_page(state)
        product = self.catalog[state.asin] if state.asin else None
        return Page(
            kind=state.kind,
            instruction=state.instruction,
            clickables=self.clickables(state),
            query=state.query,
            number=state.number,
            product=product,
            selected=state.options,
            visited=state.visited,
            has_attributes=self.show_attributes,
        )

    def clickables(self, state: ShopState) -> tuple[str, ...]:
        """What `click[...]` may name here, in the original's order.

        The first page lists "search", as the original does, though clicking it does nothing.
        """
        if state.kind == "results":
            return self._results_page(state).clickables
        if state.kind == "item":
            return self._item_clickables(self.catalog[state.asin])
        if state.kind == "index":
            return ("search",)
        return () if state.kind == "done" else (_BACK, _PREVIOUS)

    def search_for(self, state: ShopState, query: str) -> ShopStep:
        """Where a search leads, for any query, also one that `search[...]` can't spell."""
        if not self.search_anywhere and state.kind != "index":
            return ShopStep(state, "expected a search on the first page only; click[back to search] leads there")
        if len(query) > MAX_QUERY_LENGTH:
            return ShopStep(state, f"expected at most {MAX_QUERY_LENGTH} characters to search, got {len(query)}")
        return ShopStep(ShopState(state.instruction, "results", query, 1, visited=state.visited))

    def links(self, state: ShopState) -> dict[str, ShopState]:
        """Where every clickable of a page leads."""
        return {name: self._click(state, name) for name in self.clickables(state) if name != "search"}

    def purchase(self, state: ShopState) -> tuple[Product, dict[str, str]]:
        """The product bought and its chosen options (name -> value).

        Raises:
            ValueError: nothing has been bought in this state.
        """
        if state.kind != "done":
            raise ValueError(f"expected a state after click[buy now], got one on the {state.kind} page")
        return self.catalog[state.asin], dict(state.options)

    def _click(self, state: ShopState, clickable: str) -> ShopState:
        if clickable == _BACK:
            return ShopState(state.instruction)
        if state.kind == "results":
            return self._click_result(state, clickable)
        if clickable == _PREVIOUS:
            if state.kind == "item":
                return state._replace(kind="results", asin="", options=())
            return state._replace(kind="item")
        if clickable == _BUY:
            return state._replace(kind="done")
        if clickable in SUB_PAGES:
            return state._replace(kind=clickable)
        options = dict(state.options)
        options[_option_name(self.catalog[state.asin], clickable)] = clickable
        return state._replace(options=tuple(options.items()))

    def _click_result(self, state: ShopState, clickable: str) -> ShopState:
        if clickable == _NEXT:
            return state._replace(number=state.number + 1)
        if clickable == _PREVIOUS:
            return state._replace(number=state.number - 1)
        shown = self._results_page(state).products
        asin = next(product.asin for product in shown if product.asin.lower() == clickable)
        visited = state.visited if asin in state.visited else (*state.visited, asin)
        return state._replace(kind="item", asin=asin, visited=visited)

    def _results_page(self, state: ShopState) -> Page:
        results = self._results(state.query)
        first = (state.number - 1) * self.page_size
        products = tuple(map(self.catalog.__getitem__, results[first : first + self.page_size]))
        has_next = self.max_pages is None or state.number < self.max_pages
        buttons = [_BACK] + [_PREVIOUS] * (state.number > 1) + [_NEXT] * has_next
        return Page(
            kind="results",
            instruction=state.instruction,
            clickables=(*buttons, *[product.asin.lower() for product in products]),
            query=state.query,
            number=state.number,
            total=len(results),
            products=products,
            visited=state.visited,
            has_next=has_next,
        )

    def _item_clickables_uncached(self, product: Product) -> tuple[str, ...]:
        attributes = ("attributes",) if self.show_attributes else ()
        buttons = (_BACK, _PREVIOUS, "description", "features", "reviews", *attributes, _BUY)
        values = [value for values in product.options.values() for value in values]
        return tuple(dict.fromkeys((*buttons, *values)))

    def _results_uncached(self, query: str) -> tuple[str, ...]:
        """The ids of the products found: kept for many queries, they must not hold the products."""
        if self.special_queries and query.split(" ")[0] in _SPECIAL_QUERIES:
            return self._special_results(query)
        hits = self.search.search(query, self.max_results)
        return tuple(hit.asin for hit in hits if hit.asin in self.catalog)

    def _special_results(self, query: str) -> tuple[str, ...]:
        kind, _, rest = query.partition(" ")
        if kind == "<r>":
            # Drawn by the query, not anew at each call: a state must show the same page every time.
            products = self.catalog.products
            drawn = random.Random(query).sample(range(len(products)), min(self.max_results, len(products)))
            return tuple(products[position].asin for position in drawn)
        if kind == "<c>":
            return tuple(p.asin for p in self.catalog if p.category == rest.split(" ")[0].strip())
        if kind == "<q>":
            return tuple(p.asin for p in self.catalog if p.query == rest.strip())
        return tuple(p.asin for p in self.catalog if rest.strip() in p.attributes)

    def _not_clickable(self, state: ShopState, argument: str) -> str:
        clickables = [name for name in self.clickables(state) if name != "search"]
        possible = []
        if clickables:
            possible.append(f"you can click: {_listed(clickables)}")
        if self.search_anywhere or state.kind == "index":
            possible.append("search[words]")
        return f"click[{_quoted(argument)}] is not possible here; {' or '.join(possible)}"


def parse_action(action: str) -> tuple[str, str]:
    r"""Name and lower-cased argument of `name[argument]`; both "" for a text that is none.

    As the original's greedy pattern `(.+)\[(.+)\]` from the start of the text, in linear time: the name
    ends at the last possible "[" of the first line, the argument at its last "]", what follows is ignored.
    """
    line = action.partition("\n")[0]
    end = line.rfind("]")
    start = line.rfind("[", 1, max(end - 1, 0))
    return (line[:start], line[start + 1 : end].lower()) if start > 0 else ("", "")


def _option_name(product: Product, value: str) -> str:
    """The option a value belongs to; of several the last, as in the original."""
    return next(name for name in reversed(tuple(product.options)) if value in product.options[name])


def _quoted(text: str) -> str:
    shortened = text if len(text) <= QUOTED_LENGTH else text[:QUOTED_LENGTH] + "..."
    return repr(shortened)


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - LISTED_CLICKABLES
    return ", ".join(names[:LISTED_CLICKABLES]) + (f" and {more} more" if more > 0 else "")

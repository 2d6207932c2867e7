"""The shop as a pure state machine: its pages and its transitions.

A `ShopState` is a small value that knows no goal. `Shop` is read-only after construction and serves any
number of episodes and threads. Transitions, pages and the action grammar are those of the original text
environment, with two exceptions: a purchase ends all transitions, and an invalid action is answered with the
list of valid ones.
"""

import random
from functools import lru_cache
from typing import NamedTuple

from webshop_server.catalog import Catalog, Product
from webshop_server.pages import CACHED_PRODUCTS, SUB_PAGES, Page
from webshop_server.search import SearchEngine

MAX_QUERY_LENGTH = 4096
MAX_RESULTS = 50
"""Maximum number of results of a query."""


class ShopState(NamedTuple):
    """The current position of a shopper. Hashable and picklable; equal states show the same page.

    `kind` is the kind of page (see `Page`) and `number` the number of the results page. `options` holds the
    chosen (name, value) pairs in the order of choice. `visited` holds the ids of the products opened since the
    index page.
    """

    instruction: str
    kind: str = "index"
    query: str = ""
    number: int = 0
    asin: str = ""
    options: tuple[tuple[str, str], ...] = ()
    visited: tuple[str, ...] = ()


class ShopStep(NamedTuple):
    """The state after an action, and "" or the reason why the action is invalid. An invalid action keeps the state."""

    state: ShopState
    invalid: str = ""


class _Listing(NamedTuple):
    """What a results page lists: products by id, clickables, number of results, and whether a next page follows."""

    asins: tuple[str, ...]
    clickables: tuple[str, ...]
    total: int
    has_next: bool


class Shop:
    """A shop with a catalogue and a search engine.

    Args:
        catalog: The products.
        search: Finds products for a query. Ids that are not in the catalogue are dropped.
        page_size: Products per results page. AgentBoard uses 3.
        max_pages: Maximum number of results pages. None means no limit, as in the original. AgentBoard uses 6.
        show_attributes: Whether item pages have a tab with the product's attributes. The original turns this
            aid off.
        special_queries: Whether queries that start with <r>, <a>, <c> or <q> list products at random, by
            attribute, by category or by query. This is an unintended shortcut of the original.
        search_anywhere: Whether a search is valid on every page. If False, only on the first page, as in AgentBoard.
    """

    def __init__(
        self,
        catalog: Catalog,
        search: SearchEngine,
        *,
        page_size: int = 10,
        max_pages: int | None = None,
        show_attributes: bool = False,
        special_queries: bool = False,
        search_anywhere: bool = True,
    ) -> None:
        self.catalog = catalog
        self.search = search
        self.page_size = page_size
        self.max_pages = max_pages
        self.show_attributes = show_attributes
        self.special_queries = special_queries
        self.search_anywhere = search_anywhere
        self._results = lru_cache(maxsize=1024)(self._results_uncached)
        self._listing = lru_cache(maxsize=1024)(self._listing_uncached)
        self._item_clickables = lru_cache(maxsize=CACHED_PRODUCTS)(self._item_clickables_uncached)

    def start(self, instruction: str) -> ShopState:
        """The state of a shopper who has just been given an instruction."""
        return ShopState(instruction)

    def act(self, state: ShopState, action: str) -> ShopStep:
        """The state after an action. Any text is accepted. For an invalid one the reason is returned too."""
        if state.kind == "done":
            return ShopStep(state, "no action is possible: the purchase is made")
        name, argument = parse_action(action)
        if name == "search":
            return self.search_for(state, argument)
        if name == "click":
            clickables = self.clickables(state)
            if argument in clickables and argument != "search":
                return ShopStep(self.click(state, argument))
            names = [name for name in clickables if name != "search"]
            more = f" and {len(names) - 15} more" if len(names) > 15 else ""
            possible = [f"you can click: {', '.join(names[:15])}{more}"] if names else []
            if self.search_anywhere or state.kind == "index":
                possible.append("search[words]")
            return ShopStep(state, f"click[{_quoted(argument)}] is not possible here; {' or '.join(possible)}")
        return ShopStep(state, f"expected search[words] or click[button], got {_quoted(action)}")

    def page(self, state: ShopState) -> Page:
        """The page a state shows."""
        listing = _Listing((), (), 0, False)
        if state.kind == "results":
            listing = self._listing(state.query, state.number)
        return Page(
            kind=state.kind,
            instruction=state.instruction,
            clickables=self.clickables(state),
            query=state.query,
            number=state.number,
            total=listing.total,
            products=tuple(map(self.catalog.__getitem__, listing.asins)),
            product=self.catalog[state.asin] if state.asin else None,
            selected=state.options,
            visited=state.visited,
            has_next=listing.has_next,
            has_attributes=self.show_attributes,
        )

    def clickables(self, state: ShopState) -> tuple[str, ...]:
        """The valid arguments of `click[...]` on this page, in the original's order.

        The first page lists "search", as in the original, although clicking it does nothing.
        """
        if state.kind == "results":
            return self._listing(state.query, state.number).clickables
        if state.kind == "item":
            return self._item_clickables(self.catalog[state.asin])
        if state.kind == "index":
            return ("search",)
        return () if state.kind == "done" else ("back to search", "< prev")

    def search_for(self, state: ShopState, query: str) -> ShopStep:
        """The state after a search. The query may be any text, including one that `search[...]` can't express."""
        if not self.search_anywhere and state.kind != "index":
            return ShopStep(state, "expected a search on the first page only; click[back to search] leads there")
        if len(query) > MAX_QUERY_LENGTH:
            return ShopStep(state, f"expected at most {MAX_QUERY_LENGTH} characters to search, got {len(query)}")
        return ShopStep(ShopState(state.instruction, "results", query, 1, visited=state.visited))

    def links(self, state: ShopState) -> dict[str, ShopState]:
        """The state after each clickable of a page."""
        return {name: self.click(state, name) for name in self.clickables(state) if name != "search"}

    def purchase(self, state: ShopState) -> tuple[Product, dict[str, str]]:
        """The product bought and its chosen options (name -> value).

        Raises:
            ValueError: nothing has been bought in this state.
        """
        if state.kind != "done":
            raise ValueError(f"expected a state after click[buy now], got one on the {state.kind} page")
        return self.catalog[state.asin], dict(state.options)

    def click(self, state: ShopState, clickable: str) -> ShopState:
        """The state after a click on one of the page's clickables but "search", which is not checked again."""
        if clickable == "back to search":
            return ShopState(state.instruction)
        if state.kind == "results" and clickable in ("next >", "< prev"):
            return state._replace(number=state.number + (1 if clickable == "next >" else -1))
        if state.kind == "results":
            asin = next(one for one in self._listing(state.query, state.number).asins if one.lower() == clickable)
            visited = state.visited if asin in state.visited else (*state.visited, asin)
            return ShopState(state.instruction, "item", state.query, state.number, asin, (), visited)
        if clickable == "< prev":
            if state.kind == "item":
                return ShopState(state.instruction, "results", state.query, state.number, "", (), state.visited)
            return state._replace(kind="item")
        if clickable == "buy now":
            return state._replace(kind="done")
        if clickable in SUB_PAGES:
            return state._replace(kind=clickable)
        # A value that several options have belongs to the last one, as in the original.
        *_, name = (name for name, values in self.catalog[state.asin].options.items() if clickable in values)
        return state._replace(options=tuple({**dict(state.options), name: clickable}.items()))

    def _listing_uncached(self, query: str, number: int) -> _Listing:
        results = self._results(query)
        first = (number - 1) * self.page_size
        asins = results[first : first + self.page_size]
        has_next = self.max_pages is None or number < self.max_pages
        buttons = ["back to search"] + ["< prev"] * (number > 1) + ["next >"] * has_next
        return _Listing(asins, (*buttons, *map(str.lower, asins)), len(results), has_next)

    def _item_clickables_uncached(self, product: Product) -> tuple[str, ...]:
        attributes = ("attributes",) if self.show_attributes else ()
        buttons = ("back to search", "< prev", "description", "features", "reviews", *attributes, "buy now")
        values = [value for values in product.options.values() for value in values]
        return tuple(dict.fromkeys((*buttons, *values)))

    def _results_uncached(self, query: str) -> tuple[str, ...]:
        """The ids of the products found. They are cached for many queries, so the products themselves are not kept."""
        kind, _, rest = query.partition(" ")
        if not self.special_queries or kind not in ("<r>", "<a>", "<c>", "<q>"):
            hits = self.search.search(query, MAX_RESULTS)
            return tuple(hit.asin for hit in hits if hit.asin in self.catalog)
        if kind == "<r>":
            # Seeded by the query: a state must show the same page every time.
            products = self.catalog.products
            drawn = random.Random(query).sample(range(len(products)), min(MAX_RESULTS, len(products)))
            return tuple(products[position].asin for position in drawn)
        if kind == "<c>":
            return tuple(p.asin for p in self.catalog if p.category == rest.split(" ")[0].strip())
        if kind == "<q>":
            return tuple(p.asin for p in self.catalog if p.query == rest.strip())
        return tuple(p.asin for p in self.catalog if rest.strip() in p.attributes)


def parse_action(action: str) -> tuple[str, str]:
    r"""Return name and lower-cased argument of `name[argument]`, both "" if the text has another form.

    Same result as the original's greedy pattern `(.+)\[(.+)\]` at the start of the text, but in linear time.
    The name ends at the last possible "[" of the first line and the argument at its last "]". The rest of the
    text is ignored.
    """
    # Nearly all clicks are short.
    return _parsed(action) if len(action) <= 100 else _parsed.__wrapped__(action)


@lru_cache(maxsize=4096)
def _parsed(action: str) -> tuple[str, str]:
    line = action.partition("\n")[0]
    end = line.rfind("]")
    start = line.rfind("[", 1, max(end - 1, 0))
    return (line[:start], line[start + 1 : end].lower()) if start > 0 else ("", "")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "...")

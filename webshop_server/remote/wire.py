"""Message format of the API: converts states, views and scores to JSON and back."""

from collections.abc import Mapping
from typing import Any, NoReturn

from webshop_server.engine import MAX_QUERY_LENGTH, Shop, ShopState
from webshop_server.pages import SUB_PAGES
from webshop_server.progress import Progress
from webshop_server.storefront import Assessment, ShopView

VERSION = 1
"""Version of the API. It is increased when older clients would no longer understand the messages."""


class WireError(ValueError):
    """A message does not have the form of the API. The error text says what was expected."""


def state_to_json(state: ShopState) -> list[Any]:
    """Convert a state to a list of its fields."""
    return [*state[:5], [list(option) for option in state.options], list(state.visited)]


def state_from_json(value: Any) -> ShopState:
    """Convert a list of fields to a state.

    Raises:
        WireError: The value has another form.
    """
    if not isinstance(value, list) or len(value) != len(ShopState._fields):
        _refuse("a state as a list of 7 fields", value)
    instruction, kind, query, number, asin, options, visited = value
    if not all(isinstance(text, str) for text in (instruction, kind, query, asin)):
        _refuse("texts in a state's first fields", value)
    if not isinstance(number, int) or not isinstance(options, list) or not isinstance(visited, list):
        _refuse("a number, a list of options and a list of ids in a state", value)
    pairs = [tuple(option) for option in options if isinstance(option, list) and len(option) == 2]
    texts = [text for pair in pairs for text in pair] + visited
    if len(pairs) < len(options) or not all(isinstance(text, str) for text in texts):
        _refuse("options as pairs of texts and ids as texts", value)
    return ShopState(instruction, kind, query, number, asin, tuple(pairs), tuple(visited))


def require_shown(shop: Shop, state: ShopState) -> None:
    """Check that this shop has a page for a state.

    Raises:
        WireError: The shop has no such page, product or option.
    """
    kinds = ("index", "results", "item", *SUB_PAGES, "done")
    if state.kind not in kinds or len(state.query) > MAX_QUERY_LENGTH or not 0 <= state.number <= 10**12:
        _refuse(f"a kind of page, one of {', '.join(kinds)}, a query and a number", (state.kind, state.number))
    if len(state.instruction) > 1 << 16 or len(state.visited) > 10_000:
        _refuse("a state of an ordinary size", len(state.visited))
    if state.kind in ("index", "results") and not state.asin:
        return
    product = shop.catalog.get(state.asin)
    if product is None:
        _refuse("the id of a product", state.asin)
    for name, value in state.options:
        if value not in product.options.get(name, ()):
            _refuse(f"an option of product {state.asin}", (name, value))


def view_from_json(value: Mapping[str, Any]) -> ShopView:
    """Convert a JSON object to a view."""
    return ShopView(value["observation"], tuple(value["clickables"]), value["takes_search"], value["page"])


def progress_from_json(value: Any) -> Progress:
    """Convert a list of four numbers to progress.

    Raises:
        WireError: The value has another form.
    """
    if not isinstance(value, list) or len(value) != 4 or not all(isinstance(part, int | float) for part in value):
        _refuse("progress as a list of 4 numbers", value)
    return Progress(*map(float, value))


def assessment_from_json(value: Mapping[str, Any]) -> Assessment:
    """Convert a JSON object to an assessment."""
    return Assessment(progress_from_json(value["progress"]), value["reward"], value["parts"])


def _refuse(expected: str, given: object) -> NoReturn:
    raise WireError(f"expected {expected}, got {given!r:.100}; use the client of this version")

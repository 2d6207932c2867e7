"""States, sights and scores as JSON, and back: what the API and its client say to each other."""

from collections.abc import Mapping
from typing import Any, NoReturn

from webshop_server.engine import MAX_QUERY_LENGTH, Shop, ShopState
from webshop_server.pages import SUB_PAGES
from webshop_server.progress import Progress
from webshop_server.storefront import Assessment, ShopView

VERSION = 1
"""Of the API; raised when a client of before would not understand."""
KINDS = ("index", "results", "item", *SUB_PAGES, "done")
MAX_INSTRUCTION_LENGTH = 1 << 16
MAX_PAGE = 10**12
MAX_VISITED = 10_000


class WireError(ValueError):
    """A message that is not of the form of the API; says what was expected."""


def state_to_json(state: ShopState) -> list[Any]:
    """Return a state as a list of its fields."""
    return [*state[:5], [list(option) for option in state.options], list(state.visited)]


def state_from_json(value: Any) -> ShopState:
    """Return the state that a list of fields means.

    Raises:
        WireError: It is none.
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
    """Refuse a state that this shop has no page for.

    Raises:
        WireError: The state's page, product or options are not the shop's.
    """
    if state.kind not in KINDS or len(state.query) > MAX_QUERY_LENGTH or not 0 <= state.number <= MAX_PAGE:
        _refuse(f"a kind of page, one of {', '.join(KINDS)}, a query and a number", (state.kind, state.number))
    if len(state.instruction) > MAX_INSTRUCTION_LENGTH or len(state.visited) > MAX_VISITED:
        _refuse("a state of an ordinary size", len(state.visited))
    if state.kind in ("index", "results"):
        return
    product = shop.catalog.get(state.asin)
    if product is None:
        _refuse("the id of a product", state.asin)
    for name, value in state.options:
        if value not in product.options.get(name, ()):
            _refuse(f"an option of product {state.asin}", (name, value))


def view_to_json(sight: ShopView) -> dict[str, Any]:
    """Return a sight as an object."""
    return dict(sight._asdict())


def view_from_json(value: Mapping[str, Any]) -> ShopView:
    """Return the sight of an object."""
    return ShopView(value["observation"], tuple(value["clickables"]), value["takes_search"], value["page"])


def progress_from_json(value: Any) -> Progress:
    """Return the progress of a list of four numbers.

    Raises:
        WireError: It is none.
    """
    if not isinstance(value, list) or len(value) != 4 or not all(isinstance(part, int | float) for part in value):
        _refuse("progress as a list of 4 numbers", value)
    return Progress(*map(float, value))


def assessment_from_json(value: Mapping[str, Any]) -> Assessment:
    """Return the assessment of an object."""
    return Assessment(progress_from_json(value["progress"]), value["reward"], value["parts"])


def _refuse(expected: str, given: object) -> NoReturn:
    raise WireError(f"expected {expected}, got {given!r:.100}; use the client of this version")

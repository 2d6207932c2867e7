"""Pages of the shop as plain data, and their rendering as observations.

The texts are those of the original text environment: visible strings joined by " [SEP] " (`text`), lines
with marked buttons (`text_rich`) or the URL (`url`). Text that depends on the product alone is rendered
once and cached.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from webshop_server.catalog import Product

SUB_PAGES = ("description", "features", "reviews", "attributes")
SEPARATOR = " [SEP] "
CACHED_PRODUCTS = 16_384


class Page(NamedTuple):
    """The content of one page.

    `kind` is "index", "results", "item", one of `SUB_PAGES` or "done". `products` are the products of a
    results page. `product` is the product of an item page, sub page or done page, and `selected` holds its
    chosen options as (name, value) in the order of choice. `number` is the results page that the shopper is on
    or came from, and `total` the number of results. `visited` holds the ids of the products opened so far.
    Products carry more than a page shows, so agents get `public()` or a rendered text.
    """

    kind: str
    instruction: str
    clickables: tuple[str, ...]
    query: str = ""
    number: int = 0
    total: int = 0
    products: tuple[Product, ...] = ()
    product: Product | None = None
    selected: tuple[tuple[str, str], ...] = ()
    visited: tuple[str, ...] = ()
    has_next: bool = False
    has_attributes: bool = False

    def public(self) -> dict[str, Any]:
        """The page as JSON-serialisable data, with the same content as the observation."""
        if self.kind == "results":
            products = [{"asin": p.asin, "title": p.name, "price": p.price_text} for p in self.products]
            counts = {"query": self.query, "page": self.number, "total": self.total}
            return {"kind": "results", **counts, "products": products}
        if self.product is None or self.kind == "done":
            return {"kind": self.kind}
        if self.kind != "item":
            lines = [line.strip() for line in sub_page_lines(self.kind, self.product)]
            return {"kind": self.kind, "asin": self.product.asin, "lines": lines}
        return {
            "kind": "item",
            "asin": self.product.asin,
            "title": self.product.name,
            "price": self.product.price_text,
            "options": {name: list(values) for name, values in self.product.options.items()},
            "selected": dict(self.selected),
        }


def render_text(page: Page, score: float | None = None) -> str:
    """The visible strings of a page, joined by " [SEP] ".

    Args:
        page: The page.
        score: The reward of the purchase. If given, the done page is that of the original, which shows the reward.
    """
    instruction = page.instruction.strip()
    if page.kind == "index":
        return f"WebShop [SEP] Instruction: [SEP] {instruction} [SEP] Search"
    if page.kind == "done":
        return _joined(_done_lines(page, score))
    head = f"Instruction: [SEP] {instruction} [SEP] Back to Search"
    if page.kind == "results":
        turns = (" [SEP] < Prev" if page.number > 1 else "") + (" [SEP] Next >" if page.has_next else "")
        products = "".join([_result_text(product) for product in page.products])
        return f"{head} [SEP] Page {page.number} (Total results: {page.total}){turns}{products}"
    return head + _product_text(page.kind, _shown_product(page), page.has_attributes)


def render_text_rich(page: Page, score: float | None = None) -> str:
    """The visible strings of a page, one per line. Buttons and clicked values are marked.

    Args:
        page: The page.
        score: The reward of the purchase. If given, the done page is that of the original, which shows the reward.
    """
    if page.kind == "index":
        return _lines(("WebShop", "Instruction: ", page.instruction, _button("Search")))
    if page.kind == "done":
        return _lines(_done_lines(page, score))
    head = _lines(("Instruction:", page.instruction, _button("Back to Search")))
    if page.kind == "results":
        turns = _lines(
            (
                f"Page {page.number} (Total results: {page.total})",
                _button("< Prev") if page.number > 1 else "",
                _button("Next >") if page.has_next else "",
            )
        )
        return head + turns + "".join([_result_rich(p, p.asin in page.visited) for p in page.products])
    product = _shown_product(page)
    if page.kind != "item":
        return head + _lines((_button("< Prev"), *sub_page_lines(page.kind, product)))
    # The original looks for the quoted value anywhere in the address, so a quoted query marks options too.
    address = render_url(page) if page.selected or '"' in page.query else ""
    values = [value for values in product.options.values() for value in values]
    clicked = frozenset(value for value in values if f'"{value}"' in address) if address else frozenset()
    clicked_lines = "".join([f"You have clicked {value}.\n" for value in reversed(values) if value in clicked])
    return clicked_lines + head + _item_rich(product, clicked, page.has_attributes)


def render_url(page: Page, session: str = "shop") -> str:
    """The URL of a page in the form of the original text environment."""
    base, keywords = "http://127.0.0.1:3000", page.query.replace(" ", "+")
    if page.kind == "index":
        return f"{base}/{session}"
    if page.kind == "results":
        return f"{base}/search_results/{session}/{keywords}/{page.number}"
    asin, selected = _shown_product(page).asin, dict(page.selected)
    if page.kind == "done":
        return f"{base}/done/{session}/{asin}/{selected}"
    place = f"{session}/{asin}/{keywords}/{page.number}"
    if page.kind == "item":
        return f"{base}/item_page/{place}/{json.dumps(selected)}"
    return f"{base}/item_sub_page/{place}/{page.kind.capitalize()}/{selected}"


RENDERERS: Mapping[str, Callable[[Page], str]] = {"text": render_text, "text_rich": render_text_rich, "url": render_url}


def _shown_product(page: Page) -> Product:
    if page.product is None:
        raise ValueError(f"expected a {page.kind} page with a product, got none; build pages with Shop.page")
    return page.product


def _nodes(strings: Iterable[str]) -> list[str]:
    """Drop strings that are not visible text: empty strings and lone line breaks."""
    return [string for string in strings if string not in ("", "\n")]


def _joined(strings: Iterable[str]) -> str:
    return SEPARATOR.join([string.strip() for string in _nodes(strings)])


def _lines(strings: Iterable[str]) -> str:
    return "".join([f"{string}\n" for string in _nodes(strings)])


def _button(name: str) -> str:
    return f"[button] {name} [button_]"


def _tabs(has_attributes: bool) -> tuple[str, ...]:
    attributes = ("Attributes",) if has_attributes else ()
    return ("Description", "Features", "Reviews", *attributes, "Buy Now")


def sub_page_lines(kind: str, product: Product) -> tuple[str, ...]:
    """The lines of a sub page. List items start with a blank, as in the original. The reviews page is empty."""
    if kind == "description":
        return (product.description,) if product.description else ()
    if kind == "features":
        return tuple(f" {bullet}" for bullet in product.bullets)
    if kind == "attributes":
        attributes = tuple(f" {attribute}" for attribute in product.attributes)
        return (*attributes, product.category, product.query, product.product_category)
    return ()


@lru_cache(maxsize=CACHED_PRODUCTS)
def _result_text(product: Product) -> str:
    return SEPARATOR + _joined((product.asin, product.name, product.price_text))


@lru_cache(maxsize=CACHED_PRODUCTS)
def _result_rich(product: Product, is_visited: bool) -> str:
    mark = "clicked button" if is_visited else "button"
    return _lines((f"\n[{mark}] {product.asin} [{mark}_]", product.name, product.price_text))


@lru_cache(maxsize=CACHED_PRODUCTS)
def _product_text(kind: str, product: Product, has_attributes: bool) -> str:
    """The text of an item page or sub page after "Back to Search". It does not depend on the chosen options."""
    if kind != "item":
        return SEPARATOR + _joined(("< Prev", *sub_page_lines(kind, product)))
    options = [string for name, values in product.options.items() for string in (name, *values)]
    about = (product.name, f"Price: {product.price_text}", "Rating: N.A.")
    return SEPARATOR + _joined(("< Prev", *options, *about, *_tabs(has_attributes)))


@lru_cache(maxsize=CACHED_PRODUCTS)
def _item_rich(product: Product, clicked: frozenset[str], has_attributes: bool) -> str:
    strings = [_button("< Prev")]
    for name, values in product.options.items():
        strings.append(name)
        for value in filter(None, values):
            mark = "clicked button" if value in clicked else "button"
            strings.append(f"  [{mark}] {value} [{mark}_]")
    about = (product.name, f"Price: {product.price_text}", "Rating: N.A.")
    return _lines((*strings, *about, *map(_button, _tabs(has_attributes))))


def _done_lines(page: Page, score: float | None) -> tuple[str, ...]:
    """The lines of the done page. With a score they are the original's, including hidden and empty fields."""
    thanks = "Thank you for shopping with us!"
    if score is None:
        return (thanks,)
    options = json.dumps(dict(page.selected), sort_keys=True)
    for character in "<>&'":
        options = options.replace(character, f"\\u{ord(character):04x}")
    # fmt: off
    return (
        thanks, "Your code: ", "None", " (Paste it in your MTurk interface.)",
        "Purchased", "asin", _shown_product(page).asin, "options", options, "attrs", "None",
        "category", "None", "query", "None", "product category", "None",
        "Target", "asin", "options", "attrs", "price upper", "instuction text", "category",
        "product category", "query", "Goal ", "None", "Reward",
        "Your score (min 0.0, max 1.0)", str(score), "Reward Details ", "None",
    )
    # fmt: on

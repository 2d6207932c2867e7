"""Converts shop states to URL paths and back.

The routes are those of the original. Free text in a path (queries, options) is escaped twice, so that browsers and
servers never read its slashes, dots or blanks as part of the path.
"""

import json
import re
from typing import NoReturn
from urllib.parse import quote, quote_plus, unquote_plus

from webshop_server.engine import MAX_QUERY_LENGTH, Shop, ShopState
from webshop_server.pages import SUB_PAGES
from webshop_server.site.errors import NoSuchPage


def path_of(session: str, state: ShopState) -> str:
    """Return the URL path of a state in a session."""
    if state.kind == "index":
        return f"/{session}"
    keywords = escaped(state.query)
    if state.kind == "results":
        return f"/search_results/{session}/{keywords}/{state.number}"
    asin, options = quote(state.asin, safe=""), escaped(json.dumps(dict(state.options), separators=(",", ":")))
    if state.kind == "done":
        return f"/done/{session}/{asin}/{options}"
    place = f"{session}/{asin}/{keywords}/{state.number}"
    if state.kind == "item":
        return f"/item_page/{place}/{options}"
    return f"/item_sub_page/{place}/{state.kind.capitalize()}/{options}"


def results_at(shop: Shop, visit: ShopState, keywords: str, page: str) -> ShopState:
    """Return the state of a results page.

    Args:
        shop: The shop.
        visit: The session's state. Its instruction and visited products are kept.
        keywords: The query from the URL, unescaped once.
        page: The page number from the URL, unescaped once.

    Raises:
        NoSuchPage: The page number is not 1 or more, or the query is too long.
    """
    query = unescaped(keywords)
    if not query or len(query) > MAX_QUERY_LENGTH:
        _refuse(f"a query of 1 to {MAX_QUERY_LENGTH} characters", f"{len(query)}", "search with fewer words")
    number, last = int(page) if re.fullmatch(r"[0-9]{1,12}", page) else 0, shop.max_pages
    if number < 1 or (last is not None and number > last):
        expected = "1 or more" if last is None else f"1 to {last}"
        _refuse(f"a results page of {expected}", repr(page[:60]), "go back to the search")
    return ShopState(visit.instruction, "results", query.lower(), number, visited=visit.visited)


def item_at(shop: Shop, visit: ShopState, asin: str, options: str, *, keywords: str, page: str) -> ShopState:
    """Return the state of a product's page. The product is added to the visited ones.

    Raises:
        NoSuchPage: There is no such product, option or results page.
    """
    results = results_at(shop, visit, keywords, page)
    chosen = _options(shop, asin, options)
    visited = results.visited if asin in results.visited else (*results.visited, asin)
    return results._replace(kind="item", asin=asin, options=chosen, visited=visited)


def sub_page_at(shop: Shop, item: ShopState, name: str) -> ShopState:
    """Return the state of a product's tab.

    Raises:
        NoSuchPage: The product has no such tab.
    """
    known = [tab for tab in SUB_PAGES if tab in shop.clickables(item)]
    if name.lower() not in known:
        _refuse(f"a tab, one of {', '.join(known)}", repr(name[:60]), "go back to the product")
    return item._replace(kind=name.lower())


def bought_at(shop: Shop, visit: ShopState, asin: str, options: str) -> ShopState:
    """Return the session's state with this product and these options, ready to be bought.

    Raises:
        NoSuchPage: There is no such product or option.
    """
    return visit._replace(kind="item", asin=asin, options=_options(shop, asin, options))


def escaped(text: str) -> str:
    """Escape any text for a URL path. Words are joined by "+"."""
    once = quote_plus(text, errors="surrogatepass").replace(".", "%2E")
    return quote(once, safe="+")


def unescaped(part: str) -> str:
    """Return the text of a path segment that the server has unescaped once."""
    try:
        return unquote_plus(part, errors="surrogatepass")
    except UnicodeDecodeError:
        return unquote_plus(part, errors="replace")


def _options(shop: Shop, asin: str, text: str) -> tuple[tuple[str, str], ...]:
    product = shop.catalog.get(asin)
    if product is None:
        _refuse("the id of a product", repr(asin[:60]), "search for one")
    try:
        options = json.loads(unescaped(text))
    except (ValueError, RecursionError):
        options = None
    if not isinstance(options, dict):
        _refuse("options as an object of names and values", repr(text[:60]), "open the product again")
    for name, value in options.items():
        if not isinstance(value, str) or value not in product.options.get(name, ()):
            given = f"{name[:60]!r}: {str(value)[:60]!r}"
            _refuse(f"an option of product {asin}", given, "open the product again")
    return tuple(options.items())


def _refuse(expected: str, given: str, fix: str) -> NoReturn:
    raise NoSuchPage(f"expected {expected}, got {given}; {fix}")

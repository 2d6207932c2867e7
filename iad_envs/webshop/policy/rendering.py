"""Puts the shop's pages into words: each product, option and button once, what is selected, and what was read.

All of it is on the agent's page or was on an earlier one. Names in [brackets] are what `click[...]` takes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from iad_envs.webshop.policy.reading import FACT_PAGES
from iad_policy.prompts.rendering import Rendering, Seen, complaint_of, new_parts, page_of
from iad_policy.types import State, Turn
from iad_policy.types.texts import clipped, truncated

TITLE_CHARS = 60
"""Characters of a product's title that the history shows."""
READ_CHARS = 400
"""Characters of a description, or of the features, that the history shows."""
TEXT_MARK = " [SEP] "
"""Stands between the parts of a page in the observation mode `text`. Other modes are shown as they are."""
SEARCH = "search[words]"
NO_PRODUCTS = "none on this page"
NO_TEXT = "(no text)"
GO_BACK = "click[< prev]"
"""It leads to a page that was seen before."""


class ShopRendering(Rendering):
    """The words for `IAD/WebShop-v0` and its variants."""

    task_label: ClassVar[str] = "Instruction"
    last_action: ClassVar[str] = "click[buy now]"

    def page(self, seen: Seen) -> str:
        """Return the page with what can be clicked in brackets."""
        if not _is_text_mode(seen):
            return super().page(seen)
        page = page_of(seen)
        offered = _offered(seen.info.get("available_actions", ()))
        if page["kind"] == "results":
            return _results(page, offered)
        if page["kind"] == "item":
            return _item(page, offered, _opened(seen, page["asin"]))
        if page["kind"] == "done":
            return _purchase(seen)
        if page["kind"] == "index":
            return _joined(["The search page.", _buttons(offered)])
        head = f"{page['kind'].capitalize()} of {page['asin'].lower()}:"
        return _joined([head, *(page["lines"] or [NO_TEXT]), _buttons(offered)])

    def result(self, before: Seen, action: Any, after: Seen) -> str:
        """Return what the next page said: ids and prices, a title and price, a choice, or what a tab said."""
        page, earlier = page_of(after), page_of(before)
        complaint = complaint_of(after)
        if complaint or not page:
            return complaint or super().result(before, action, after)
        if page["kind"] == "results":
            head = f"page {page['page']}, {page['total']} results"
            if str(action).lower() == GO_BACK:
                return head
            found = ", ".join(f"{one['asin'].lower()} {one['price']}" for one in page["products"])
            return f"{head}: {found or NO_PRODUCTS}"
        if page["kind"] != "item":
            return clipped("; ".join(page["lines"]) or NO_TEXT, READ_CHARS) if "lines" in page else ""
        if earlier.get("asin") != page["asin"]:
            return f"{page['price']} {clipped(page['title'], TITLE_CHARS)}"
        old = earlier.get("selected", page["selected"])
        chosen = {name: value for name, value in page["selected"].items() if old.get(name) != value}
        if chosen:
            return f"selected {_pairs(chosen)}"
        return "nothing changed" if earlier["kind"] == "item" else "back on the product's page"

    def outcome(self, preview: State) -> str:
        """Return the page that an action leads to. Of a product's page that stays, only the selection."""
        page, before = page_of(preview), page_of(preview.history[-1]) if preview.history else {}
        same = page.get("kind") == before.get("kind") == "item" and page["asin"] == before["asin"]
        if same and not preview.info.get("invalid_action"):
            return f"The same product's page. {_selection(page)}"
        return super().outcome(preview)

    def actions(self, state: State) -> str:
        """Return "" where the page shows what can be done."""
        return "" if _is_text_mode(state) else super().actions(state)

    def facts(self, seen: Seen) -> str:
        """Return why the last action was not valid."""
        return complaint_of(seen)

    def changes(self, before: Turn | None, after: State) -> list[str]:
        """Return what is selected, if that is new."""
        selected = page_of(after).get("selected", {})
        is_new = selected and (before is None or selected != page_of(before).get("selected"))
        return [f"Selected: {_pairs(selected)}"] if is_new else []

    def news(self, before: Turn | None, after: State, n_tokens: int) -> str:
        """Return the new parts of a page, which are lines or stand between marks."""
        parts = new_parts(before, after, rf"\n|{re.escape(TEXT_MARK)}")
        return truncated((" | " if TEXT_MARK in str(after.observation) else "\n").join(parts), n_tokens)

    def beginning(self, first: Turn) -> list[str]:
        """Return nothing: every episode begins on the search page."""
        return [] if page_of(first) else super().beginning(first)


def _is_text_mode(seen: Seen) -> bool:
    page, observation = page_of(seen), seen.observation
    return bool(page) and isinstance(observation, str) and (TEXT_MARK in observation or page["kind"] == "done")


def _offered(actions: Iterable[Any]) -> list[str]:
    """Return the names of what can be clicked, and `search[words]` where a search is possible."""
    names = [str(action) for action in actions]
    clicks = [name[len("click") :] for name in names if name.startswith("click[")]
    return [*clicks, SEARCH] if any(name.startswith("search[") for name in names) else clicks


def _buttons(names: Sequence[str]) -> str:
    return " ".join(names)


def _results(page: Mapping[str, Any], offered: Sequence[str]) -> str:
    products = {f"[{one['asin'].lower()}]": f"{one['price']} {one['title']}" for one in page["products"]}
    lines = [f"{name} {about}" for name, about in products.items()]
    head = f"Page {page['page']} of {page['total']} results:"
    return _joined([head, *(lines or [NO_PRODUCTS]), _buttons([name for name in offered if name not in products])])


def _item(page: Mapping[str, Any], offered: Sequence[str], opened: Sequence[str]) -> str:
    options = {name: [f"[{value}]" for value in values] for name, values in page["options"].items()}
    values = {value for of_option in options.values() for value in of_option}
    lines = [f"{name}: {' '.join(of_option)}" for name, of_option in options.items()]
    unread = [kind for kind in FACT_PAGES if f"[{kind}]" in offered and kind not in opened]
    return _joined(
        [
            f"Product {page['asin'].lower()}, {page['price']}: {page['title']}",
            *lines,
            _selection(page) if options else "",
            f"Not read: {', '.join(unread)}." if unread else "",
            _buttons([name for name in offered if name not in values]),
        ]
    )


def _selection(page: Mapping[str, Any]) -> str:
    still_open = ", ".join(name for name in page["options"] if name not in page["selected"])
    return f"Selected: {_pairs(page['selected']) or 'nothing'}{'; still open: ' if still_open else ''}{still_open}."


def _purchase(seen: Seen) -> str:
    """Return what was bought. The page after the purchase doesn't say, but the one before it does."""
    history = seen.history if isinstance(seen, State) else ()
    item = page_of(history[-1]) if history else {}
    if item.get("kind") != "item":
        return "The purchase is made."
    selection = f"\n{_selection(item)}" if item["options"] else ""
    return f"Bought: product {item['asin'].lower()}, {item['price']}: {item['title']}{selection}"


def _opened(seen: Seen, asin: str) -> list[str]:
    """Return the pages about a product that were opened so far."""
    history = seen.history if isinstance(seen, State) else ()
    pages = [page_of(turn) for turn in history]
    return [page["kind"] for page in pages if page.get("asin") == asin and "lines" in page]


def _pairs(selected: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in selected.items())


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(line for line in lines if line)

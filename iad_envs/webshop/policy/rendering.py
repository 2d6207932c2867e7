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

TEXT_MARK = " [SEP] "
"""Stands between the parts of a page in the observation mode `text`. Other modes are shown as they are."""


class ShopRendering(Rendering):
    """The words for `IAD/WebShop-v0` and its variants."""

    task_label: ClassVar[str] = "Instruction"
    last_action: ClassVar[str] = "click[buy now]"

    def page(self, seen: Seen) -> str:
        """Return the page with what can be clicked in brackets."""
        if not _is_text_mode(seen):
            return super().page(seen)
        page, actions = page_of(seen), [str(action) for action in seen.info.get("available_actions", ())]
        offered = [name.removeprefix("click") for name in actions if name.startswith("click[")]
        if any(name.startswith("search[") for name in actions):
            offered.append("search[words]")
        if page["kind"] == "results":
            products = {f"[{one['asin'].lower()}]": f"{one['price']} {one['title']}" for one in page["products"]}
            lines = [f"{name} {about}" for name, about in products.items()] or ["none on this page"]
            head = f"Page {page['page']} of {page['total']} results:"
            return _joined([head, *lines, " ".join(name for name in offered if name not in products)])
        if page["kind"] == "item":
            return _item(seen, page, offered)
        if page["kind"] == "done":
            # This page doesn't say what was bought, but the one before it does.
            history = seen.history if isinstance(seen, State) else ()
            item = page_of(history[-1]) if history else {}
            if item.get("kind") != "item":
                return "The purchase is made."
            bought = f"Bought: product {item['asin'].lower()}, {item['price']}: {item['title']}"
            return _joined([bought, _selection(item) if item["options"] else ""])
        if page["kind"] == "index":
            return _joined(["The search page.", " ".join(offered)])
        head = f"{page['kind'].capitalize()} of {page['asin'].lower()}:"
        return _joined([head, *(page["lines"] or ["(no text)"]), " ".join(offered)])

    def result(self, before: Seen, action: Any, after: Seen) -> str:
        """Return what the next page said: ids and prices, a title and price, a choice, or what a tab said."""
        page, earlier = page_of(after), page_of(before)
        complaint = complaint_of(after)
        if complaint or not page:
            return complaint or super().result(before, action, after)
        if page["kind"] == "results":
            head = f"page {page['page']}, {page['total']} results"
            if str(action).lower() == "click[< prev]":
                return head  # a page that was seen before
            found = ", ".join(f"{one['asin'].lower()} {one['price']}" for one in page["products"])
            return f"{head}: {found or 'none on this page'}"
        if page["kind"] != "item":
            return clipped("; ".join(page["lines"]) or "(no text)", 400) if "lines" in page else ""
        if earlier.get("asin") != page["asin"]:
            return f"{page['price']} {clipped(page['title'], 60)}"
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


def _item(seen: Seen, page: Mapping[str, Any], offered: Sequence[str]) -> str:
    options = {name: [f"[{value}]" for value in values] for name, values in page["options"].items()}
    values = {value for of_option in options.values() for value in of_option}
    earlier = [page_of(turn) for turn in seen.history] if isinstance(seen, State) else []
    opened = {one["kind"] for one in earlier if one.get("asin") == page["asin"] and "lines" in one}
    unread = [kind for kind in FACT_PAGES if f"[{kind}]" in offered and kind not in opened]
    return _joined(
        [
            f"Product {page['asin'].lower()}, {page['price']}: {page['title']}",
            *(f"{name}: {' '.join(of_option)}" for name, of_option in options.items()),
            _selection(page) if options else "",
            f"Not read: {', '.join(unread)}." if unread else "",
            " ".join(name for name in offered if name not in values),
        ]
    )


def _selection(page: Mapping[str, Any]) -> str:
    still_open = ", ".join(name for name in page["options"] if name not in page["selected"])
    return f"Selected: {_pairs(page['selected']) or 'nothing'}{'; still open: ' if still_open else ''}{still_open}."


def _pairs(selected: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in selected.items())


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(line for line in lines if line)

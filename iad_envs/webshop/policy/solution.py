"""The right action in a state, from the oracle's reference."""

from collections.abc import Mapping
from typing import Any

from iad_policy.types import State


def purchase(state: State, reference: Mapping[str, Any]) -> str:
    """Search for the title, turn pages, open the product, choose its options, and buy."""
    page, clickable = state.info["page"], state.info["available_actions"]
    open_product = f"click[{reference['asin'].lower()}]"
    if page["kind"] == "item" and page["asin"].lower() == reference["asin"].lower():
        chosen = {str(value).lower() for value in page["selected"].values()}
        missing = [value for value in reference["options"] if value.lower() not in chosen]
        return f"click[{missing[0]}]" if missing else "click[buy now]"
    if open_product in clickable:
        return open_product
    if page["kind"] == "results" and page["query"].lower().split() == _words(reference["title"]).lower().split():
        return "click[next >]"
    return f"search[{_words(reference['title'])}]"


def _words(title: str) -> str:
    """Return a title as a query. Brackets would end the action early."""
    return title.translate({ord("["): " ", ord("]"): " "})

"""The right action in a state, from the oracle's reference."""

from collections.abc import Mapping
from typing import Any

from iad_policy.types import State


def purchase(state: State, reference: Mapping[str, Any]) -> str:
    """Search for the title, turn pages, open the product, choose its options, and buy."""
    page = state.info["page"]
    if page["kind"] == "item" and page["asin"].lower() == reference["asin"].lower():
        chosen = {str(value).lower() for value in page["selected"].values()}
        missing = [value for value in reference["options"] if value.lower() not in chosen]
        return f"click[{missing[0]}]" if missing else "click[buy now]"
    open_product = f"click[{reference['asin'].lower()}]"
    if open_product in state.info["available_actions"]:
        return open_product
    title = reference["title"].replace("[", " ").replace("]", " ")  # brackets would end the action early
    if page["kind"] == "results" and page["query"].lower().split() == title.lower().split():
        return "click[next >]"
    return f"search[{title}]"

"""States of a shop that tests write by hand."""

from typing import Any

from iad_policy.types import PublicInfo, State, Turn

GOLD = frozenset({"progress", "success", "reward_parts"})
INSTRUCTION = "i need a waterproof women's hiking boot in forest green, size 8.5, and price lower than 60.00 dollars"
ITEM: dict[str, Any] = {
    "kind": "item", "asin": "B0A", "title": "Fernwalk Hiking Boot for Women", "price": "$49.99",
    "options": {"color": ["sand", "forest green"], "size": ["8", "8.5"]}, "selected": {},
}  # fmt: skip
RIGHT = {"color": "forest green", "size": "8.5"}


def tab(kind: str, *lines: str, asin: str = "B0A") -> dict[str, Any]:
    return {"kind": kind, "asin": asin, "lines": list(lines)}


def results(*titles: str, price: str = "$9.00") -> dict[str, Any]:
    """A results page with products B0R0, B0R1, and so on."""
    products = [{"asin": f"B0R{place}", "title": title, "price": price} for place, title in enumerate(titles)]
    return {"kind": "results", "products": products}


def state(page: dict[str, Any], instruction: str = INSTRUCTION, **others: Any) -> State:
    return State("", PublicInfo(_info(page, instruction), GOLD), **{"steps_left": 10, **others})


def after(pages: list[dict[str, Any]], page: dict[str, Any], instruction: str = INSTRUCTION, **others: Any) -> State:
    return state(page, instruction, history=tuple(Turn("", "", _info(one, instruction)) for one in pages), **others)


def _info(page: dict[str, Any], instruction: str) -> dict[str, Any]:
    return {"instruction": instruction, "page": page, "invalid_action": False, "facts": {"complaint": ""}}

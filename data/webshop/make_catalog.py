"""Writes the bundled WebShop data; the same bytes every time.

`python data/webshop/make_catalog.py` writes beside itself, `--output DIR` elsewhere, `--check` compares
and exits with 1 where a file differs. Sizes and difficulty are set in tuning.py, words in vocabulary/.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tuning
from drawing import Draw
from families import Product, capitalised, make_products
from shoppers import Goal, make_goals

HERE = Path(__file__).resolve().parent


def official_options(product: Product, draw: Draw) -> dict[str, Any] | str:
    """Options as the official file has them; half of the products write their values in title case."""
    raised = draw.chance(0.5)
    return {
        name: values and [{"value": capitalised(value) if raised else value, "image": None} for value in values]
        for name, values in product.options.items()
    } or ""


def official_product(product: Product) -> dict[str, Any]:
    """One record of items_shuffle_1000.json."""
    draw = Draw(tuning.SEED, "record", product.asin)
    return {
        "asin": product.asin,
        "name": product.title,
        "category": product.kind.category,
        "query": product.kind.query,
        "page": draw.integer((1, 40)),
        "product_category": product.kind.path,
        "pricing": " to ".join(f"${price:.2f}" for price in product.prices),
        "average_rating": "",
        "images": [],
        "full_description": product.description,
        "small_description": product.bullets,
        "customization_options": official_options(product, draw),
    }


def attributes_entry(product: Product) -> dict[str, Any]:
    """One entry of items_ins_v2_1000.json; some have an instruction for synthetic goals."""
    draw = Draw(tuning.SEED, "instruction", product.asin)
    entry: dict[str, Any] = {"attributes": [a.name for a in product.listed]}
    readable = [a for a, place in product.places.items() if place != "list"]
    if readable and draw.chance(tuning.INSTRUCTION_SHARE):
        wanted = sorted(draw.some(readable, draw.integer((1, 3))), key=lambda a: not a.is_adjective)
        adjectives = ", ".join(a.name for a in wanted if a.is_adjective)
        has = ", ".join(a.name for a in wanted if not a.is_adjective)
        text = f"Find me {adjectives} {product.kind.query}".replace("  ", " ")
        entry["instruction"] = text + (f" with {has}" if has else "")
        entry["instruction_attributes"] = [a.name for a in wanted]
    return entry


def clicked(value: str) -> str:
    """An option value as the shop shows it."""
    return value.strip().replace("/", " | ").lower()


def human_entry(goal: Goal) -> dict[str, Any]:
    """One annotation of items_human_ins.json."""
    return {
        "asin": goal.need.product.asin,
        "instruction": goal.wish,
        "attributes": [a.name for a in goal.need.product.listed],
        "options": [f"{name}: {clicked(value)}" for name, value in goal.need.options.items()],
        "instruction_attributes": [a.name for a in goal.need.attributes],
        "instruction_options": [clicked(value) for value in goal.need.options.values()],
        "assignment_id": goal.goal_id,
        "worker_id": "",
    }


def goal_line(goal: Goal) -> dict[str, Any]:
    """One line of goals.jsonl."""
    return {
        "goal_id": goal.goal_id,
        "split": goal.split,
        "difficulty": goal.difficulty,
        "asin": goal.need.product.asin,
        "instruction": goal.instruction,
        "attributes": [a.name for a in goal.need.attributes],
        "options": {name: clicked(value) for name, value in goal.need.options.items()},
        "price_upper": goal.need.price_upper,
        "weight": 1.0,
    }


def compact(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@cache
def make_files() -> dict[str, str]:
    """File name -> content."""
    products = make_products()
    goals = make_goals(products)
    annotations = defaultdict(list)
    for goal in goals:
        annotations[goal.need.product.asin].append(human_entry(goal))
    return {
        "items_shuffle_1000.json": "[" + ",\n".join(compact(official_product(p)) for p in products) + "]\n",
        "items_ins_v2_1000.json": compact({p.asin: attributes_entry(p) for p in products}) + "\n",
        "items_human_ins.json": compact(annotations) + "\n",
        "goals.jsonl": "".join(compact(goal_line(goal)) + "\n" for goal in goals),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare the files; the exit status is 1 if a compared file differs."""
    parser = argparse.ArgumentParser(description="Write the bundled WebShop data.")
    parser.add_argument("--output", type=Path, default=HERE, help="folder to write to or compare with")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    differing = []
    for name, text in make_files().items():
        path, content = options.output / name, text.encode("utf-8")
        if not options.check:
            path.write_bytes(content)
        elif not path.exists() or path.read_bytes() != content:
            differing.append(name)
    if differing:
        print(f"differs from what the script makes: {', '.join(differing)}; run it without --check")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

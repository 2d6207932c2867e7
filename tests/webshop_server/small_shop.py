"""A small shop in the official file formats, and a search engine that counts shared words."""

import json
from pathlib import Path
from typing import Any

from webshop_server.catalog import Catalog, index_text
from webshop_server.search import Hit


def record(asin: str, name: str, **fields: Any) -> dict[str, Any]:
    """A product in the official format; `fields` replace or add keys."""
    return {
        "asin": asin, "name": name, "category": "fashion", "query": " Walking Shoes ",
        "product_category": "Clothing › Women › Shoes", "full_description": "Made for the park.",
        "small_description": ["Memory foam insole ", "Machine wash "], "pricing": "$39.99",
        "images": ["https://example.org/shoe.jpg"], "customization_options": "", **fields,
    }  # fmt: skip


SHOE_OPTIONS = {
    "Color": [{"value": " Navy Blue ", "image": "https://example.org/blue.jpg"}, {"value": "Black/White"}],
    "size": [{"value": "8"}, {"value": "9"}],
    "style": None,
}
RECORDS = [
    record("B000SHOE01", "Acme Women Canvas Sneakers", customization_options=SHOE_OPTIONS),
    record("B000SHOE02", "Zenith Women Leather Sneakers", pricing="$20.00 to $30.00"),
    record("B000VASE01", "Ceramic Flower Vase", category="garden", query="vases", pricing=""),
    *(record(f"B000SOCK{number:02}", f"Wool Socks Pair {number}", query="socks") for number in range(20)),
]
SOLE = ["rubber sole"]
ANNOTATIONS = {
    "B000SHOE01": {
        "attributes": [*SOLE, "arch support"], "instruction": "Find me walking shoes with rubber sole",
        "instruction_attributes": SOLE,
    },
    "B000SHOE02": {"attributes": ["rubber soles"]},
    "B000VASE01": {
        "attributes": ["hand made"], "instruction": "Find me a vase", "instruction_attributes": ["hand made"],
    },
}  # fmt: skip
HUMAN = {
    "B000SHOE01": [
        {"instruction": "i need navy shoes.", "instruction_attributes": SOLE, "instruction_options": ["navy"]},
        {"instruction": "skipped", "instruction_attributes": [], "instruction_options": []},
    ]
}


class SharedWords:
    name = "shared words"

    def __init__(self, catalog: Catalog) -> None:
        self._words = {product.asin: set(index_text(product).split()) for product in catalog}

    def search(self, query: str, k: int = 50) -> list[Hit]:
        wanted = set(query.split())
        hits = [Hit(asin, float(len(wanted & words))) for asin, words in self._words.items()]
        found = [hit for hit in hits if hit.score > 0]
        return sorted(found, key=lambda hit: (-hit.score, hit.asin))[:k]


def write_folder(folder: Path, records: Any = RECORDS, annotations: Any = ANNOTATIONS) -> Path:
    contents = {"items_shuffle_1000": records, "items_ins_v2_1000": annotations, "items_human_ins": HUMAN}
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder

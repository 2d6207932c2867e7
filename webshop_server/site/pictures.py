"""Draws pictures of products from their words. Nothing is downloaded, and pictures are deterministic.

`drawings.json` holds the shapes on a canvas of 240 x 240. MAIN, DARK and LIGHT are placeholders for colours.
"""

import json
import re
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from webshop_server.catalog import Product


@lru_cache(maxsize=4096)
def picture(product: Product, colour: str = "") -> str:
    """Return an SVG of a product.

    Args:
        product: The product to draw.
        colour: A text that may name a colour, for example a chosen option. If it names none, the title is used.
    """
    drawings = _drawings()
    number = int.from_bytes(blake2b(product.asin.encode(), digest_size=4).digest())
    own, tints = drawings["own_colours"], drawings["tints"]
    main = _named(colour) or _named(product.name) or drawings["colours"][own[number % len(own)]]
    tint, turn = tints[number // len(own) % len(tints)], (-4, 0, 0, 4)[number // 97 % 4]
    shape: str = drawings["shapes"][shape_of(product)]
    dark, light = _mixed(main, "#14161a", 0.38), _mixed(main, "#ffffff", 0.55)
    body = shape.replace("MAIN", main).replace("DARK", dark).replace("LIGHT", light)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 240" width="480" height="480">'
        f'<rect width="240" height="240" fill="{tint}"/>'
        '<ellipse cx="120" cy="208" rx="82" ry="10" fill="#000" opacity=".1"/>'
        f'<g fill="none" transform="rotate({turn} 120 120)">{body}</g></svg>'
    )


def shape_of(product: Product) -> str:
    """Return the name of the shape that fits a product's search words, else its title, else its category."""
    drawings = _drawings()
    for text in (product.query, product.name.lower()):
        for words, shape in drawings["words"]:
            if re.search(rf"\b(?:{words})", text):
                return str(shape)
    return str(drawings["categories"].get(product.category, "box"))


@lru_cache(maxsize=1)
def _drawings() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path(__file__).with_name("drawings.json").read_text(encoding="utf-8"))
    return read


def _named(text: str) -> str:
    """Return the first colour named in a text."""
    colours: dict[str, str] = _drawings()["colours"]
    return next((colours[word] for word in re.findall(r"[a-z]+", text.lower()) if word in colours), "")


def _mixed(colour: str, other: str, share: float) -> str:
    channels = [(int(colour[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(mine + (theirs - mine) * share):02x}" for mine, theirs in channels)

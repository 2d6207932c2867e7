"""Draws a picture of each restaurant: a plate of its cuisine. Nothing is downloaded, and pictures are deterministic.

`dishes.json` holds the shapes on a plate around the middle of a canvas of 240 x 180. MAIN, DARK and LIGHT are
placeholders for the restaurant's colours.
"""

import json
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from iad_envs.booking.world import Restaurant


@lru_cache(maxsize=1024)
def picture(restaurant: Restaurant) -> str:
    """Return an SVG of a restaurant."""
    drawings = _drawings()
    number = int.from_bytes(blake2b(restaurant.slug.encode(), digest_size=4).digest())
    main, dark, light = drawings["colours"][number % len(drawings["colours"])]
    shape = drawings["dishes"].get(restaurant.cuisine, drawings["dishes"][""])
    turn = (-14, -6, 0, 6, 14)[number // 97 % 5]
    shift = 20 * (number // 11 % 5)
    body = shape.replace("MAIN", main).replace("DARK", dark).replace("LIGHT", light)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 180" width="480" height="360">'
        f'<rect width="240" height="180" fill="{main}"/>'
        f'<g fill="{dark}" opacity=".22"><circle cx="{20 + shift}" cy="12" r="58"/><circle cx="214" cy="{176 - shift}"'
        ' r="46"/></g>'
        f'<g stroke="{light}" stroke-width="5" stroke-linecap="round" fill="none" opacity=".85">'
        '<path d="M30 58v64M24 58v16q6 8 12 0V58M210 122V58q-10 8-8 34h8"/></g>'
        '<ellipse cx="120" cy="96" rx="72" ry="72" fill="#000" opacity=".16"/>'
        '<circle cx="120" cy="90" r="72" fill="#fdfcf9"/><circle cx="120" cy="90" r="56" fill="#efece4"/>'
        f'<g fill="none" transform="rotate({turn} 120 90)">{body}</g></svg>'
    )


@lru_cache(maxsize=1)
def _drawings() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path(__file__).with_name("dishes.json").read_text(encoding="utf-8"))
    return read

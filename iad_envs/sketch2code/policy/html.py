"""Converts between placed blocks and HTML with absolute positions."""

import re
from collections.abc import Sequence
from html import escape

from iad_envs.sketch2code.policy.pictures import PAGE_WIDTH_PX
from iad_envs.sketch2code.policy.reading import SketchReading
from iad_envs.sketch2code.policy.strokes import StrokeBlock

TAGS = {
    "text_block": "p",
    "image": "img",
    "form_table": "form",
    "button": "button",
    "nav_bar": "nav",
    "divider": "hr",
}
"""Kind of block -> HTML tag."""


def written(reading: SketchReading, title: str) -> str:
    """Return blocks as an HTML page, frames and pictures first."""
    style = (
        "body{margin:0}#page{position:relative;width:1280px;overflow:hidden}"
        "#page>*{position:absolute;margin:0;padding:0;border:0;box-sizing:border-box;overflow:hidden;"
        "font:15px/22px sans-serif}#page>form{border:1px solid #999}#page>nav{background:#dde3ea}"
        "#page>hr{background:#666}#page>button{background:#ccd}"
    )
    order = list(TAGS)
    blocks = sorted(
        reading.blocks,
        key=lambda block: (-order.index(block.kind), round(block.y * PAGE_WIDTH_PX), round(block.x * PAGE_WIDTH_PX)),
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<style>{style}</style></head>\n<body><div id="page" style="height:{reading.height * PAGE_WIDTH_PX:.0f}px">\n'
        + "\n".join(_element(block) for block in blocks)
        + "\n</div></body>\n</html>\n"
    )


def _element(block: StrokeBlock) -> str:
    tag = TAGS[block.kind]
    left, top, width, height = (round(edge * PAGE_WIDTH_PX) for edge in snapped(block)[1:])
    place = f'style="left:{left}px;top:{top}px;width:{width}px;height:{height}px"'
    if tag in ("img", "hr"):
        return f'<img src="rick.jpg" alt="" {place}>' if tag == "img" else f"<hr {place}>"
    content = ""
    if tag == "p":
        filling = "Here stands some text of the page that was sketched, and more follows."
        words = filling.split()
        n_words = max(1, min(400, (width // 42) * max(1, round(height / 22))))
        content = " ".join(words[number % len(words)] for number in range(n_words))
    return f"<{tag} {place}>{content}</{tag}>"


def blocks_of(html: str) -> SketchReading | None:
    """Return the blocks of a page that `written` made, or None for any other."""
    height = re.search(r'<div id="page" style="height:([\d.]+)px">', html)
    if height is None:
        return None
    kinds = {tag: kind for kind, tag in TAGS.items()}
    place = r'style="left:(-?[\d.]+)px;top:(-?[\d.]+)px;width:([\d.]+)px;height:([\d.]+)px"'
    block = rf"<(p|img|form|button|nav|hr)\b[^<>]*{place}"
    blocks = (
        StrokeBlock(kinds[tag], *(float(edge) / PAGE_WIDTH_PX for edge in edges))
        for tag, *edges in re.findall(block, html)
    )
    return SketchReading(tuple(blocks), float(height[1]) / PAGE_WIDTH_PX)


def snapped(block: StrokeBlock) -> StrokeBlock:
    """Return a block rounded as in the page: to whole pixels, and at least one pixel wide and high."""
    left, top, width, height = (round(edge * PAGE_WIDTH_PX) for edge in block[1:])
    return StrokeBlock(block.kind, *(edge / PAGE_WIDTH_PX for edge in (left, top, max(1, width), max(1, height))))


def near(one: StrokeBlock, other: StrokeBlock, apart: float = 0.008) -> bool:
    """Return whether two blocks are the same except for small shifts."""
    return one.kind == other.kind and all(abs(a - b) <= apart for a, b in zip(one[1:], other[1:], strict=True))


def without(blocks: Sequence[StrokeBlock], bad: Sequence[StrokeBlock]) -> list[StrokeBlock]:
    """Return the blocks that are not near a bad one."""
    return [block for block in blocks if not any(near(block, other) for other in bad)]

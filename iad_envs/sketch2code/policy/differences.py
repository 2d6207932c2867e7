"""How a page differs from the page it should be, in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from iad_envs.sketch2code.blocks import TextBlock
from iad_envs.sketch2code.layout import Box
from iad_envs.sketch2code.visual import colour_difference, matched_blocks

NAMES = {
    "nav_bar": "navigation bar",
    "form_table": "form or table",
    "image": "image",
    "video": "video",
    "divider": "divider",
    "button": "button",
    "text_block": "text",
}
"""Types of boxes in words."""


def differences(reference: Mapping[str, Any], page: Mapping[str, Any]) -> Iterator[tuple[float, str]]:
    """Yield what differs between two pages' boxes: the area that it costs in the layout score, and a sentence.

    Boxes of a type that overlap are paired, the most alike first. Places are in pixels of the second page, to 5 pixels.

    Args:
        reference: The page as it should be, as an `info` has it.
        page: The page, in the same form.
    """
    for kind in NAMES:
        theirs, ours = ([Box(*box) for box in one["boxes"].get(kind, ())] for one in (reference, page))
        alike = sorted(((_iou(one, other), one, other) for one, other in product(theirs, ours)), reverse=True)
        for iou, there, here in alike:
            if iou > 0 and there in theirs and here in ours:
                theirs.remove(there)
                ours.remove(here)
                if iou < 0.9:  # what is nearly right is not worth a sentence
                    cost = (1 - iou) * (_area(there) + _area(here)) / (1 + iou)
                    yield cost, _sentence(kind, _rounded(here, page), _rounded(there, page))
        yield from ((_area(one), _sentence(kind, None, _rounded(one, page))) for one in theirs)
        yield from ((_area(one), _sentence(kind, _rounded(one, page), None)) for one in ours)


def text_differences(reference: Sequence[TextBlock], page: Sequence[TextBlock]) -> Iterator[tuple[float, str]]:
    """Yield the texts that are missing on a page, or have another colour: the area that it costs, and a sentence."""
    _, theirs, pairs = matched_blocks(reference, page)
    found = [there for _, there, _ in pairs]
    for there in theirs:
        if there not in found:
            yield _area(there.box), f'The text "{there.text[:40]}" is missing.'
    for here, there, _ in pairs:
        apart = colour_difference(here.colour, there.colour)
        if apart > 10:
            colour = ", ".join(f"{level:.0f}" for level in there.colour)
            yield _area(there.box) * min(1.0, apart / 100), f'The text "{there.text[:40]}" should be rgb({colour}).'


def _sentence(kind: str, here: Box | None, there: Box | None) -> str:
    """Return what is wrong with a part: where it is, if on the page, and where it should be, if it belongs there."""
    wanted = there and f"{_at(there)}, {there.w:.0f} wide and {there.h:.0f} high"
    if here is None:
        return f"There is no {NAMES[kind]} at {wanted}."
    return f"The {NAMES[kind]} at {_at(here)} {f'should be at {wanted}' if wanted else 'does not belong there'}."


def _at(box: Box) -> str:
    return f"left {box.x:.0f}, top {box.y:.0f}"


def _rounded(box: Box, page: Mapping[str, Any]) -> Box:
    """Return a box of shares in pixels of a page."""
    width, height = page["width"], page["height"]
    x, y, w, h = (5 * round(px / 5) for px in (box.x * width, box.y * height, box.w * width, box.h * height))
    return Box(x, y, max(1, w), max(1, h))


def _area(box: Box) -> float:
    return box.w * box.h


def _iou(one: Box, other: Box) -> float:
    w = min(one.x + one.w, other.x + other.w) - max(one.x, other.x)
    h = min(one.y + one.h, other.y + other.h) - max(one.y, other.y)
    both = max(0.0, w) * max(0.0, h)
    return both / (_area(one) + _area(other) - both) if both else 0.0

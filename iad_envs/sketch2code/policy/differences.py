"""How a page differs from the page it should be, in sentences that people, models and the rule-based agent can read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

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
_AT = r"left (-?\d+), top (-?\d+)"
_SIZE = r"(\d+) wide and (\d+) high"
_SENTENCE = re.compile(
    rf"There is no ({'|'.join(NAMES.values())}) at {_AT}, {_SIZE}\."
    rf"|The ({'|'.join(NAMES.values())}) at {_AT} (?:does not belong there|should be at {_AT}, {_SIZE})\."
)


class Correction(NamedTuple):
    """What is wrong with a part of a page.

    Attributes:
        kind: Its type of component.
        here: Where it is, in pixels of the page; None if it is missing. One that was read has no size.
        there: Where it should be, in the same pixels; None if it does not belong to the page.
    """

    kind: str
    here: Box | None
    there: Box | None

    def __str__(self) -> str:
        name = NAMES[self.kind]
        where = "" if self.there is None else f"{_at(self.there)}, {self.there.w:.0f} wide and {self.there.h:.0f} high"
        if self.here is None:
            return f"There is no {name} at {where}."
        wanted = f"should be at {where}" if where else "does not belong there"
        return f"The {name} at {_at(self.here)} {wanted}."


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
                    yield cost, str(Correction(kind, _rounded(here, page), _rounded(there, page)))
        yield from ((_area(one), str(Correction(kind, None, _rounded(one, page)))) for one in theirs)
        yield from ((_area(one), str(Correction(kind, _rounded(one, page), None))) for one in ours)


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


def corrections(said: str) -> list[Correction]:
    """Return what the sentences of `differences` in a text ask for."""
    kinds = {name: kind for kind, name in NAMES.items()}
    found = []
    for absent, *placed in (match.groups() for match in _SENTENCE.finditer(said)):
        if absent:
            found.append(Correction(kinds[absent], None, Box(*map(float, placed[:4]))))
        else:
            there = None if placed[7] is None else Box(*map(float, placed[7:]))
            found.append(Correction(kinds[placed[4]], Box(float(placed[5]), float(placed[6]), 0.0, 0.0), there))
    return found


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

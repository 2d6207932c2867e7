"""How a page differs from the page it should be, in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from iad_envs.sketch2code.blocks import TextBlock
from iad_envs.sketch2code.layout import Box, iou
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


class PartDifference(NamedTuple):
    """A part that differs between two pages.

    Attributes:
        cost: The area that it costs in the layout score, as a share of the page.
        kind: Type of box.
        here: Where it is on the page, in pixels; None if it is missing.
        there: Where it should be; None if it does not belong there.
    """

    cost: float
    kind: str
    here: Box | None
    there: Box | None

    def __str__(self) -> str:
        wanted = self.there and f"{_at(self.there)}, {self.there.w:.0f} wide and {self.there.h:.0f} high"
        if self.here is None:
            return f"There is no {NAMES[self.kind]} at {wanted}."
        return (
            f"The {NAMES[self.kind]} at {_at(self.here)} "
            f"{f'should be at {wanted}' if wanted else 'does not belong there'}."
        )


def differences(
    reference: Mapping[str, Any], page: Mapping[str, Any], near: Mapping[str, float] | None = None
) -> Iterator[PartDifference]:
    """Yield what differs between two pages' boxes.

    Boxes of a type that overlap are paired, the most alike first. Places are in pixels of their page, to 5 pixels.

    Args:
        reference: The page as it should be, as an `info` has it.
        page: The page, in the same form.
        near: IoU from which boxes of a type count as equal; 0.9 for types that it lacks.
    """
    for kind in NAMES:
        theirs, ours = ([Box(*box) for box in one["boxes"].get(kind, ())] for one in (reference, page))
        alike = sorted(((iou(one, other), one, other) for one, other in product(theirs, ours)), reverse=True)
        for share, there, here in alike:
            if share > 0 and there in theirs and here in ours:
                theirs.remove(there)
                ours.remove(here)
                if share < (near or {}).get(kind, 0.9):  # what is nearly right is not worth a sentence
                    cost = (1 - share) * (there.area + here.area) / (1 + share)
                    yield PartDifference(cost, kind, _rounded(here, page), _rounded(there, reference))
        yield from (PartDifference(one.area, kind, None, _rounded(one, reference)) for one in theirs)
        yield from (PartDifference(one.area, kind, _rounded(one, page), None) for one in ours)


def text_differences(reference: Sequence[TextBlock], page: Sequence[TextBlock]) -> Iterator[tuple[float, str]]:
    """Yield the texts that are missing on a page, or have another colour: the area that it costs, and a sentence."""
    _, theirs, pairs = matched_blocks(reference, page)
    found = [there for _, there, _ in pairs]
    for there in theirs:
        if there not in found:
            yield there.box.area, f'The text "{there.text[:40]}" is missing.'
    for here, there, _ in pairs:
        apart = colour_difference(here.colour, there.colour)
        if apart > 10:
            colour = ", ".join(f"{level:.0f}" for level in there.colour)
            yield there.box.area * min(1.0, apart / 100), f'The text "{there.text[:40]}" should be rgb({colour}).'


def _at(box: Box) -> str:
    return f"left {box.x:.0f}, top {box.y:.0f}"


def _rounded(box: Box, page: Mapping[str, Any]) -> Box:
    """Return a box of shares in pixels of a page."""
    width, height = page["width"], page["height"]
    x, y, w, h = (5 * round(px / 5) for px in (box.x * width, box.y * height, box.w * width, box.h * height))
    return Box(x, y, max(1, w), max(1, h))

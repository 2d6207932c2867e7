"""The layout score of Sketch2Code, a pure function of two pages' boxes. It needs no browser.

The score of a component type is its IoU: the area covered by both pages over the area covered by either page. The types
are weighted by the latter. Only area counts: the cost of an extra component is proportional to its size.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

KINDS = ("video", "image", "text_block", "form_table", "button", "nav_bar", "divider")
"""Types of components. An element may have several types. Each type is scored separately."""


class Box(NamedTuple):
    """A rectangle: left, top, width and height, in pixels or as shares of the page."""

    x: float
    y: float
    w: float
    h: float

    @property
    def area(self) -> float:
        """Its width times its height."""
        return self.w * self.h

    def holds(self, other: "Box") -> bool:
        """Return whether another box's centre is inside."""
        x, y = other.x + other.w / 2, other.y + other.h / 2
        return self.x <= x <= self.x + self.w and self.y <= y <= self.y + self.h

    def joined(self, other: "Box") -> "Box":
        """Return the smallest box around both."""
        x, y = min(self.x, other.x), min(self.y, other.y)
        right, bottom = max(self.x + self.w, other.x + other.w), max(self.y + self.h, other.y + other.h)
        return Box(x, y, right - x, bottom - y)


Boxes = Mapping[str, Sequence[Box]]
"""Boxes by type of component. A missing type has no boxes."""


class KindScore(NamedTuple):
    """Score of a component type: its IoU (0 if neither page has it) and its weight, the share of all covered area."""

    iou: float
    weight: float


class LayoutScore(NamedTuple):
    """Layout similarity of two pages, 0-1 (papers report it times 100).

    Attributes:
        layout: The score. 0 if neither page has a component (the published scorer divides by zero).
        kinds: Score of each type. Those of `text_block` and `image` are the papers' text IoU and image IoU.
    """

    layout: float
    kinds: Mapping[str, KindScore]


def score_layout(reference: Boxes, candidate: Boxes) -> LayoutScore:
    """Compare a candidate's boxes with the reference's, both as shares of their own page."""
    areas = {kind: _areas(reference.get(kind, ()), candidate.get(kind, ())) for kind in KINDS}
    covered = sum(union for _, union in areas.values())
    shared = sum(both for both, _ in areas.values())
    kinds = {
        kind: KindScore(both / union if union else 0.0, union / covered if covered else 0.0)
        for kind, (both, union) in areas.items()
    }
    return LayoutScore(shared / covered if covered else 0.0, kinds)


def iou(one: Box, other: Box) -> float:
    """Return the area that two boxes share, over the area that either covers."""
    w = min(one.x + one.w, other.x + other.w) - max(one.x, other.x)
    h = min(one.y + one.h, other.y + other.h) - max(one.y, other.y)
    both = max(0.0, w) * max(0.0, h)
    return both / (one.area + other.area - both) if both else 0.0


def covered(boxes: Sequence[Box]) -> float:
    """Return the area that boxes cover together."""
    return _areas(boxes, ())[1]


def page_boxes(pixels: Boxes, width: float, height: float) -> dict[str, tuple[Box, ...]]:
    """Prepare a page's boxes for scoring: merge text, and convert to shares of the page's width and height."""
    merged = {kind: merge_text(boxes) if kind == "text_block" else boxes for kind, boxes in pixels.items()}
    return {
        kind: tuple(Box(box.x / width, box.y / height, box.w / width, box.h / height) for box in boxes)
        for kind, boxes in merged.items()
    }


def merge_text(boxes: Iterable[Box]) -> list[Box]:
    """Merge text boxes (in pixels) that touch or contain each other. The result depends on the published order.

    From top to bottom, each box absorbs later ones in a single pass. If a later box contains it, the box is dropped
    together with all boxes it has absorbed.
    """
    rest = sorted(boxes, key=lambda box: (box.y, box.x))
    merged = []
    while rest:
        current: Box | None = rest.pop(0)
        kept: list[Box] = []
        for place, other in enumerate(rest):
            assert current is not None
            if _inside(other, current):
                continue
            if _inside(current, other):
                kept.extend(rest[place:])
                current = None
                break
            aligned = [
                abs((current.y + current.h / 2) - (other.y + other.h / 2)) <= 8.0,
                abs((current.x + current.w / 2) - (other.x + other.w / 2)) <= 8.0,
            ]
            if (aligned[0] and _touch(current.x, current.w, other.x, other.w)) or (
                aligned[1] and _touch(current.y, current.h, other.y, other.h)
            ):
                current = current.joined(other)
            else:
                kept.append(other)
        rest = kept
        if current is not None:
            merged.append(current)
    return merged


def _inside(inner: Box, outer: Box) -> bool:
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.x + inner.w <= outer.x + outer.w
        and inner.y + inner.h <= outer.y + outer.h
    )


def _touch(start: float, length: float, other_start: float, other_length: float) -> bool:
    if start == other_start:
        return False
    first_end, second = (start + length, other_start) if start < other_start else (other_start + other_length, start)
    return second - first_end <= 4.0  # overlapping boxes also count as touching


def _areas(ours: Sequence[Box], theirs: Sequence[Box]) -> tuple[float, float]:
    """Return the area covered by both sets of boxes, and the area covered by either set.

    On the grid of all edges, it counts the boxes of each set that cover a cell. Rows are processed in blocks, so a page
    with thousands of boxes never needs a grid with millions of cells at once.
    """
    if not ours and not theirs:
        return 0.0, 0.0
    corners = []
    for boxes in (ours, theirs):
        edges = np.array(boxes, dtype=np.float64).reshape(-1, 4)
        corners.append(np.concatenate([edges[:, :2], edges[:, :2] + edges[:, 2:]], axis=1))
    xs, ys = (np.unique(np.concatenate([edges[:, axes].ravel() for edges in corners])) for axes in ([0, 2], [1, 3]))
    widths, heights = np.diff(xs), np.diff(ys)
    steps = []  # of each set: where the number of covering boxes changes, and by how much
    for edges in corners:
        left, right = np.searchsorted(xs, edges[:, 0]), np.searchsorted(xs, edges[:, 2])
        top, bottom = np.searchsorted(ys, edges[:, 1]), np.searchsorted(ys, edges[:, 3])
        ones = np.ones(len(edges), dtype=np.int32)
        rows, columns = np.concatenate([top, top, bottom, bottom]), np.concatenate([left, right, left, right])
        steps.append((rows, columns, np.concatenate([ones, -ones, -ones, ones])))
    before = [np.zeros(len(xs), dtype=np.int32) for _ in corners]
    both = either = 0.0
    for start in range(0, len(heights), 512):
        block = heights[start : start + 512]
        covers = []
        for place, (rows, columns, changes) in enumerate(steps):
            grid = np.zeros((len(block), len(xs)), dtype=np.int32)
            here = (rows >= start) & (rows < start + len(block))
            np.add.at(grid, (rows[here] - start, columns[here]), changes[here])
            grid[0] += before[place]
            np.cumsum(grid, axis=0, out=grid)
            before[place] = grid[-1].copy()
            covers.append(np.cumsum(grid, axis=1)[:, :-1] > 0)
        both += float(block @ ((covers[0] & covers[1]) @ widths))
        either += float(block @ ((covers[0] | covers[1]) @ widths))
    return both, either

"""Straight strokes in a sketch's ink, and the frames that they form. Wavy lines of text are not strokes."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_envs.browser.images import opencv

Ink = NDArray[np.uint8]
MIN_SIDE_PX = 16
STROKE, CORNER, BRIDGE = 22.0, 16.0, 9.0
"""In pixels: length of a frame's shortest stroke, how far ends that meet are apart, the largest gap in a stroke."""
PURITY = 0.62
"""Share of the ink around a straight stroke that lies on it."""


class StrokeBlock(NamedTuple):
    """A part of a page: its type of component, and its rectangle in shares of the sheet's width."""

    kind: str
    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.w

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.h

    def holds(self, other: "StrokeBlock") -> bool:
        """Return whether another block's centre is inside."""
        x, y = other.x + other.w / 2, other.y + other.h / 2
        return self.x <= x <= self.right and self.y <= y <= self.bottom


class Stroke(NamedTuple):
    """A stroke, horizontal or vertical: the position of its middle, its two ends, its slope in radians, its purity."""

    at: float
    start: float
    end: float
    slope: float
    purity: float


def strokes_of(ink: Ink) -> list[Stroke]:
    """Return the horizontal strokes. For transposed ink, these are the vertical ones."""
    cv2 = opencv()
    thick = cv2.dilate(ink, np.ones((2, 1), np.uint8))
    # A stroke is straight for 15 pixels without a break. Wavy lines never are.
    straight = cv2.morphologyEx(thick, cv2.MORPH_OPEN, np.ones((1, 15), np.uint8))
    joined = cv2.morphologyEx(straight, cv2.MORPH_CLOSE, np.ones((7, round(BRIDGE)), np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    found = []
    for label, (x, y, w, h, _) in enumerate(stats.tolist()):
        if label == 0 or w < STROKE or h > 0.25 * w + 10:
            continue
        rows, columns = np.nonzero(labels[y : y + h, x : x + w] == label)
        purity = _purity(ink, x + columns, y + rows)
        if purity < PURITY:
            continue
        slope = float(np.polyfit(columns, rows, 1)[0]) if w > 60 else 0.0
        found.append(Stroke(float(y + rows.mean()), float(x), float(x + w), math.atan(slope), purity))
    return found


def _purity(ink: Ink, columns: NDArray[np.int64], rows: NDArray[np.int64]) -> float:
    """Return the share of the ink around a stroke that lies on it: nearly 1 if it is straight, half if it is wavy."""
    step = 20
    start, n = int(columns.min()), int(columns.max() - columns.min()) // step + 1
    bins = (columns - start) // step
    counts = np.bincount(bins, minlength=n)
    there = counts > 0
    middles = np.bincount(bins, rows, minlength=n)[there] / counts[there]
    xs = np.arange(start, int(columns.max()) + 1)
    path = np.interp(xs, start + (np.flatnonzero(there) + 0.5) * step, middles)
    offsets = np.arange(-7, 8)
    places = np.clip(np.round(path[:, None] + offsets).astype(int), 0, ink.shape[0] - 1)
    per_offset = ink[places, xs[:, None]].sum(axis=0, dtype=np.int64)
    on = per_offset[np.abs(offsets) <= 2].sum()
    return float(on / max(1, per_offset.sum()))


def frames_of(across: Sequence[Stroke], down: Sequence[Stroke]) -> tuple[list[StrokeBlock], list[StrokeBlock]]:
    """Return the rectangles with three sides of their own, and those whose sides may belong to neighbours."""
    near = CORNER
    own: list[StrokeBlock] = []
    shared: list[StrokeBlock] = []
    for strokes, others, turned in ((across, down, False), (down, across, True)):
        for one, other in combinations(sorted(strokes), 2):
            if abs(one.start - other.start) > near or abs(one.end - other.end) > near:
                continue
            start, end = (one.start + other.start) / 2, (one.end + other.end) / 2
            if min(end - start, other.at - one.at) < MIN_SIDE_PX:
                continue
            edges = (one.at, start, other.at, end) if turned else (start, one.at, end, other.at)
            block = StrokeBlock("frame", edges[0], edges[1], edges[2] - edges[0], edges[3] - edges[1])
            beside = [stroke for stroke in others if min(abs(stroke.at - start), abs(stroke.at - end)) <= near]
            if any(abs(stroke.start - one.at) <= near and abs(stroke.end - other.at) <= near for stroke in beside):
                own.append(block)
            elif any(stroke.start <= one.at + near and stroke.end >= other.at - near for stroke in beside):
                shared.append(block)
    return own, shared


def distinct(blocks: Sequence[StrokeBlock]) -> list[StrokeBlock]:
    """Return the blocks without those that are nearly equal to an earlier one."""
    kept: list[StrokeBlock] = []
    for block in blocks:
        edges = (block.x, block.y, block.right, block.bottom)
        others = ((other.x, other.y, other.right, other.bottom) for other in kept)
        if all(max(abs(a - b) for a, b in zip(edges, other, strict=True)) >= MIN_SIDE_PX for other in others):
            kept.append(block)
    return kept

"""What a sketch shows, read from its ink: frames, crossed pictures, lines of text, rules. Knows no reference.

Strokes that run straight across or down are found first; four of them (or three: one may be missing) make a frame, a
frame with a cross is a picture. What ink is left, in low wide bands, is text.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_policy.sketching import opencv

Ink = NDArray[np.uint8]
WIDTH_PX = 1024
"""At which sketches are read; all lengths below are in these pixels."""
MIN_SIDE_PX = 16
STRAIGHT_PX = 15
"""Of a stroke that runs straight without a break: waves never do."""
PATH_PX = 20
AROUND_PX = 7
"""Where ink beside a stroke is looked for."""
CROSS_SHIFTS_PX = (-14, 14)
"""Beside a diagonal: where a cross has no ink, and a text has as much as on it."""


class Taste(NamedTuple):
    """How a sketch is read.

    Attributes:
        darker: Than the paper, in grey values: ink.
        stroke: Shortest stroke of a frame.
        corner: How far the ends of two strokes that meet may be apart.
        cross: How much more ink on a diagonal than beside it makes a cross, as a share.
        bridge: Gap in a stroke that is still one.
        purity: How much of the ink around a straight stroke lies on it, as a share.
        rule: The same for a stroke that belongs to no frame: otherwise it is text.
        word_gap: Gap between waves that are one line of text.
        line_gap: Gap between lines that are one text, as a share of a line's height.
        leading: Height of a line of text, as a multiple of its ink's.
        margin: Of the sheet around the page, as a share of its width.
        upright: How much of the sheet's tilt is taken back, as a share.
    """

    darker: float = 60.0
    stroke: float = 22.0
    corner: float = 16.0
    cross: float = 0.4
    bridge: float = 9.0
    purity: float = 0.62
    rule: float = 0.85
    word_gap: float = 12.0
    line_gap: float = 0.9
    leading: float = 1.5
    margin: float = 0.0155
    upright: float = 1.0


class Block(NamedTuple):
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

    def holds(self, other: "Block") -> bool:
        """Say whether another block's centre is inside."""
        x, y = other.x + other.w / 2, other.y + other.h / 2
        return self.x <= x <= self.right and self.y <= y <= self.bottom


class Stroke(NamedTuple):
    """A stroke across or down: where it lies (its middle), its two ends, its slope in radians, and its purity."""

    at: float
    start: float
    end: float
    slope: float
    purity: float


class Reading(NamedTuple):
    """A sketch as it was read: frames are of the kind `frame` until somebody says what they are.

    Attributes:
        blocks: In shares of the page's width, page margin and tilt taken off.
        height: Of the page, in the same measure.
    """

    blocks: tuple[Block, ...]
    height: float


def read_sketch(sketch: NDArray[np.uint8], size: Sequence[int], taste: Taste) -> Reading:
    """Read a sketch.

    Args:
        sketch: As observed: height, width, 3.
        size: Height and width of the part of it that is not frame.
        taste: How to read.
    """
    ink = ink_of(sketch, size, taste.darker)
    across, down = _strokes(ink, taste), _strokes(np.ascontiguousarray(ink.T), taste)
    frames = _frames(across, down, taste)
    kinds = [Block("image" if _crossed(ink, frame, taste.cross) else "frame", *frame[1:]) for frame in frames]
    across = [stroke for stroke in across if stroke.purity >= taste.rule or _on_edge(stroke, frames, taste.corner)]
    down = [stroke for stroke in down if stroke.purity >= taste.rule or _on_side(stroke, frames, taste.corner)]
    rules = [_rule(stroke) for stroke in across if not _on_edge(stroke, frames, taste.corner)]
    rules = [rule for rule in rules if rule.w > 3 * taste.stroke and not _inside_image(rule, kinds)]
    blocks = [*kinds, *rules, *_texts(_without(ink, kinds, across, down), taste)]
    long = [stroke.slope for stroke in across if stroke.end - stroke.start > 150]
    tilt = math.tan(float(np.median(long))) * taste.upright if long else 0.0
    return _straight(blocks, ink.shape, taste.margin, tilt)


def ink_of(sketch: NDArray[np.uint8], size: Sequence[int], darker: float) -> Ink:
    """Return a sketch's ink, 0 or 1, at the width that is read."""
    cv2 = opencv()
    grey = sketch[: size[0], : size[1], 1]
    height = max(8, round(WIDTH_PX * grey.shape[0] / max(1, grey.shape[1])))
    large = cv2.resize(
        grey, (WIDTH_PX, height), interpolation=cv2.INTER_AREA if size[1] > WIDTH_PX else cv2.INTER_CUBIC
    )
    return (large < float(np.median(large)) - darker).astype(np.uint8)


def _strokes(ink: Ink, taste: Taste) -> list[Stroke]:
    """Return what runs straight across; what runs down, for ink that is transposed."""
    cv2 = opencv()
    thick = cv2.dilate(ink, np.ones((2, 1), np.uint8))
    straight = cv2.morphologyEx(thick, cv2.MORPH_OPEN, np.ones((1, STRAIGHT_PX), np.uint8))
    joined = cv2.morphologyEx(straight, cv2.MORPH_CLOSE, np.ones((7, round(taste.bridge)), np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    found = []
    for label, (x, y, w, h, _) in enumerate(stats.tolist()):
        if label == 0 or w < taste.stroke or h > 0.25 * w + 10:
            continue
        rows, columns = np.nonzero(labels[y : y + h, x : x + w] == label)
        purity = _purity(ink, x + columns, y + rows)
        if purity < taste.purity:
            continue
        slope = float(np.polyfit(columns, rows, 1)[0]) if w > 60 else 0.0
        found.append(Stroke(float(y + rows.mean()), float(x), float(x + w), math.atan(slope), purity))
    return found


def _purity(ink: Ink, columns: NDArray[np.int64], rows: NDArray[np.int64]) -> float:
    """Return which share of the ink around a stroke lies on it: nearly all of a straight one's, half of a wave's."""
    start, n = int(columns.min()), int(columns.max() - columns.min()) // PATH_PX + 1
    bins = (columns - start) // PATH_PX
    counts = np.bincount(bins, minlength=n)
    there = counts > 0
    middles = np.bincount(bins, rows, minlength=n)[there] / counts[there]
    xs = np.arange(start, int(columns.max()) + 1)
    path = np.interp(xs, start + (np.flatnonzero(there) + 0.5) * PATH_PX, middles)
    offsets = np.arange(-AROUND_PX, AROUND_PX + 1)
    places = np.clip(np.round(path[:, None] + offsets).astype(int), 0, ink.shape[0] - 1)
    per_offset = ink[places, xs[:, None]].sum(axis=0, dtype=np.int64)
    on = per_offset[np.abs(offsets) <= 2].sum()
    return float(on / max(1, per_offset.sum()))


def _frames(across: Sequence[Stroke], down: Sequence[Stroke], taste: Taste) -> list[Block]:
    """Return the rectangles of which at least three sides are drawn."""
    near = taste.corner
    found: dict[tuple[int, int, int, int], Block] = {}
    for one, other in combinations(sorted(across), 2):
        if abs(one.start - other.start) <= near and abs(one.end - other.end) <= near:
            left, right = (one.start + other.start) / 2, (one.end + other.end) / 2
            sides = [_drawn(down, at, one.at, other.at, near) for at in (left, right)]
            if sum(sides) >= 1 and other.at - one.at >= MIN_SIDE_PX:
                _keep(found, (left, one.at, right, other.at))
    for one, other in combinations(sorted(down), 2):
        if abs(one.start - other.start) <= near and abs(one.end - other.end) <= near:
            top, bottom = (one.start + other.start) / 2, (one.end + other.end) / 2
            sides = [_drawn(across, at, one.at, other.at, near) for at in (top, bottom)]
            if sum(sides) >= 1 and other.at - one.at >= MIN_SIDE_PX:
                _keep(found, (one.at, top, other.at, bottom))
    return list(found.values())


def _drawn(strokes: Sequence[Stroke], at: float, start: float, end: float, near: float) -> bool:
    """Say whether a stroke runs between two points, perhaps a little further."""
    return any(
        abs(stroke.at - at) <= near and abs(stroke.start - start) <= near and abs(stroke.end - end) <= near
        for stroke in strokes
    )


def _keep(found: dict[tuple[int, int, int, int], Block], edges: tuple[float, float, float, float]) -> None:
    """Add a frame unless a nearly equal one is there."""
    left, top, right, bottom = edges
    if right - left < MIN_SIDE_PX or bottom - top < MIN_SIDE_PX:
        return
    for block in found.values():
        apart = (left - block.x, top - block.y, right - block.right, bottom - block.bottom)
        if max(map(abs, apart)) < MIN_SIDE_PX:
            return
    found[(round(left), round(top), round(right), round(bottom))] = Block(
        "frame", left, top, right - left, bottom - top
    )


def _crossed(ink: Ink, frame: Block, more: float) -> bool:
    """Say whether a frame has a diagonal with more ink on it than beside it."""
    near = np.asarray(opencv().dilate(ink, np.ones((9, 9), np.uint8)))
    shares = np.linspace(0.12, 0.88, 60)
    xs = frame.x + shares * frame.w
    gains = []
    for ys in (frame.y + shares * frame.h, frame.bottom - shares * frame.h):
        on, *beside = (_share(near, xs, ys + shift) for shift in (0, *CROSS_SHIFTS_PX))
        gains.append(on - float(np.mean(beside)))
    return max(gains) >= more and frame.h > 24


def _share(mask: Ink, xs: NDArray[np.float64], ys: NDArray[np.float64]) -> float:
    rows = np.clip(np.round(ys).astype(int), 0, mask.shape[0] - 1)
    columns = np.clip(np.round(xs).astype(int), 0, mask.shape[1] - 1)
    return float(mask[rows, columns].mean())


def _rule(stroke: Stroke) -> Block:
    return Block("divider", stroke.start, stroke.at - 1, stroke.end - stroke.start, 2.0)


def _on_edge(stroke: Stroke, frames: Sequence[Block], near: float) -> bool:
    return any(
        min(abs(stroke.at - frame.y), abs(stroke.at - frame.bottom)) <= near
        and stroke.start >= frame.x - 2 * near
        and stroke.end <= frame.right + 2 * near
        for frame in frames
    )


def _on_side(stroke: Stroke, frames: Sequence[Block], near: float) -> bool:
    turned = [Block(frame.kind, frame.y, frame.x, frame.h, frame.w) for frame in frames]
    return _on_edge(stroke, turned, near)


def _inside_image(block: Block, blocks: Sequence[Block]) -> bool:
    return any(other.kind == "image" and other.holds(block) for other in blocks)


def _without(ink: Ink, frames: Sequence[Block], across: Sequence[Stroke], down: Sequence[Stroke]) -> Ink:
    """Return the ink that is neither a picture nor a straight stroke."""
    left = ink.copy()
    for frame in frames:
        x, y, right, bottom = (round(edge) for edge in (frame.x, frame.y, frame.right, frame.bottom))
        if frame.kind == "image":
            left[max(0, y - 4) : bottom + 5, max(0, x - 6) : right + 7] = 0
    for stroke in across:
        _wipe(left, stroke)
    turned = left.T
    for stroke in down:
        _wipe(turned, stroke)
    return left


def _wipe(ink: Ink, stroke: Stroke) -> None:
    middle = (stroke.start + stroke.end) / 2
    for x in range(max(0, round(stroke.start) - 4), min(ink.shape[1], round(stroke.end) + 5)):
        y = round(stroke.at + math.tan(stroke.slope) * (x - middle))
        ink[max(0, y - 4) : y + 5, x] = 0


def _texts(ink: Ink, taste: Taste) -> list[Block]:
    """Return texts: bands of ink, those below each other joined."""
    cv2 = opencv()
    bands = cv2.dilate(ink, np.ones((1, round(taste.word_gap)), np.uint8))
    _, _, stats, _ = cv2.connectedComponentsWithStats(bands, connectivity=8)
    lines = []
    for x, y, w, h, _ in stats[1:].tolist():
        if w - taste.word_gap >= 9 and h >= 4:
            grown = h * (taste.leading - 1) if h < 18 else 4.0
            wide = w - taste.word_gap
            lines.append(Block("text_block", x + taste.word_gap / 2, y - grown / 2, wide, h + grown))
    return _joined(sorted(lines, key=lambda line: (line.y, line.x)), taste.line_gap)


def _joined(lines: Sequence[Block], line_gap: float) -> list[Block]:
    texts: list[tuple[Block, float]] = []
    for line in lines:
        for place, (text, height) in enumerate(texts):
            aligned = abs(text.x - line.x) <= 12 and line.w <= text.w + 24
            if aligned and -0.6 * height <= line.y - text.bottom <= (line_gap - 0.5) * height:
                right, bottom = max(text.right, line.right), max(text.bottom, line.bottom)
                x = min(text.x, line.x)
                texts[place] = Block("text_block", x, text.y, right - x, bottom - text.y), line.h
                break
        else:
            texts.append((line, line.h))
    return [text for text, _ in texts]


def _straight(blocks: Sequence[Block], shape: tuple[int, ...], margin: float, tilt: float) -> Reading:
    """Take tilt and margin off; from pixels to shares of the page's width."""
    edge = margin * shape[1]
    width, height = shape[1] - 2 * edge, shape[0] - 2 * edge
    turned = []
    for block in blocks:
        x, y = block.x + block.w / 2 - edge, block.y + block.h / 2 - edge
        x, y = x + tilt * y, y - tilt * x
        turned.append(Block(block.kind, x - block.w / 2, y - block.h / 2, block.w, block.h))
    return Reading(tuple(_clipped(block, width, height) for block in turned), height / width)


def _clipped(block: Block, width: float, height: float) -> Block:
    x, y = min(max(block.x, 0.0), width - 2), min(max(block.y, 0.0), height - 2)
    right, bottom = min(max(block.right, x + 2), width), min(max(block.bottom, y + 2), height)
    return Block(block.kind, x / width, y / width, (right - x) / width, (bottom - y) / width)

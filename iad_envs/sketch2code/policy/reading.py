"""Reads a sketch's ink: frames, crossed pictures, lines of text and rules. It knows no reference.

Straight horizontal and vertical strokes are found first. Four of them, or three as one may be missing, form a frame,
and a frame with a cross is a picture. The remaining ink in low, wide bands is text.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_envs.browser.images import opencv
from iad_envs.sketch2code.layout import Box, Boxes, iou
from iad_envs.sketch2code.policy.strokes import (
    CORNER,
    STROKE,
    Ink,
    Stroke,
    StrokeBlock,
    distinct,
    frames_of,
    strokes_of,
)

DARKER = 60.0
"""How much darker than the paper ink is, in grey values."""
CROSS = 0.4
"""How much more ink is on a diagonal than next to it if it is a cross, as a share."""
RULE = 0.85
"""Share of the ink around a stroke outside of frames that lies on it. Below it, the stroke is text."""
WORD_GAP, LINE_GAP, LEADING = 12.0, 0.9, 1.5
"""Largest gap between wavy lines of one line of text; largest gap between lines of one text, as a share of a line's
height; height of a line, as a multiple of its ink's height."""
MARGIN = 0.0155
"""Margin of the sheet around the page, as a share of its width."""
FRAMES = ("nav_bar", "form_table", "button")
"""Types of parts that are drawn as a frame."""


class SketchReading(NamedTuple):
    """The parts read from a sketch. Frames have the kind `frame` until their meaning is chosen.

    Attributes:
        blocks: The blocks in shares of the page's width, with margin and tilt corrected.
        height: Height of the page, in the same unit.
    """

    blocks: tuple[StrokeBlock, ...]
    height: float


def read_sketch(sketch: NDArray[np.uint8], size: Sequence[int]) -> SketchReading:
    """Read a sketch.

    Args:
        sketch: The observed sketch, shape (height, width, 3).
        size: Height and width of the sketch without its padding.
    """
    ink = ink_of(sketch, size)
    across, down = strokes_of(ink), strokes_of(np.ascontiguousarray(ink.T))
    frames, loose = frames_of(across, down)
    kinds = [StrokeBlock("image" if _crossed(ink, frame) else "frame", *frame[1:]) for frame in frames]
    kinds += [frame._replace(kind="image") for frame in loose if _crossed(ink, frame)]
    images = [frame for frame in kinds if frame.kind == "image"]
    frames = kinds = [
        frame for frame in distinct(kinds) if frame.kind == "image" or _overlap(frame, images) < 0.5
    ]  # what pictures cover by half is only the space between them
    across = [stroke for stroke in across if stroke.purity >= RULE or _on_edge(stroke, frames)]
    turned = [StrokeBlock(frame.kind, frame.y, frame.x, frame.h, frame.w) for frame in frames]
    down = [stroke for stroke in down if stroke.purity >= RULE or _on_edge(stroke, turned)]
    rules = [
        StrokeBlock("divider", stroke.start, stroke.at - 1, stroke.end - stroke.start, 2.0)
        for stroke in across
        if not _on_edge(stroke, frames)
    ]
    rules = [
        rule
        for rule in rules
        if rule.w > 3 * STROKE and not any(one.kind == "image" and one.holds(rule) for one in kinds)
    ]
    left = _without(ink, kinds, across, down)
    kinds += _outlined(left)
    blocks = [*kinds, *rules, *_texts(left)]
    long = [stroke.slope for stroke in across if stroke.end - stroke.start > 150]
    tilt = math.tan(float(np.median(long))) if long else 0.0
    return _straight(blocks, ink.shape, tilt)


def frame_fits(frame: StrokeBlock, reading: SketchReading) -> Mapping[str, float]:
    """Return how well each meaning fits a frame, by its shape and place. Larger is more likely."""
    is_small = frame.w < 0.22 and frame.h < 0.06
    is_bar = frame.w > 0.6 and frame.h < 0.11 and frame.y < 0.25
    is_column = frame.x < 0.05 and frame.h > 1.8 * frame.w and frame.h > 0.4 * reading.height
    return {
        "button": 1.5 if is_small else -1.5,
        "nav_bar": 1.5 if is_bar else 1.0 if is_column else -0.2,
        "form_table": 0.2 if is_bar or is_small or is_column else 1.0,
    }


def boxes_read(reading: SketchReading, page: Boxes) -> dict[str, list[Box]]:
    """Return the parts of a sketch as boxes by type, in shares of the page.

    What a frame stands for is not drawn. It counts as the part that the given page has at its place, if there is one,
    and else as what its shape suggests.
    """
    found: dict[str, list[Box]] = {}
    blocks = [
        (block, Box(block.x, block.y / reading.height, block.w, block.h / reading.height)) for block in reading.blocks
    ]
    for block, box in blocks:
        kind = block.kind
        if kind == "frame":
            fits = frame_fits(block, reading)
            here = max((iou(box, other), name) for name in FRAMES for other in [*page.get(name, ()), Box(0, 0, 0, 0)])
            kind = here[1] if here[0] > 0.4 else max(FRAMES, key=lambda name: fits[name])
        found.setdefault(kind, []).append(box)
    buttons = found.get("button", ())
    texts = [one for one in found.get("text_block", ()) if not any(button.holds(one) for button in buttons)]
    return {**found, "text_block": texts}


def ink_of(sketch: NDArray[np.uint8], size: Sequence[int]) -> Ink:
    """Return a sketch's ink, 0 or 1, scaled to the width of reading."""
    cv2 = opencv()
    grey = sketch[: size[0], : size[1], 1]
    width = 1024
    height = max(8, round(width * grey.shape[0] / max(1, grey.shape[1])))
    large = cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA if size[1] > width else cv2.INTER_CUBIC)
    return np.asarray(large < float(np.median(large)) - DARKER, dtype=np.uint8)


def _outlined(ink: Ink) -> list[StrokeBlock]:
    """Return frames and pictures in the connected ink that no strokes explained, and erase them."""
    found = []
    _, labels, stats, _ = opencv().connectedComponentsWithStats(ink, connectivity=8)
    for label, (x, y, w, h, _) in enumerate(stats.tolist()):
        if label == 0 or min(w, h) < 36:
            continue
        component = (labels[y : y + h, x : x + w] == label).astype(np.uint8)
        block = StrokeBlock("frame", x, y, w, h)
        if _crossed(ink, block):
            ink[y : y + h, x : x + w] = 0
            found.append(block._replace(kind="image"))
            continue
        sides = [side.any(axis=axis).mean() for side, axis in _bands(component)]
        if sum(share > 0.7 for share in sides) >= 3:
            for band, _ in _bands(ink[y : y + h, x : x + w]):
                band[:] = 0
            found.append(block)
    return found


def _bands(ink: Ink) -> list[tuple[Ink, int]]:
    """Return the strips along the four edges, and the axis across each."""
    px = 9
    return [(ink[:px], 0), (ink[-px:], 0), (ink[:, :px], 1), (ink[:, -px:], 1)]


def _crossed(ink: Ink, frame: StrokeBlock) -> bool:
    """Return whether a frame has a diagonal with more ink on it than next to it."""
    near = np.asarray(opencv().dilate(ink, np.ones((9, 9), np.uint8)))
    shares = np.linspace(0.12, 0.88, 60)
    xs = frame.x + shares * frame.w
    gains = []
    columns = np.clip(np.round(xs).astype(int), 0, near.shape[1] - 1)
    for ys in (frame.y + shares * frame.h, frame.bottom - shares * frame.h):
        # Next to a diagonal a cross has no ink, but a text has as much as on it.
        rows = [np.clip(np.round(ys + shift).astype(int), 0, near.shape[0] - 1) for shift in (0, -14, 14)]
        on, *around = (float(near[row, columns].mean()) for row in rows)
        gains.append(on - float(np.mean(around)))
    return max(gains) >= CROSS and frame.h > 24


def _overlap(frame: StrokeBlock, others: Sequence[StrokeBlock]) -> float:
    """Return the share of a frame that other blocks cover. Overlaps of these count twice."""
    shared = 0.0
    for other in others:
        across = min(frame.right, other.right) - max(frame.x, other.x)
        down = min(frame.bottom, other.bottom) - max(frame.y, other.y)
        shared += max(0.0, across) * max(0.0, down)
    return shared / (frame.w * frame.h)


def _on_edge(stroke: Stroke, frames: Sequence[StrokeBlock]) -> bool:
    return any(
        min(abs(stroke.at - frame.y), abs(stroke.at - frame.bottom)) <= CORNER
        and stroke.start >= frame.x - 2 * CORNER
        and stroke.end <= frame.right + 2 * CORNER
        for frame in frames
    )


def _without(ink: Ink, frames: Sequence[StrokeBlock], across: Sequence[Stroke], down: Sequence[Stroke]) -> Ink:
    """Return the ink that belongs neither to a picture nor to a straight stroke."""
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


def _texts(ink: Ink) -> list[StrokeBlock]:
    """Return texts: bands of ink, joined if one is below the other."""
    cv2 = opencv()
    bands = cv2.dilate(ink, np.ones((1, round(WORD_GAP)), np.uint8))
    _, _, stats, _ = cv2.connectedComponentsWithStats(bands, connectivity=8)
    lines = []
    for x, y, w, h, _ in stats[1:].tolist():
        if w - WORD_GAP >= 9 and h >= 4:
            padding = h * (LEADING - 1) if h < 18 else 4.0
            wide = w - WORD_GAP
            lines.append(StrokeBlock("text_block", x + WORD_GAP / 2, y - padding / 2, wide, h + padding))
    texts: list[tuple[StrokeBlock, float]] = []
    for line in sorted(lines, key=lambda line: (line.y, line.x)):
        for place, (text, height) in enumerate(texts):
            aligned = abs(text.x - line.x) <= 12 and line.w <= text.w + 24
            if aligned and -0.6 * height <= line.y - text.bottom <= (LINE_GAP - 0.5) * height:
                right, bottom = max(text.right, line.right), max(text.bottom, line.bottom)
                x = min(text.x, line.x)
                texts[place] = StrokeBlock("text_block", x, text.y, right - x, bottom - text.y), line.h
                break
        else:
            texts.append((line, line.h))
    return [text for text, _ in texts]


def _straight(blocks: Sequence[StrokeBlock], shape: tuple[int, ...], tilt: float) -> SketchReading:
    """Correct tilt and margin, and convert pixels to shares of the page's width."""
    edge = MARGIN * shape[1]
    width, height = shape[1] - 2 * edge, shape[0] - 2 * edge
    turned = []
    for block in blocks:
        x, y = block.x + block.w / 2 - edge, block.y + block.h / 2 - edge
        x, y = x + tilt * y, y - tilt * x
        block = StrokeBlock(block.kind, x - block.w / 2, y - block.h / 2, block.w, block.h)
        x, y = min(max(block.x, 0.0), width - 2), min(max(block.y, 0.0), height - 2)
        right, bottom = min(max(block.right, x + 2), width), min(max(block.bottom, y + 2), height)
        turned.append(StrokeBlock(block.kind, x / width, y / width, (right - x) / width, (bottom - y) / width))
    return SketchReading(tuple(turned), height / width)

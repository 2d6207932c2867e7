"""Draws synthetic hand-drawn sketches of pages: the same components in wobbly strokes.

The drawing conventions are those of Sketch2Code's sketches: a picture is a box with an X, text is wavy lines, and
everything else is a box. Components are slightly moved and resized, lines wobble, corners are overshot, some strokes
are missing, and the sheet is tilted. The same seed draws the same sketch.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_envs.browser.images import Image, opencv
from iad_envs.sketch2code.layout import Box, Boxes

Points = NDArray[np.float64]


class Hand(NamedTuple):
    """The drawing style of a person.

    Attributes:
        wobble: Standard deviation of a stroke's noise, in pixels.
        misplaced: Standard deviation of the position of a component's edges, in pixels.
        overshoot: Standard deviation of the position of a stroke's ends, in pixels.
        missing: Probability that a stroke is missing.
        tilt: Rotation of the sheet, in radians.
        line: Distance between two lines of text, in pixels.
        pen: Width of a stroke, in pixels.
        ink: Grey value of a stroke.
    """

    wobble: float
    misplaced: float
    overshoot: float
    missing: float
    tilt: float
    line: float
    pen: int
    ink: int


def drawn_hand(rng: np.random.Generator) -> Hand:
    """Draw a random style."""
    return Hand(
        wobble=float(rng.uniform(0.6, 1.8)),
        misplaced=float(rng.uniform(2.0, 6.0)),
        overshoot=float(rng.uniform(1.0, 5.0)),
        missing=float(rng.uniform(0.005, 0.03)),
        tilt=float(rng.normal(0.0, math.radians(0.4))),
        line=float(rng.uniform(16.0, 24.0)),
        pen=int(rng.integers(2, 4)),
        ink=int(rng.integers(10, 90)),
    )


def draw_sketch(boxes: Boxes, size: tuple[float, float], *, seed: int | Sequence[int]) -> Image:
    """Return a sketch of a page.

    Args:
        boxes: Boxes of the page, as shares of its width and height.
        size: Width and height of the page in pixels.
        seed: Seed of the style and of all deviations.
    """
    rng = np.random.default_rng(seed)
    hand = drawn_hand(rng)
    width, margin = 1000, 16
    height = min(4000, max(width // 4, round(width * size[1] / size[0])))
    strokes: list[Points] = []
    drawers = {
        "nav_bar": _frame,
        "form_table": _frame,
        "image": _picture,
        "video": _film,
        "divider": _rule,
        "button": _button,
        "text_block": _text,
    }
    for kind, draw in drawers.items():
        for box in boxes.get(kind, ()):
            edges = np.array([box.x * width, box.y * height, (box.x + box.w) * width, (box.y + box.h) * height])
            left, top, right, bottom = (float(edge) for edge in edges + rng.normal(0.0, hand.misplaced, 4))
            misplaced = Box(min(left, right), min(top, bottom), abs(right - left), abs(bottom - top))
            strokes += draw(misplaced, hand, rng)
    cv2 = opencv()
    sheet = np.full((height + 2 * margin, width + 2 * margin), 250, dtype=np.uint8)
    turn = np.array([[math.cos(hand.tilt), -math.sin(hand.tilt)], [math.sin(hand.tilt), math.cos(hand.tilt)]])
    kept = [stroke for stroke in strokes if rng.random() >= hand.missing]
    lines = [np.round((_wobbly(stroke, hand, rng) @ turn.T + margin) * 8).astype(np.int32) for stroke in kept]
    cv2.polylines(sheet, lines, isClosed=False, color=hand.ink, thickness=hand.pen, lineType=cv2.LINE_AA, shift=3)
    return np.repeat(sheet[:, :, None], 3, axis=2)


def _frame(box: Box, hand: Hand, rng: np.random.Generator) -> list[Points]:
    x, y, right, bottom = box.x, box.y, box.x + box.w, box.y + box.h
    sides = [((x, y), (right, y)), ((right, y), (right, bottom)), ((right, bottom), (x, bottom)), ((x, bottom), (x, y))]
    return [_stroke(*side, hand, rng) for side in sides]


def _picture(box: Box, hand: Hand, rng: np.random.Generator) -> list[Points]:
    x, y, right, bottom = box.x, box.y, box.x + box.w, box.y + box.h
    cross = [((x, y), (right, bottom)), ((right, y), (x, bottom))]
    return [*_frame(box, hand, rng), *(_stroke(*line, hand, rng) for line in cross)]


def _film(box: Box, hand: Hand, rng: np.random.Generator) -> list[Points]:
    side, x, y = 0.2 * min(box.w, box.h), box.x + box.w / 2, box.y + box.h / 2
    corners = [(x - side, y - side), (x + side, y), (x - side, y + side), (x - side, y - side)]
    play = [_stroke(start, end, hand, rng) for start, end in pairwise(corners)]
    return [*_frame(box, hand, rng), *play]


def _text(box: Box, hand: Hand, rng: np.random.Generator) -> list[Points]:
    n_lines = max(1, round(box.h / hand.line))
    lines = []
    for place in range(n_lines):
        last = place == n_lines - 1 and n_lines > 1
        length = box.w * (rng.uniform(0.4, 1.0) if last else rng.uniform(0.96, 1.0))
        xs = np.arange(0.0, max(length, 6.0), 3.0)
        height = min(0.25 * box.h / n_lines, 5.0)
        wave = height * np.sin(xs * rng.uniform(0.35, 0.55) + rng.uniform(0, 6.28)) * rng.uniform(0.7, 1.3, len(xs))
        lines.append(np.stack([box.x + xs, box.y + box.h * (place + 0.5) / n_lines + wave], axis=1))
    return lines


def _button(box: Box, hand: Hand, rng: np.random.Generator) -> list[Points]:
    inner = Box(box.x + 0.2 * box.w, box.y + 0.25 * box.h, 0.6 * box.w, min(0.5 * box.h, hand.line))
    return [*_frame(box, hand, rng), *_text(inner, hand, rng)]


def _rule(box: Box, hand: Hand, rng: np.random.Generator) -> list[Points]:
    y = box.y + box.h / 2
    return [_stroke((box.x, y), (box.x + box.w, y), hand, rng)]


def _stroke(start: tuple[float, float], end: tuple[float, float], hand: Hand, rng: np.random.Generator) -> Points:
    along = np.subtract(end, start)
    length = float(np.hypot(*along)) or 1.0
    over = np.abs(rng.normal(0.0, hand.overshoot, 2)) / length
    shares = np.linspace(-over[0], 1.0 + over[1], max(2, int(length / 14.0) + 1))
    return np.asarray(start + shares[:, None] * along)


def _wobbly(points: Points, hand: Hand, rng: np.random.Generator) -> Points:
    """Add noise to a stroke, smoothed along the stroke and with a slow drift."""
    noise = rng.normal(0.0, hand.wobble, points.shape)
    if len(points) > 4:
        kernel = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 4.36  # preserves the standard deviation
        noise = np.stack([np.convolve(noise[:, axis], kernel, mode="same") for axis in (0, 1)], axis=1)
    return points + noise

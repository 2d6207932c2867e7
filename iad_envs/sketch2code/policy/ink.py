"""Compares pages with the ink of a sketch, and prepares pictures for a model."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iad_envs.browser.images import encoded, opencv

Ink = NDArray[np.float32]
Boxes = Mapping[str, Sequence[Sequence[float]]]

BLURS_PX = (2.0, 5.0, 12.0)
"""Blur radii, from positions of strokes to positions of whole parts, as a sketch is never exact."""
LONG_SIDE_PX = 2000
"""Maximum length of a picture for a model, as in Sketch2Code."""
PAGE_WIDTH_PX = 1280
"""Width of a page in the browser."""


def agreement(ink: Ink, boxes: Boxes) -> float:
    """Return how well boxes (by type, as shares of the page) agree with a sketch's ink, 0-1."""
    drawn = wireframe(boxes, ink.shape)
    similarities = []
    for px in BLURS_PX:
        one, other = _blurred(ink, px), _blurred(drawn, px)
        lengths = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
        similarities.append(float((one * other).sum()) / lengths if lengths else 0.0)
    return float(np.mean(similarities))


def largest_difference(ink: Ink, boxes: Boxes) -> tuple[str, bool]:
    """Return the ninth of a page where its boxes agree least with a sketch, and whether the sketch has more there."""
    px = BLURS_PX[1]
    lacking = _normal(_blurred(ink, px)) - _normal(_blurred(wireframe(boxes, ink.shape), px))
    rows = ("top left", "top", "top right"), ("left", "centre", "right"), ("bottom left", "bottom", "bottom right")
    ninths = {
        name: part
        for names, row in zip(rows, np.array_split(lacking, 3, axis=0), strict=True)
        for name, part in zip(names, np.array_split(row, 3, axis=1), strict=True)
    }
    worst = max(ninths, key=lambda name: float(np.square(ninths[name]).sum()))
    return worst, bool(ninths[worst].sum() > 0)


def ink_of(sketch: NDArray[np.uint8], size: Sequence[int]) -> Ink:
    """Return a sketch's ink, 0-1, scaled to the width of the comparison.

    Args:
        sketch: The observed sketch, shape (height, width, 3).
        size: Height and width of the sketch without its padding.
    """
    cv2 = opencv()
    grey = sketch[: size[0], : size[1], 1]
    ink = (grey < np.median(grey) - 50).astype(np.float32)
    width = 320
    height = max(8, min(1280, round(width * ink.shape[0] / ink.shape[1])))
    return np.asarray(cv2.resize(ink, (width, height), interpolation=cv2.INTER_AREA), dtype=np.float32)


def wireframe(boxes: Boxes, shape: Sequence[int]) -> Ink:
    """Return boxes as a clean drawing: frames, a cross in pictures, and lines for text."""
    cv2 = opencv()
    height, width = shape
    sheet = np.zeros((height, width), dtype=np.uint8)

    def line(x: float, y: float, to_x: float, to_y: float) -> None:
        start, end = (
            (int(np.clip(a * width, -9999, 9999) * 8), int(np.clip(b * height, -9999, 9999) * 8))
            for a, b in ((x, y), (to_x, to_y))
        )
        cv2.line(sheet, start, end, 255, 1, cv2.LINE_AA, 3)

    for kind, of_kind in boxes.items():
        for x, y, w, h in of_kind:
            if kind == "text_block":
                n_lines = max(1, round(h * height / (0.02 * width)))
                for place in range(min(n_lines, height)):
                    middle = y + h * (place + 0.5) / n_lines
                    line(x, middle, x + w, middle)
                continue
            if kind == "divider":
                line(x, y + h / 2, x + w, y + h / 2)
                continue
            for corner in ((x, y, x + w, y), (x, y + h, x + w, y + h), (x, y, x, y + h), (x + w, y, x + w, y + h)):
                line(*corner)
            if kind not in ("nav_bar", "form_table", "button"):
                line(x, y, x + w, y + h)
                line(x + w, y, x, y + h)
    return np.asarray(sheet / 255, dtype=np.float32)


def image_part(picture: NDArray[np.uint8], scale: float | None = None) -> dict[str, Any]:
    """Return a picture as part of a message.

    Args:
        picture: The picture, shape (height, width, 3).
        scale: Scale at which it is sent, so that it can be compared with another picture. What is then beyond 2000
            pixels is cut off. By default it has at most 768 pixels on the short side and 2000 on the long one.
    """
    cv2 = opencv()
    height, width = sent_size(*picture.shape[:2])
    if scale is not None:
        height, width = (max(1, round(side * scale)) for side in picture.shape[:2])
    small = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)[:LONG_SIDE_PX, :LONG_SIDE_PX]
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(encoded(small)).decode()}"}}


def sent_size(height: int, width: int) -> tuple[int, int]:
    """Return the height and width at which a picture is sent to a model."""
    scale = min(1.0, 768 / min(height, width), LONG_SIDE_PX / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def page_scale(height: int, width: int) -> float:
    """Return the scale at which a page is as large as its sketch, whose height and width are given, as it is sent."""
    return sent_size(height, width)[1] / PAGE_WIDTH_PX


def _normal(ink: Ink) -> Ink:
    """Return a drawing scaled to the length 1, so that it does not matter how thick its strokes are."""
    return ink / max(float(np.linalg.norm(ink)), 1e-9)


def _blurred(ink: Ink, px: float) -> Ink:
    return np.asarray(opencv().GaussianBlur(ink, (0, 0), px), dtype=np.float32)

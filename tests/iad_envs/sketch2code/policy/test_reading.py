"""What is read in a sketch: its parts, and what its frames stand for."""

from typing import Any

import numpy as np
import pytest

from iad_envs.sketch2code.layout import Box
from iad_envs.sketch2code.policy.reading import FRAMES, SketchReading, boxes_read, frame_fits, read_sketch
from iad_envs.sketch2code.policy.strokes import StrokeBlock
from iad_envs.sketch2code.sketcher import draw_sketch


def drawn() -> np.ndarray[Any, Any]:
    """A sheet with a bar, a picture, a text beside it, a button, and a form with a text in it."""
    boxes = {
        "nav_bar": [Box(0.02, 0.02, 0.96, 0.07)],
        "image": [Box(0.1, 0.15, 0.4, 0.3)],
        "text_block": [Box(0.6, 0.16, 0.3, 0.1), Box(0.14, 0.6, 0.5, 0.025)],
        "button": [Box(0.6, 0.36, 0.12, 0.05)],
        "form_table": [Box(0.1, 0.53, 0.8, 0.36)],
    }
    return draw_sketch(boxes, (1000, 900), seed=0)


def test_a_drawing_is_read_part_by_part() -> None:
    sheet = drawn()
    reading = read_sketch(sheet, sheet.shape[:2])
    kinds = sorted(block.kind for block in reading.blocks)
    assert kinds == ["frame", "frame", "frame", "image", *["text_block"] * 3]
    (picture,) = (block for block in reading.blocks if block.kind == "image")
    assert picture[1:] == pytest.approx((0.1, 0.135, 0.4, 0.27), abs=0.02)
    text = max((block for block in reading.blocks if block.kind == "text_block"), key=lambda block: block.h)
    assert text.x == pytest.approx(0.6, abs=0.02)
    assert text.h == pytest.approx(0.09, abs=0.02)
    assert reading.height == pytest.approx(0.9, abs=0.01)


def test_an_empty_sheet_has_no_parts() -> None:
    sheet = np.full((300, 400, 3), 255, np.uint8)
    assert read_sketch(sheet, sheet.shape[:2]) == SketchReading((), pytest.approx(0.74, abs=0.06))


def test_frames_are_the_page_s_parts_at_their_place_and_the_words_of_buttons_are_left_out() -> None:
    sheet = drawn()
    reading = read_sketch(sheet, sheet.shape[:2])
    alone = boxes_read(reading, {})
    assert {kind: len(found) for kind, found in alone.items()} == {
        "nav_bar": 1, "form_table": 1, "button": 1, "image": 1, "text_block": 2
    }  # fmt: skip
    (form,) = alone["form_table"]
    as_page = boxes_read(reading, {"nav_bar": [form]})
    assert len(as_page["nav_bar"]) == 2
    assert "form_table" not in as_page


def test_frames_mean_what_their_shape_says() -> None:
    page = SketchReading((), 1.0)
    bar, column = StrokeBlock("frame", 0.0, 0.0, 1.0, 0.06), StrokeBlock("frame", 0.0, 0.0, 0.2, 0.7)
    small, large = StrokeBlock("frame", 0.3, 0.5, 0.1, 0.03), StrokeBlock("frame", 0.3, 0.3, 0.5, 0.4)
    meanings = [max(FRAMES, key=frame_fits(frame, page).__getitem__) for frame in (bar, column, small, large)]
    assert meanings == ["nav_bar", "nav_bar", "button", "form_table"]

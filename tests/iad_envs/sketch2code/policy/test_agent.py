"""The rule-based tracer: what it reads in a sketch, that it knows no more, and how it takes feedback."""

import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import cv2
import numpy as np
import pytest

from iad_envs.core import IADEnv
from iad_envs.sketch2code.layout import Box
from iad_envs.sketch2code.policy.agent import FRAMES, Sketch2CodeAgent, frame_fits
from iad_envs.sketch2code.policy.html import blocks_of, near, without, written
from iad_envs.sketch2code.policy.reading import SketchReading, read_sketch
from iad_envs.sketch2code.policy.strokes import SketchParams, StrokeBlock
from iad_envs.sketch2code.sketcher import draw_sketch
from iad_policy import Candidate, Feedback, State
from iad_policy.types import PublicInfo

BUNDLED = Path(__file__).resolve().parents[4] / "data" / "sketch2code"


def state(sketch: np.ndarray[Any, Any], title: str = "Tea & cake") -> State:
    info = {
        "instruction": f"Write a page.\nThe page's title: {title}",
        "facts": {"sketch_size": list(sketch.shape[:2])},
    }
    return State({"sketch": sketch}, PublicInfo(info, IADEnv.GOLD_INFO))  # asking for more of it raises an error


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


@pytest.fixture(scope="module")
def bundled() -> State:
    image = cv2.imread(str(BUNDLED / "shop-bicycles_0.png"))
    return state(np.asarray(image, dtype=np.uint8))


def pages(
    at: State, feedback: Feedback | None = None, *, seeds: Sequence[int] = range(4), temperature: float | None = None
) -> list[str]:
    agent = Sketch2CodeAgent()
    options: Any = {"feedback": feedback, "temperature": temperature}
    return [agent.propose(at, **options, rng=Random(seed)).action for seed in seeds]


def read(page: str) -> SketchReading:
    reading = blocks_of(page)
    assert reading is not None
    return reading


def test_a_drawing_is_read_part_by_part() -> None:
    sheet = drawn()
    reading = read_sketch(sheet, sheet.shape[:2], SketchParams())
    kinds = sorted(block.kind for block in reading.blocks)
    assert kinds == ["frame", "frame", "frame", "image", *["text_block"] * 3]
    (picture,) = (block for block in reading.blocks if block.kind == "image")
    assert picture[1:] == pytest.approx((0.1, 0.135, 0.4, 0.27), abs=0.02)
    text = max((block for block in reading.blocks if block.kind == "text_block"), key=lambda block: block.h)
    assert text.x == pytest.approx(0.6, abs=0.02)
    assert text.h == pytest.approx(0.09, abs=0.02)
    assert reading.height == pytest.approx(0.9, abs=0.01)


def test_an_empty_sheet_has_no_parts_and_gives_an_empty_page() -> None:
    (page,) = pages(state(np.full((300, 400, 3), 255, np.uint8)), seeds=[0])
    assert read(page) == SketchReading((), pytest.approx(0.74, abs=0.06))


def test_a_cold_tracer_says_what_frames_are_and_leaves_out_the_words_of_buttons() -> None:
    (page,) = pages(state(drawn()), seeds=[0], temperature=0.0)
    kinds = sorted(block.kind for block in read(page).blocks)
    assert kinds == ["button", "form_table", "image", "nav_bar", "text_block", "text_block"]


def test_frames_mean_what_their_shape_says() -> None:
    page = SketchReading((), 1.0)
    bar, column = StrokeBlock("frame", 0.0, 0.0, 1.0, 0.06), StrokeBlock("frame", 0.0, 0.0, 0.2, 0.7)
    small, large = StrokeBlock("frame", 0.3, 0.5, 0.1, 0.03), StrokeBlock("frame", 0.3, 0.3, 0.5, 0.4)
    meanings = [max(FRAMES, key=frame_fits(frame, page).__getitem__) for frame in (bar, column, small, large)]
    assert meanings == ["nav_bar", "nav_bar", "button", "form_table"]


def test_pages_are_whole_follow_from_chance_and_the_sketch_alone_and_are_read_back(bundled: State) -> None:
    written_pages = pages(bundled)
    assert pages(bundled) == written_pages
    assert len(set(written_pages)) == 4
    assert len(set(pages(bundled, temperature=0.0))) == 1
    for page in written_pages:
        assert written(read(page), "Tea & cake") == page
        assert page.startswith("<!DOCTYPE html>")
        assert "<title>Tea &amp; cake</title>" in page
        tags = re.findall(r"<(/?)(\w+)", page)
        opened = [name for end, name in tags if not end and name not in ("meta", "img", "hr")]
        assert sorted(opened) == sorted(name for end, name in tags if end)
    assert blocks_of("<p>someone else's page") is None


def test_an_edited_page_keeps_most_of_best_nothing_of_worst_alone_and_is_neither(bundled: State) -> None:
    best, worst = pages(bundled, seeds=[0, 1])
    only_worst = without(read(worst).blocks, read(best).blocks)
    assert only_worst
    kept = []
    # With seed 11, the first edit makes no difference.
    for page in pages(bundled, Feedback("", best=Candidate(best), worst=Candidate(worst)), seeds=[0, 2, 5, 8, 11, 13]):
        assert page not in (best, worst)
        blocks = read(page).blocks
        kept.append(sum(any(near(old, new, 0.03) for new in blocks) for old in read(best).blocks))
        added = without(blocks, read(best).blocks)
        assert added == without(added, only_worst)
    assert np.mean(kept) > 0.5 * len(read(best).blocks)
    assert len(set(kept)) > 2


def test_a_best_page_of_somebody_else_is_no_hindrance(bundled: State) -> None:
    feedback = Feedback("", best=Candidate("<p>hello</p>"), worst=Candidate("", error="no page"))
    assert pages(bundled, feedback, seeds=[0]) == pages(bundled, seeds=[0])

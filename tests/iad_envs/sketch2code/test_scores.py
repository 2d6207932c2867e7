"""The pure parts of Sketch2Code's scores: boxes, pairings, colours, blocks, answers and sketches; no browser."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_envs.sketch2code.answers import read_answer, texts_of, title_of, unfenced
from iad_envs.sketch2code.blocks import TextBlock
from iad_envs.sketch2code.layout import Box, merge_text, score_layout
from iad_envs.sketch2code.page import RenderedPage, score_pages
from iad_envs.sketch2code.sketcher import draw_sketch
from iad_envs.sketch2code.visual import VisualScore, colour_difference, score_blocks, without_text

whole = st.integers(0, 12).map(float)
rectangles = st.builds(Box, whole, whole, st.integers(1, 6).map(float), st.integers(1, 6).map(float))
pages = st.fixed_dictionaries(dict.fromkeys(("image", "text_block"), st.lists(rectangles, max_size=5)))


def pixels(boxes: list[Box]) -> set[tuple[int, int]]:
    spans = [(range(int(box.x), int(box.x + box.w)), range(int(box.y), int(box.y + box.h))) for box in boxes]
    return {pixel for span in spans for pixel in product(*span)}


@given(pages, pages)
def test_the_score_is_the_share_of_covered_pixels(one: dict[str, list[Box]], other: dict[str, list[Box]]) -> None:
    both = sum(len(pixels(one[kind]) & pixels(other[kind])) for kind in one)
    either = sum(len(pixels(one[kind]) | pixels(other[kind])) for kind in one)
    score = score_layout(one, other)
    assert score.layout == pytest.approx(both / either if either else 0.0, abs=1e-12)
    assert score_layout(other, one).layout == pytest.approx(score.layout, abs=1e-12)
    assert sum(kind.weight for kind in score.kinds.values()) == pytest.approx(1.0 if either else 0.0)
    assert score_layout(one, one).layout == (1.0 if any(one.values()) else 0.0)


def test_thousands_of_boxes_are_scored_joined_as_published_and_pages_of_different_engines_not() -> None:
    boxes = [Box(x / 40, y / 40, 1 / 80, 1 / 80) for x in range(40) for y in range(40)]
    half = score_layout({"image": boxes}, {"image": boxes[:800]})
    assert half.kinds["image"].iou == pytest.approx(0.5)
    assert score_layout({}, {}).layout == 0.0  # as there is no component
    page = RenderedPage({}, 1, 1, "", "A/1")
    for reference, other, said in (
        (page, RenderedPage({}, 1, 1, "", "B/1"), "one engine"),
        (RenderedPage({}, 1, 1, "", "A/1", "too long"), page, "reference that can be rendered"),
    ):
        with pytest.raises(ValueError, match=said):
            score_pages(reference, other)
    for parts, merged in (
        ([(0, 0, 50, 20), (54, 4, 50, 20)], [(0, 0, 104, 24)]),
        *(([(0, 0, 50, 20), apart], [(0, 0, 50, 20), apart]) for apart in ((55, 4, 50, 20), (54, 9, 50, 20))),
        ([(0, 0, 50, 20), (0, 24, 50, 20)], [(0, 0, 50, 44)]), ([(0, 0, 50, 20), (0, 0, 20, 20)], [(0, 0, 50, 20)]),
        # The one that swallowed another is itself inside a later one, and takes it along.
        ([(10, 0, 10, 10), (22, 0, 10, 10), (0, 0, 40, 90)], [(0, 0, 40, 90)]),
    ):  # fmt: skip
        assert merge_text(Box(*box) for box in parts) == [Box(*box) for box in merged], parts


def test_blocks_are_scored_by_area_text_position_and_colour_and_clip_sees_no_text() -> None:
    title = TextBlock("a title", Box(0.1, 0.1, 0.2, 0.1), (0, 0, 0))
    words = TextBlock("some other words", Box(0.1, 0.5, 0.4, 0.1), (0, 0, 0))
    assert score_blocks([title, words], [title, words]) == VisualScore(1.0, 1.0, 1.0, 1.0)
    moved = title._replace(box=Box(0.2, 0.1, 0.2, 0.1))
    score = score_blocks([title, words], [moved])
    assert score.block_match == pytest.approx(0.04 / 0.08)
    assert score.position == pytest.approx(0.9)
    assert score_blocks([title], []) == VisualScore(0.0, 0.0, 0.0, 0.0)
    red, green, blue = (255, 0, 0), (0, 255, 0), (0, 0, 255)
    for one, other, expected in (
        ((12, 200, 7), (12, 200, 7), 0.0), ((0, 0, 0), (255, 255, 255), 100.0), (red, green, 86.6), (red, blue, 52.9)
    ):  # fmt: skip
        assert colour_difference(one, other) == pytest.approx(expected, abs=0.1 if expected < 99 else 0.01)
    assert colour_difference((12, 200, 7), (12, 200, 7)) == 0.0
    assert colour_difference(green, blue) == colour_difference(blue, green)
    image = np.full((60, 100, 3), 255, dtype=np.uint8)
    image[20:30, 20:40] = 0
    shown = without_text(image, [TextBlock("x", Box(0.15, 0.25, 0.3, 0.35), (0, 0, 0))])
    assert shown.shape == (60, 60, 3)
    assert shown.min() > 250
    score = VisualScore(1.0, 0.5, 0.5, 1.0)
    assert (score.final, score.mean_of_four) == (None, 0.75)
    assert score._replace(clip=0.5).final == pytest.approx(0.7)


def test_blocks_are_paired_by_text_whatever_their_order_and_number_and_merged_where_that_fits_better() -> None:
    def block(text: str, *box: float) -> TextBlock:
        return TextBlock(text, Box(*box), (0, 0, 0))

    texts = enumerate(("a title", "XYZ 123", "quick brown fox"))
    three = [block(text, 0.1, 0.2 * place, 0.2, 0.1) for place, text in texts]
    two = [three[2], three[0]]
    for score in (score_blocks(three, two), score_blocks(two, three)):
        assert (score.text, score.position, score.colour) == (1.0, 1.0, 1.0)
        assert score.block_match == pytest.approx(4 / 5)
    line = block("the quick brown fox jumps over", 0.0, 0.0, 0.6, 0.1)
    parts = [block("the quick brown", 0.0, 0.0, 0.3, 0.1), block("fox jumps over", 0.3, 0.0, 0.3, 0.1)]
    assert score_blocks([line], parts) == score_blocks(parts, [line]) == VisualScore(1.0, 1.0, 1.0, 1.0)


def test_answers_are_pages_questions_or_neither() -> None:
    assert read_answer("```html\n<p>a</p>\n```\nand\n```\n<p>b</p>\n```").html == "<p>b</p>"
    for answer in ("<p>b</p>", "```\n<p>b</p>\n```", "```html\n<p>b</p>"):  # the last one was cut off
        assert read_answer(answer).html == "<p>b</p>"
    assert unfenced(unfenced("```html\n<p>b</p>\n```")) == "<p>b</p>"
    assert read_answer("```html\n<p>b</p>\n```", as_published=True).html == "html\n<p>b</p>\n"
    assert read_answer(" ask[how  wide?] ") == ("", "how wide?")
    assert read_answer("2 < 3 and so on") == ("", "")
    html = "<title> A &amp; B </title><style>p{}</style><!-- no --><p>one\n two<b>three</b></p><script>x</script>"
    assert texts_of(html) == ("A & B", "one two", "three")
    assert title_of(html) == "A & B"


def test_a_sketch_is_the_same_for_a_seed_and_never_exact() -> None:
    boxes = {"image": [Box(0.1, 0.1, 0.5, 0.4)], "text_block": [Box(0.1, 0.6, 0.8, 0.2)]}
    first, again, other = (draw_sketch(boxes, (1280, 900), seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    ink = np.argwhere(first[:, :, 0] < 128)
    assert 0.02 < len(ink) / first[:, :, 0].size < 0.2
    assert abs(ink[:, 1].min() / first.shape[1] - 0.1) < 0.04

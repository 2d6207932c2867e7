"""A sketch's task in words."""

from dataclasses import replace

from iad_envs.sketch2code.policy.rendering import HTML_CHARS, SketchRendering, scale_of
from iad_policy.types import State

WORDS = SketchRendering()


def page(html: str, **values: object) -> State:
    shown = {"html": html, "boxes": {}, "width": 1280, "height": 900, "failure": ""}
    return State({}, {"facts": {"sketch_size": [1024, 768]}, "page": {**shown, **values}})


def test_the_scale_is_that_of_the_picture_as_it_is_sent() -> None:
    assert scale_of(3000, 1000).startswith("The sketch is 667 pixels wide and 2000 high.")


def test_how_many_actions_are_left_is_told_where_the_first_page_does_not_end_the_task() -> None:
    of_setting = {
        setting: replace(page(""), steps_left=4, info={"facts": {"setting": setting}})
        for setting in ("direct", "feedback")
    }
    assert WORDS.steps_left(of_setting["direct"]) == ""
    assert "4" in WORDS.steps_left(of_setting["feedback"])


def test_a_page_that_is_empty_or_failed_is_told_as_such() -> None:
    assert WORDS.outcome(page("<p>", failure="too long")) == "too long"
    assert WORDS.outcome(page("<p>", boxes={})) == "It is rendered to 1280 x 900 pixels; it is empty."


def test_a_long_page_is_cut_between_two_tags() -> None:
    html = "<p>text</p>" * HTML_CHARS
    text = WORDS.shown_candidate(html)
    assert text.partition("...")[0].endswith(">")
    assert len(text) < HTML_CHARS + 50

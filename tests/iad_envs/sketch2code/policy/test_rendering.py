"""A sketch's task in words."""

from dataclasses import replace

from iad_envs.sketch2code.policy.rendering import HTML_CHARS, SketchRendering, scale_of
from iad_policy.types import Candidate, State

WORDS = SketchRendering()
TASK = "Write the page."


def page(html: str = "", **values: object) -> State:
    shown = {
        "html": html,
        "boxes": {"image": [[0, 0, 1, 1]] * 2, "video": []},
        "width": 1280,
        "height": 900,
        "failure": "",
    }
    info = {"instruction": TASK, "facts": {"sketch_size": [1024, 768]}, "page": {**shown, **values}}
    return State({"text": f"{TASK}\n\nYour page:\n{html}" if html else TASK}, info)


def test_the_task_is_told_once_with_the_scale_of_the_picture_as_it_is_sent() -> None:
    assert scale_of(3000, 1000).startswith("The sketch is 667 pixels wide and 2000 high.")
    assert scale_of(1024, 768).endswith("1 pixel of the sketch is 1.67 pixels of the page.")
    values = WORDS.values(page("<p>mine</p>"))
    assert values["task"].startswith(f"Task: {TASK}\nThe sketch is 768 pixels wide and 1024 high.")
    assert values["observation"] == "Your page:\n<p>mine</p>"
    assert WORDS.page(page()) == "No page was written yet."


def test_how_many_actions_are_left_is_told_where_the_first_page_does_not_end_the_task() -> None:
    of_setting = {
        setting: replace(page(), steps_left=4, info={"facts": {"setting": setting}})
        for setting in ("direct", "feedback")
    }
    assert WORDS.steps_left(of_setting["direct"]) == ""
    assert "4" in WORDS.steps_left(of_setting["feedback"])


def test_a_judge_is_told_what_a_page_is_rendered_to() -> None:
    candidate = Candidate("<p>mine</p>", preview=page("<p>mine</p>"))
    assert WORDS.candidate(candidate).endswith("It is rendered to 1280 x 900 pixels; images: 2.")
    assert WORDS.candidate(candidate).count("<p>mine</p>") == 1
    assert WORDS.outcome(page("<p>", failure="too long")) == "too long"
    assert WORDS.outcome(page("<p>", boxes={})) == "It is rendered to 1280 x 900 pixels; it is empty."


def test_a_long_page_is_cut_between_two_tags() -> None:
    html = "<p>text</p>" * HTML_CHARS
    text = WORDS.shown_candidate(html)
    assert text.partition("...")[0].endswith(">")
    assert len(text) < HTML_CHARS + 50

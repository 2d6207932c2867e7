"""What is read in a sketch, what a model is shown of it, and what verifiers and critics say of a page."""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.browser.images import decoded
from iad_envs.sketch2code.blocks import TextBlock
from iad_envs.sketch2code.layout import Box, Boxes
from iad_envs.sketch2code.policy.critic import ModelReferenceCritic, ReferenceCritic, reference_critic
from iad_envs.sketch2code.policy.differences import differences, text_differences
from iad_envs.sketch2code.policy.language_agent import Sketch2CodeLanguageAgent
from iad_envs.sketch2code.policy.pictures import image_part
from iad_envs.sketch2code.policy.reading import FRAMES, SketchReading, boxes_read, frame_fits, read_sketch
from iad_envs.sketch2code.policy.rendering import HTML_CHARS, SketchRendering, scale_of
from iad_envs.sketch2code.policy.strokes import StrokeBlock
from iad_envs.sketch2code.policy.verifier import PageJudge, ReferenceVerifier, Sketch2CodeVerifier
from iad_envs.sketch2code.sketcher import draw_sketch
from iad_policy.errors import UnknownName
from iad_policy.models import Completion
from iad_policy.models.scripted import ScriptedModel
from iad_policy.types import Candidate, Feedback, ShownAttempt, State, Verdict
from tests.folders import prompts

SKETCH = np.full((400, 300, 3), 250, dtype=np.uint8)
SKETCH[100:104, 50:250] = 20
BOXES = {"divider": [[50 / 300, 0.25, 200 / 300, 0.01]]}


class Model:
    name = "scripted"

    def __init__(self, answer: str) -> None:
        self._answer, self.asked = answer, list[Any]()

    def complete(self, messages: Any, *, temperature: Any = None, max_tokens: Any = None) -> Completion:
        self.asked.append((messages, temperature, max_tokens))
        return Completion(self._answer)


def state(**page: Any) -> State:
    info = {
        "instruction": "Write the page.",
        "available_actions": ("<html></html>",),
        "facts": {"complaint": "", "sketch_size": [400, 200]},
        "page": {"html": "<p>mine</p>", "boxes": BOXES, "failure": "", "width": 1280, "height": 2560, **page},
    }
    return State({"sketch": SKETCH, "text": "Write the page."}, info)


def previewed(gold: Any = None, **page: Any) -> Candidate:
    preview = state(**page)
    return Candidate("<p>mine</p>", preview=State(preview.observation, preview.info, done=True, gold=gold))


def sizes(content: Any) -> list[tuple[int, ...]]:
    urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    return [decoded(b64decode(url.partition(",")[2]), url[:40]).shape[:2] for url in urls]


def test_a_refinement_shows_pictures_of_the_best_attempt_and_of_the_newest() -> None:
    tried = tuple(Candidate(f"```html\n<p>{text}</p>\n```", key=f"<p>{text}</p>") for text in "abcd")
    shown = tuple(map(ShownAttempt, tried))
    rendered: list[str] = []

    def screenshot(html: str) -> Any:
        rendered.append(html)
        return None if html == "<p>d</p>" else np.zeros((2560, 1280, 3), np.uint8)

    agent = Sketch2CodeLanguageAgent(Model(""), prompts("sketch2code"), screenshot=screenshot)
    last = agent.messages(state(), Feedback("Tried 1: ...", shown[:3], best=tried[1]))[-1]
    assert rendered == ["<p>b</p>", "<p>c</p>"]
    names = [part["text"] for part in last["content"][2:] if part["type"] == "text"]
    assert names == [f"Tried {n}, as a browser renders it, at the scale of the sketch:" for n in (2, 3)]
    assert sizes(last["content"]) == [(400, 200)] * 3
    unrendered = agent.messages(state(), Feedback("Tried 1: ...", shown, best=tried[3]))[-1]
    assert len(unrendered["content"]) == 2
    assert len(agent.messages(state(), Feedback("Best: ...", best=tried[0]))[-1]["content"]) == 2


def test_the_agent_shows_the_sketch_at_the_published_size_and_takes_the_page_with_its_fence() -> None:
    model = Model("Here:\n```html\n<p>page</p>\n```")
    agent = Sketch2CodeLanguageAgent(model, prompts("sketch2code"))
    feedback = Feedback("Best: <p>old</p>")
    candidate = agent.propose(state(), feedback=feedback, temperature=None, rng=Random(0))
    assert (candidate.action, candidate.thought) == ("```html\n<p>page</p>\n```", "Here:")
    ((messages, temperature, max_tokens),) = model.asked
    assert (temperature, max_tokens) == (0.5, 4096)
    sketch, words = messages[-1]["content"]
    assert (sketch["type"], words["type"]) == ("image_url", "text")
    assert "1 pixel of the sketch is 6.40 pixels of the page." in words["text"]
    assert "Best: <p>old</p>" in words["text"]
    assert sizes(messages[-1]["content"]) == [(400, 200)]
    for shape, sent in {(500, 600): (500, 600), (1536, 1536): (768, 768), (6000, 1280): (2000, 427)}.items():
        assert sizes([image_part(np.zeros((*shape, 3), dtype=np.uint8))]) == [sent]
    assert sizes([image_part(np.zeros((9000, 2560, 3), dtype=np.uint8), 0.25)]) == [(2000, 640)]


def test_a_page_of_the_wrong_size_is_told_so() -> None:
    blank = replace(state(), observation={"sketch": np.full_like(SKETCH, 250)})
    high = "pixels high, and should be about"
    for width, height, said in (
        (1280, 2400, ""), (1280, 4000, f"It is 4000 {high} 2560."), (1280, 900, f"It is 900 {high} 2560."),
        (2169, 2560, "It is 2169 pixels wide instead of 1280."),
    ):  # fmt: skip
        (verdict,) = Sketch2CodeVerifier().verify(blank, [previewed(width=width, height=height, boxes={})])
        assert verdict.critique == said


def judged(drawn: Boxes, *pages: Boxes) -> Sequence[Verdict]:
    """The proxy verifier's verdicts on pages of some boxes, where the sketch shows others."""
    sketch = draw_sketch(drawn, (1280, 1280), seed=4)
    here = State({"sketch": sketch, "text": ""}, {**state().info, "facts": {"sketch_size": list(sketch.shape[:2])}})
    return Sketch2CodeVerifier().verify(here, [previewed(width=1280, height=1280, boxes=boxes) for boxes in pages])


PARTS = {
    "nav_bar": [Box(0.0, 0.0, 1.0, 0.08)],
    "image": [Box(0.05, 0.15, 0.4, 0.3), Box(0.05, 0.6, 0.3, 0.3)],
    "text_block": [Box(0.5, 0.15, 0.4, 0.3), Box(0.45, 0.6, 0.5, 0.3)],
}


@pytest.mark.parametrize(("boxes", "said"), [
    ({}, ""),
    ({"image": PARTS["image"][:1]},
     "Images: 2 in the sketch, 1 on the page. There is no image at left 60, top 775, 390 wide and 375 high."),
    ({"image": [Box(0.2, 0.2, 0.4, 0.3), PARTS["image"][1]]},
     "The image at left 255, top 255 should be at left 50, top 190, 530 wide and 390 high."),
    ({"button": [Box(0.8, 0.92, 0.1, 0.05)]}, "The button at left 1025, top 1180 does not belong there."),
    ({"text_block": [Box(0.5, 0.15, 0.4, 0.03)]},
     "Too little text: it covers 1% of the page, and about 28% of the sketch."),
    ({"text_block": [Box(0.4, 0.1, 0.6, 0.9)]},
     "Too much text: it covers 54% of the page, and about 28% of the sketch."),
])  # fmt: skip
def test_what_a_page_lacks_is_told_with_both_numbers(boxes: dict[str, list[Box]], said: str) -> None:
    best, verdict = judged(PARTS, PARTS, {**PARTS, **boxes})
    assert verdict.critique.startswith(said)
    assert bool(verdict.critique) == bool(said) == (verdict.passed is None)
    assert 1 > best.score > 0.7
    assert best.score > verdict.score or not boxes


def test_a_frame_counts_as_what_the_page_has_in_its_place() -> None:
    frame = Box(0.1, 0.3, 0.5, 0.3)
    pages = [{kind: [frame]} for kind in ("form_table", "nav_bar", "button", "image")]
    *framed, image = [verdict.score for verdict in judged(pages[0], *pages)]
    assert min(framed) > 0.85
    assert image == 0.0


@pytest.mark.parametrize(
    ("sees", "label", "n_pictures"), [("images", "oracle", 2), ("html", "oracle", 0), ("sketch", "self", 2)]
)
def test_a_judge_is_labelled_by_what_it_sees(sees: Any, label: str, n_pictures: int) -> None:
    model = Model("Critique: Too narrow.\nScore: 7")
    shown: list[str] = []

    def screenshot(html: str) -> Any:
        shown.append(html)
        return np.zeros((90, 70, 3), dtype=np.uint8)

    judge = PageJudge(model, sees, screenshot)
    gold = {"reference": {"html": "<p>gold</p>"}, "reward_parts": {}} if label == "oracle" else None
    (verdict,) = judge.verify(state(), [previewed(gold)])
    assert judge.information == label
    assert (verdict.score, verdict.critique) == (0.7, "Too narrow.")
    content = model.asked[0][0][-1]["content"]
    assert len(sizes(content) if n_pictures else []) == n_pictures
    assert ("<p>gold</p>" in shown or "<p>gold</p>" in content) == (label == "oracle")


def test_a_judge_needs_its_reference_and_pictures_and_fails_a_page_without_one_unasked() -> None:
    with pytest.raises(ValueError, match="preview with gold"):
        PageJudge(Model(""), "html", lambda html: None).verify(state(), [previewed()])
    with pytest.raises(UnknownName, match="images"):
        PageJudge(Model(""), "smells", lambda html: None)  # type: ignore[arg-type]
    pictures = {"<p>gold</p>": np.zeros((90, 70, 3), dtype=np.uint8)}
    gold = {"reference": {"html": "<p>gold</p>"}, "reward_parts": {}}
    for sees in ("images", "sketch"):
        model = Model("Score: 7")
        (verdict,) = PageJudge(model, sees, pictures.get).verify(state(), [previewed(gold)])  # type: ignore[arg-type]
        assert (verdict.score, verdict.critique) == (-1.0, "the page could not be photographed")
        assert not model.asked
    with pytest.raises(ValueError, match="reference that can be photographed"):
        PageJudge(model, "images", lambda html: None).verify(state(), [previewed(gold)])


def test_the_reference_verifier_reads_its_part_and_a_critic_without_a_model_is_a_template() -> None:
    gold = {"reward_parts": {"layout": 0.25, "text_iou": 0.5, "image_iou": 0.75}}
    for part, expected in gold["reward_parts"].items():
        assert ReferenceVerifier(part).verify(state(), [previewed(gold)])[0].score == expected
    assert ReferenceVerifier().verify(state(), [previewed(gold, failure="too long")])[0].score == -1.0
    with pytest.raises(UnknownName, match="layout"):
        ReferenceVerifier("colour")
    with gym.make("IAD/Sketch2Code-v0") as env:
        for model, source in ((None, "template"), ("template", "template"), (ScriptedModel([], name="wise"), "wise")):
            assert reference_critic(env, model).source == f"reference:{source}"


SIZE = {"width": 1280, "height": 640}
THERE = {"image": [[0.0, 0.5, 0.25, 0.25]], "button": [[0.5, 0.5, 0.125, 0.125]]}
HERE = {"image": [[0.0, 0.5, 0.125, 0.25]], "divider": [[0.0, 0.25, 1.0, 0.015625]]}
NO_BUTTON = "There is no button at left 640, top 320, 160 wide and 80 high."
WIDER = "The image at left 0, top 320 should be at left 0, top 320, 320 wide and 160 high."


def reference(**page: Any) -> dict[str, Any]:
    there = {"html": "<p>gold</p>", "page": {"boxes": THERE, **SIZE}}
    return {"reference": {**there, **page}, "reward_parts": {"layout": 0.5}}


def critic() -> ReferenceCritic:
    return ReferenceCritic(lambda: pytest.fail("no texts are compared without visual=True"))


def test_differences_have_costs_what_costs_most_is_said_first_and_texts_are_named() -> None:
    found = {str(one): one.cost for one in differences({"boxes": THERE, **SIZE}, {"boxes": HERE, **SIZE})}
    assert set(found) == {WIDER, NO_BUTTON, "The divider at left 0, top 160 does not belong there."}
    assert found[NO_BUTTON] == 0.125**2
    page = {"boxes": HERE, **SIZE}
    said = critic().answer("critic", state(), previewed(reference(), **page))
    assert said.startswith("The image at left 0, top 320 should")
    many = {"button": [[0.1, place / 40, 0.05, 0.01] for place in range(40)]}
    crowded = critic().answer("critic", state(), previewed(reference(page={"boxes": many, **SIZE}), **page))
    assert 300 < len(crowded) <= 400
    assert crowded.endswith(".")
    same = previewed(reference(), boxes=THERE, **SIZE)
    assert critic().answer("critic", state(), same) == "No complaint; look once more at the task."
    black, red = (0.0, 0.0, 0.0), (255.0, 0.0, 0.0)
    hours = TextBlock("the opening hours of the shop", Box(0, 0, 0.5, 0.1), red)
    there = [hours, TextBlock("call us", Box(0, 0.5, 0.2, 0.1), black)]
    wrong = 'The text "the opening hours of the shop" should be rgb(255, 0, 0).'
    found = text_differences(there, [hours._replace(colour=black)])
    assert {said for _, said in found} == {'The text "call us" is missing.', wrong}
    assert not list(text_differences(there, there))


@pytest.mark.parametrize("with_model", [False, True])
def test_a_page_that_is_none_is_not_compared(with_model: bool) -> None:
    model = ScriptedModel(lambda messages: pytest.fail("asked"))
    one = ModelReferenceCritic(model, lambda html: None) if with_model else critic()
    assert one.information == "oracle"
    assert one.answer("critic", state(), previewed(reference(), failure="too long")) == "too long"
    assert one.answer("critic", state(), Candidate(None, error="no page")) == "no page"
    with pytest.raises(ValueError, match="preview with gold"):
        one.answer("critic", state(), previewed())
    with pytest.raises(UnknownName, match="critic"):
        one.answer("ranker", state(), previewed(reference()))


@pytest.mark.parametrize("has_pictures", [True, False])
def test_a_model_sees_both_pages_and_its_text_is_cut_and_has_no_markup(has_pictures: bool) -> None:
    asked: list[Any] = []

    def answer(messages: Any) -> str:
        asked.append(messages[-1]["content"])
        return f"The image is too narrow. <p>gold</p>\n```html\n<b>all of it</b>\n```\n{'Wider. ' * 100}"

    shown = np.zeros((90, 70, 3), dtype=np.uint8)
    one = ModelReferenceCritic(ScriptedModel(answer, name="wise"), lambda html: shown if has_pictures else None)
    said = one.answer("critic", state(), previewed(reference()))
    assert said.startswith("The image is too narrow. gold Wider. Wider.")
    assert len(said) == 403  # with its three dots
    (content,) = asked
    text = content[0]["text"] if has_pictures else content
    assert [part["type"] for part in content[1:]] == ["image_url"] * 2 if has_pictures else isinstance(content, str)
    assert "<p>gold</p>" in text
    assert "<p>mine</p>" in text
    assert "quote no markup" in text
    assert one.source == "reference:wise"


def test_a_drawing_is_read_part_by_part_and_frames_mean_what_their_shape_and_place_say() -> None:
    sheet = draw_sketch({
        "nav_bar": [Box(0.02, 0.02, 0.96, 0.07)], "image": [Box(0.1, 0.15, 0.4, 0.3)],
        "text_block": [Box(0.6, 0.16, 0.3, 0.1), Box(0.14, 0.6, 0.5, 0.025)],
        "button": [Box(0.6, 0.36, 0.12, 0.05)], "form_table": [Box(0.1, 0.53, 0.8, 0.36)],
    }, (1000, 900), seed=0)  # fmt: skip
    reading = read_sketch(sheet, sheet.shape[:2])
    kinds = sorted(block.kind for block in reading.blocks)
    assert kinds == ["frame", "frame", "frame", "image", *["text_block"] * 3]
    (picture,) = (block for block in reading.blocks if block.kind == "image")
    assert picture[1:] == pytest.approx((0.1, 0.135, 0.4, 0.27), abs=0.02)
    text = max((block for block in reading.blocks if block.kind == "text_block"), key=lambda block: block.h)
    assert text.x == pytest.approx(0.6, abs=0.02)
    assert text.h == pytest.approx(0.09, abs=0.02)
    assert reading.height == pytest.approx(0.9, abs=0.01)
    # The words of buttons are left out.
    alone = boxes_read(reading, {})
    assert {kind: len(found) for kind, found in alone.items()} == {
        "nav_bar": 1, "form_table": 1, "button": 1, "image": 1, "text_block": 2
    }  # fmt: skip
    (form,) = alone["form_table"]
    as_page = boxes_read(reading, {"nav_bar": [form]})
    assert len(as_page["nav_bar"]) == 2
    assert "form_table" not in as_page
    empty = np.full((300, 400, 3), 255, np.uint8)
    assert read_sketch(empty, (300, 400)) == SketchReading((), pytest.approx(0.74, abs=0.06))
    no_page = SketchReading((), 1.0)
    bar, column = StrokeBlock("frame", 0.0, 0.0, 1.0, 0.06), StrokeBlock("frame", 0.0, 0.0, 0.2, 0.7)
    small, large = StrokeBlock("frame", 0.3, 0.5, 0.1, 0.03), StrokeBlock("frame", 0.3, 0.3, 0.5, 0.4)
    meanings = [max(FRAMES, key=frame_fits(frame, no_page).__getitem__) for frame in (bar, column, small, large)]
    assert meanings == ["nav_bar", "nav_bar", "button", "form_table"]


WORDS = SketchRendering()


def page(html: str, **values: object) -> State:
    shown = {"html": html, "boxes": {}, "width": 1280, "height": 900, "failure": ""}
    return State({}, {"facts": {"sketch_size": [1024, 768]}, "page": {**shown, **values}})


def test_words_tell_the_scale_the_actions_left_and_how_a_page_came_out_and_cut_it_between_two_tags() -> None:
    assert scale_of(3000, 1000).startswith("The sketch is 667 pixels wide and 2000 high.")
    for setting, said in (("direct", ""), ("feedback", "4")):  # there the first page does not end the task
        told = WORDS.steps_left(replace(page(""), steps_left=4, info={"facts": {"setting": setting}}))
        assert (said in told, bool(told)) == (True, bool(said))
    assert WORDS.outcome(page("<p>", failure="too long")) == "too long"
    assert WORDS.outcome(page("<p>", boxes={})) == "It is rendered to 1280 x 900 pixels; it is empty."
    text = WORDS.shown_candidate("<p>text</p>" * HTML_CHARS)
    assert text.partition("...")[0].endswith(">")
    assert len(text) < HTML_CHARS + 50

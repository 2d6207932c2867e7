"""What a model is shown of a sketch, and how its page and its verdict are read; the model is scripted."""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from iad_envs.browser.images import decoded
from iad_envs.sketch2code.layout import Box, Boxes
from iad_envs.sketch2code.policy.language_agent import Sketch2CodeLanguageAgent
from iad_envs.sketch2code.policy.pictures import image_part
from iad_envs.sketch2code.policy.verifier import PageJudge, ReferenceVerifier, Sketch2CodeVerifier
from iad_envs.sketch2code.sketcher import draw_sketch
from iad_policy.errors import UnknownName
from iad_policy.models import Completion
from iad_policy.types import Candidate, Feedback, ShownAttempt, State, Verdict
from tests.folders import prompts

SKETCH = np.full((400, 300, 3), 250, dtype=np.uint8)
SKETCH[100:104, 50:250] = 20
BOXES = {"divider": [[50 / 300, 0.25, 200 / 300, 0.01]]}


class Model:
    name = "scripted"

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self.asked: list[Any] = []

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
    tried = tuple(
        Candidate(f"```html\n{html}\n```", key=html) for html in ("<p>a</p>", "<p>b</p>", "<p>c</p>", "<p>d</p>")
    )
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


def test_the_agent_shows_the_sketch_without_its_frame_and_takes_the_page_with_its_fence() -> None:
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


def test_pictures_are_sent_at_the_published_size_and_what_runs_over_its_scale_is_cut_off() -> None:
    for shape, sent in {(500, 600): (500, 600), (1536, 1536): (768, 768), (6000, 1280): (2000, 427)}.items():
        assert sizes([image_part(np.zeros((*shape, 3), dtype=np.uint8))]) == [sent]
    assert sizes([image_part(np.zeros((9000, 2560, 3), dtype=np.uint8), 0.25)]) == [(2000, 640)]


@pytest.mark.parametrize(
    ("width", "height", "said"),
    [
        (1280, 2400, ""),
        (1280, 4000, "It is 4000 pixels high, and should be about 2560."),
        (1280, 900, "It is 900 pixels high, and should be about 2560."),
        (2169, 2560, "It is 2169 pixels wide instead of 1280."),
    ],
)
def test_a_page_of_the_wrong_size_is_told_so(width: int, height: int, said: str) -> None:
    blank = replace(state(), observation={"sketch": np.full_like(SKETCH, 250)})
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


@pytest.mark.parametrize(
    ("boxes", "said"),
    [
        ({}, ""),
        (
            {"image": PARTS["image"][:1]},
            "Images: 2 in the sketch, 1 on the page. There is no image at left 60, top 775, 390 wide and 375 high.",
        ),
        (
            {"image": [Box(0.2, 0.2, 0.4, 0.3), PARTS["image"][1]]},
            "The image at left 255, top 255 should be at left 50, top 190, 530 wide and 390 high.",
        ),
        ({"button": [Box(0.8, 0.92, 0.1, 0.05)]}, "The button at left 1025, top 1180 does not belong there."),
        (
            {"text_block": [Box(0.5, 0.15, 0.4, 0.03)]},
            "Too little text: it covers 1% of the page, and about 28% of the sketch.",
        ),
        (
            {"text_block": [Box(0.4, 0.1, 0.6, 0.9)]},
            "Too much text: it covers 54% of the page, and about 28% of the sketch.",
        ),
    ],
)
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


def test_the_reference_verifier_reads_its_part_of_the_score() -> None:
    gold = {"reward_parts": {"layout": 0.25, "text_iou": 0.5, "image_iou": 0.75}}
    for part, expected in gold["reward_parts"].items():
        assert ReferenceVerifier(part).verify(state(), [previewed(gold)])[0].score == expected
    assert ReferenceVerifier().verify(state(), [previewed(gold, failure="too long")])[0].score == -1.0
    with pytest.raises(UnknownName, match="layout"):
        ReferenceVerifier("colour")

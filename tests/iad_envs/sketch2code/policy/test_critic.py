"""Critics that see the reference: what they say of a page."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.sketch2code.blocks import TextBlock
from iad_envs.sketch2code.layout import Box
from iad_envs.sketch2code.policy.critic import ModelReferenceCritic, ReferenceCritic, reference_critic
from iad_envs.sketch2code.policy.differences import differences, text_differences
from iad_policy.errors import UnknownName
from iad_policy.models.scripted import ScriptedModel
from iad_policy.types import Candidate
from tests.iad_envs.sketch2code.policy.test_language_agent import previewed, state

SIZE = {"width": 1280, "height": 640}
THERE = {"image": [[0.0, 0.5, 0.25, 0.25]], "button": [[0.5, 0.5, 0.125, 0.125]]}
HERE = {"image": [[0.0, 0.5, 0.125, 0.25]], "divider": [[0.0, 0.25, 1.0, 0.015625]]}
SAID = {
    "The image at left 0, top 320 should be at left 0, top 320, 320 wide and 160 high.",
    "There is no button at left 640, top 320, 160 wide and 80 high.",
    "The divider at left 0, top 160 does not belong there.",
}


def reference(**page: Any) -> dict[str, Any]:
    there = {"html": "<p>gold</p>", "page": {"boxes": THERE, **SIZE}}
    return {"reference": {**there, **page}, "reward_parts": {"layout": 0.5}}


def critic() -> ReferenceCritic:
    return ReferenceCritic(lambda: pytest.fail("no texts are compared without visual=True"))


def test_differences_are_said_with_their_costs() -> None:
    found = {str(one): one.cost for one in differences({"boxes": THERE, **SIZE}, {"boxes": HERE, **SIZE})}
    assert set(found) == SAID
    assert found["There is no button at left 640, top 320, 160 wide and 80 high."] == 0.125**2
    assert not list(differences({"boxes": THERE, **SIZE}, {"boxes": THERE, **SIZE}))


def test_the_template_says_what_costs_most_first_and_no_more_than_100_tokens() -> None:
    page = {"boxes": HERE, **SIZE}
    said = critic().answer("critic", state(), previewed(reference(), **page))
    assert said.startswith("The image at left 0, top 320 should")
    many = {"button": [[0.1, place / 40, 0.05, 0.01] for place in range(40)]}
    crowded = critic().answer("critic", state(), previewed(reference(page={"boxes": many, **SIZE}), **page))
    assert 300 < len(crowded) <= 400
    assert crowded.endswith(".")
    same = previewed(reference(), boxes=THERE, **SIZE)
    assert critic().answer("critic", state(), same) == "No complaint; look once more at the task."


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


def test_texts_that_are_missing_or_of_another_colour_are_named() -> None:
    black, red = (0.0, 0.0, 0.0), (255.0, 0.0, 0.0)
    there = [
        TextBlock("the opening hours of the shop", Box(0, 0, 0.5, 0.1), red),
        TextBlock("call us", Box(0, 0.5, 0.2, 0.1), black),
    ]
    found = text_differences(there, [there[0]._replace(colour=black)])
    assert {said for _, said in found} == {
        'The text "call us" is missing.',
        'The text "the opening hours of the shop" should be rgb(255, 0, 0).',
    }
    assert not list(text_differences(there, there))


@pytest.mark.parametrize(
    ("model", "source"),
    [(None, "template"), ("template", "template"), (ScriptedModel([], name="wise"), "wise")],
)
def test_without_a_name_the_model_is_the_agents_or_a_template(model: Any, source: str) -> None:
    with gym.make("IAD/Sketch2Code-v0") as env:
        assert reference_critic(env, model).source == f"reference:{source}"

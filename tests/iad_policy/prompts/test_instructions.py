"""The words of a refinement: its instruction, and those that fit what the feedback shows."""

from dataclasses import replace
from typing import Any

import pytest

from iad_policy.agents.language import LanguageAgent
from iad_policy.errors import UnknownName
from iad_policy.models.scripted import ScriptedModel
from iad_policy.prompts import Prompts
from iad_policy.prompts.feedback import feedback_text
from iad_policy.strategies.building_blocks.feedback_forms import fingerprint
from iad_policy.types import DIFFER, INSTRUCTIONS, Candidate, Feedback, Said, ShownAttempt, State
from tests.folders import FOLDERS, prompts

GOOD, BAD = (Candidate(name, key=name) for name in ("good", "bad"))
ONE = (ShownAttempt(GOOD, "best"),)
TWO = (*ONE, ShownAttempt(BAD, "worst"))
LAST = "Check what the task asks for, part by part."


def asked(instruct: str, *attempts: ShownAttempt) -> str:
    """What stands behind the feedback."""
    text = Prompts().refinement(Feedback("shown", attempts, best=GOOD, instruction=instruct))
    return text.partition("shown")[2].strip()


@pytest.mark.parametrize(
    ("instruct", "of_one", "of_two"),
    [
        (  # equation 5 of arXiv 2504.01931 v2 says nothing of differing or of repeating
            "improve",
            "Now propose an action. It should be better than what you proposed.",
            "Now propose an action. It should be better than the best of them and avoid the mistakes of the worst.",
        ),
        (
            "differ",
            f"{LAST} Then propose an action that differs from it. Only if you are sure that it is right, repeat it "
            "exactly.",
            f"{LAST} Then propose an action that differs from all of them. Only if you are sure that one of them is "
            "right, repeat that one exactly.",
        ),
        (
            "fix",
            "First find what is wrong with what you proposed, and name it where you write a thought. Then propose an "
            "action without that fault.",
            "First find what is wrong with the best of them, and name it where you write a thought. Then propose an "
            "action without that fault.",
        ),
        ("reflect", *[f"Reflect on what you proposed and improve on it. {LAST} Keep to the form of the answer."] * 2),
        ("none", "", ""),
    ],
)
def test_an_instruction_has_its_words_for_one_proposal_and_for_several(instruct: str, of_one: str, of_two: str) -> None:
    assert (asked(instruct, *ONE), asked(instruct, *TWO)) == (of_one, of_two)


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_instruction_makes_another_question_of_the_same_feedback(folder: str) -> None:
    told = [Feedback("shown", TWO, best=GOOD, worst=BAD, instruction=name) for name in INSTRUCTIONS]
    agent = LanguageAgent(ScriptedModel([]), prompts(folder))
    state = State("page", {"instruction": "buy a lamp", "available_actions": ("click[b0]",)})
    texts = [agent.messages(state, one)[-1]["content"] for one in told]
    assert len(set(texts)) == len({fingerprint(one) for one in told}) == len(INSTRUCTIONS)
    assert all("shown" in text or "good" in text for text in texts)  # BIRD words the candidates itself
    shop = "Go through the kind, each attribute, each option and the price that the instruction names."
    assert any("Reflect" in text and shop in text for text in texts) == (folder == "webshop")


RED = ShownAttempt(Candidate("click[red]", key="red"))
BLUE = ShownAttempt(Candidate("click[blue]", key="blue"))


def led_to(one: ShownAttempt, seen: str = "seen", failure: str = "") -> ShownAttempt:
    return replace(one, outcome=State(seen, {}, key=seen, failure=failure))


def shown(one: ShownAttempt, shown_as: Any, *said: Said) -> ShownAttempt:
    return replace(one, shown_as=shown_as, said=said)


def refined(folder: str, *attempts: ShownAttempt, **options: Any) -> tuple[str, str]:
    """Return the words around a feedback, and the feedback in words."""
    feedback = Feedback(attempts=attempts, **options)
    feedback = replace(feedback, text=feedback_text(feedback, prompts(folder).rendering))
    return prompts(folder).refinement(feedback), prompts(folder).rendering.told(feedback)


SHOWN_IN_PART = ("sketch2code",)
"""Folders of environments whose actions are too long to be shown in full, so that none can be repeated."""


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize(
    ("attempts", "n", "has_results", "has_failed"),
    [
        ([shown(RED, "best")], 1, False, False),
        ([replace(shown(RED, "best"), score=0.5)], 1, False, False),
        ([shown(RED, "best", Said("review", "too dear"))], 1, False, False),
        ([shown(RED, "best"), shown(BLUE, "worst")], 2, False, False),
        ([led_to(RED)], 1, True, False),
        ([led_to(RED), led_to(BLUE)], 2, True, False),
        ([RED, RED], 2, False, False),
        ([shown(RED, "last", Said("output", "Error: none such"), Said("reward", "0"))], 1, True, False),
        ([shown(RED, "last", Said("error", "no such file"))], 1, True, True),
        ([shown(RED, "last", Said("review", "name the folder"))], 1, False, False),
        ([led_to(RED, failure="no such button")], 1, True, True),
        ([ShownAttempt(Candidate(None, error="expected a line"))], 1, False, True),
        ([led_to(RED, "x", "x"), led_to(RED, "x", "x"), led_to(BLUE, "x", "x")], 3, True, True),
        ([led_to(RED, failure="x"), led_to(BLUE)], 2, True, False),
        ([led_to(RED, "Result: it failed: is printed"), led_to(BLUE)], 2, True, False),
    ],
)
def test_its_words_fit_what_the_feedback_shows(
    folder: str, attempts: list[ShownAttempt], n: int, has_results: bool, has_failed: bool
) -> None:
    text, feedback = refined(folder, *attempts)
    assert feedback in text
    around = text.replace(feedback, "")
    assert (prompts(folder).part("reflection") in text) is has_results
    assert ("results" in around.lower()) is has_results
    assert ("these" in around) is (n > 1)
    may_repeat = folder not in SHOWN_IN_PART and not has_failed
    assert ("it is right, repeat it exactly" in around) is (n == 1 and may_repeat)
    assert around.endswith("exactly.") is may_repeat


@pytest.mark.parametrize("folder", FOLDERS)
def test_hints_show_no_attempt_and_need_no_words_around_them(folder: str) -> None:
    assert refined(folder, replace(RED, shown_as="unshown", findings="too dear"))[0] == "Mind:\n- too dear"


def test_an_unknown_instruction_is_refused() -> None:
    with pytest.raises(UnknownName, match=DIFFER):
        refined("any", RED, instruction="shout")

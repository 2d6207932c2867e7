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


THEM, ONE_OF = "the best of them", "Only if you are sure that"


@pytest.mark.parametrize(
    ("instruct", "of_one", "of_two"),
    [  # equation 5 of arXiv 2504.01931 v2 says nothing of differing or of repeating
        ("improve", ["better than what you proposed"], [f"better than {THEM}", "avoid the mistakes of the worst"]),
        (
            "differ",
            [LAST, "differs from it.", f"{ONE_OF} it is right, repeat it exactly."],
            [LAST, "differs from all of them.", f"{ONE_OF} one of them is right, repeat that one exactly."],
        ),
        ("fix", ["what is wrong with what you proposed", "without that fault"], [f"what is wrong with {THEM}"]),
        ("reflect", *[["Reflect on what you proposed", LAST, "Keep to the form"]] * 2),
        ("none", [], []),
    ],
)
def test_an_instruction_has_its_words_for_one_proposal_and_for_several(
    instruct: str, of_one: list[str], of_two: list[str]
) -> None:
    for shown, said in ((ONE, of_one), (TWO, of_two)):
        text = asked(instruct, *shown)
        assert [part for part in said if part not in text] == []
        assert bool(text) == bool(said)
        assert ("differ" in text, "repeat" in text) == (instruct == "differ", instruct == "differ")


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
LEFT = "Result: it failed: is printed"
FEEDBACK: list[tuple[list[ShownAttempt], bool, bool]] = [
    ([shown(RED, "best")], False, False),
    ([replace(shown(RED, "best"), score=0.5)], False, False),
    ([shown(RED, "best", Said("review", "too dear"))], False, False),
    ([shown(RED, "best"), shown(BLUE, "worst")], False, False),
    ([led_to(RED)], True, False),
    ([led_to(RED), led_to(BLUE)], True, False),
    ([RED, RED], False, False),
    ([shown(RED, "last", Said("output", "Error: none such"), Said("reward", "0"))], True, False),
    ([shown(RED, "last", Said("error", "no such file"))], True, True),
    ([led_to(RED, failure="no such button")], True, True),
    ([ShownAttempt(Candidate(None, error="expected a line"))], False, True),
    ([led_to(RED, "x", "x"), led_to(RED, "x", "x"), led_to(BLUE, "x", "x")], True, True),
    ([led_to(RED, failure="x"), led_to(BLUE)], True, False),
    ([led_to(RED, LEFT), led_to(BLUE)], True, False),
]
"""Attempts, whether they have results, and whether all of them have failed."""


@pytest.mark.parametrize("folder", FOLDERS)
def test_its_words_fit_what_the_feedback_shows(folder: str) -> None:
    for attempts, has_results, has_failed in FEEDBACK:
        text, feedback = refined(folder, *attempts)
        assert feedback in text
        around = text.replace(feedback, "")
        assert (prompts(folder).part("reflection") in text) is has_results, attempts
        assert ("results" in around.lower()) is has_results, attempts
        assert ("these" in around) is (len(attempts) > 1), attempts
        may_repeat = folder not in SHOWN_IN_PART and not has_failed
        assert ("it is right, repeat it exactly" in around) is (len(attempts) == 1 and may_repeat), attempts
        assert around.endswith("exactly.") is may_repeat, attempts
    hint = refined(folder, replace(RED, shown_as="unshown", findings="too dear"))[0]
    assert hint == "Mind:\n- too dear"  # no attempt is shown, so no words are needed around it


def test_an_unknown_instruction_is_refused() -> None:
    with pytest.raises(UnknownName, match=DIFFER):
        refined("any", RED, instruction="shout")

"""Instructions: what a refinement asks for, apart from what it shows."""

import pytest

from iad_policy.agents.language import LanguageAgent
from iad_policy.models.scripted import ScriptedModel
from iad_policy.prompts import Prompts
from iad_policy.strategies.building_blocks.feedback_forms import fingerprint
from iad_policy.types import INSTRUCTIONS, Candidate, Feedback, ShownAttempt, State
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

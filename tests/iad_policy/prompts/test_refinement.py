"""The words that ask for another proposal fit what the feedback shows."""

import pytest

from iad_policy.strategies.building_blocks.feedback import HINTS
from tests.folders import FOLDERS, prompts

ONE = "Tried 1: click[red]\nResult: Selected: color = red\nFindings: size is open."
TWO = f"{ONE}\nTried 2: click[buy now]\nResult: it ends the task"
SHOWN_IN_PART = ("sketch2code",)
"""Folders of environments whose actions are too long to be shown in full, so that none can be repeated."""


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize(
    ("feedback", "n", "has_results"),
    [
        ("Best: click[red]", 1, False),
        ("Best: click[red]\nScore: 0.5", 1, False),
        ("Best: click[red]\nReview: too dear", 1, False),
        ("Best: click[red]\nWorst: click[blue]", 2, False),
        (ONE, 1, True),
        (TWO, 2, True),
        ("Tried 1: click[red]\nTried 2: the same as 1.", 2, False),
        ("Last: ls /x\nOutput: ls: cannot access '/x'\nReward: 0", 1, True),
        ("Last: ls /x\nError: no such file", 1, True),
        ("Last: ls /x\nReview: name the folder", 1, False),
    ],
)
def test_it_speaks_of_results_and_of_several_attempts_only_where_there_are_some(
    folder: str, feedback: str, n: int, has_results: bool
) -> None:
    own = prompts(folder)
    text = own.refinement(feedback)
    assert feedback in text
    assert (own.part("reflection") in text) is has_results
    assert ("results" in text.replace(feedback, "").lower()) is has_results
    assert ("these" in text) is (n > 1)
    may_repeat = folder not in SHOWN_IN_PART and "Error:" not in feedback
    assert ("it is right, repeat it exactly" in text) is (n == 1 and may_repeat)
    assert text.endswith("exactly.") is may_repeat


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize(
    ("feedback", "may_repeat"),
    [
        ("Tried 1: click[red]\nResult: it failed: no such button", False),
        ("Tried 1, which is no action: unreadable answer: expected a line", False),
        ("Tried 1: a\nResult: it failed: x\nTried 2: the same as 1.\nTried 3: b\nResult: equal to that of 1.", False),
        ("Tried 1: a\nResult: it failed: x\nTried 2: b\nResult: it ends the task", True),
        ("Tried 1: a\nResult: one\nError: two is a word of this output\nTried 2: b\nResult: equal to that of 1.", True),
    ],
)
def test_what_has_failed_may_not_be_repeated(folder: str, feedback: str, may_repeat: bool) -> None:
    text = prompts(folder).refinement(feedback).replace(feedback, "")
    assert ("exactly" in text) is (may_repeat and folder not in SHOWN_IN_PART)


@pytest.mark.parametrize("folder", FOLDERS)
def test_hints_show_no_attempt_and_need_no_words_around_them(folder: str) -> None:
    assert prompts(folder).refinement(f"{HINTS}\n- too dear") == "Mind:\n- too dear"

"""The words of a refinement, and those for the states of any environment."""

import os
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from iad_policy.agents.language import LanguageAgent
from iad_policy.errors import UnknownName
from iad_policy.models.scripted import ScriptedModel
from iad_policy.prompts import Prompts
from iad_policy.prompts.feedback import feedback_text
from iad_policy.prompts.rendering import N_LEFT_OUT, N_OLD_TURNS, Rendering, n_left_out, without_middle
from iad_policy.strategies.building_blocks.feedback_forms import fingerprint
from iad_policy.types import AWAITING, INSTRUCTIONS, Candidate, Feedback, Move, Said, ShownAttempt, State, Turn, Verdict
from iad_policy.types.texts import clipped, shortened
from tests.folders import FOLDERS, prompts

GOOD, BAD = (Candidate(name, key=name) for name in ("good", "bad"))
ONE = (ShownAttempt(GOOD, "best"),)
TWO = (*ONE, ShownAttempt(BAD, "worst"))
SNAPSHOT = Path(__file__).parent / "snapshots" / "instructions.txt"
WRITES = bool(os.environ.get("IAD_WRITE_SNAPSHOTS"))


def asked(instruct: str, *attempts: ShownAttempt) -> str:
    """What stands behind the feedback."""
    text = Prompts().refinement(Feedback("shown", attempts, best=GOOD, instruction=instruct))
    return text.partition("shown")[2].strip()


def test_an_instruction_has_its_words_for_one_proposal_and_for_several() -> None:
    """Equation 5 of arXiv 2504.01931 v2 says nothing of differing or of repeating."""
    said = "".join(f"--- {name}\n{asked(name, *ONE)}\n{asked(name, *TWO)}\n" for name in INSTRUCTIONS)
    if WRITES:
        SNAPSHOT.write_text(said, encoding="utf-8")
    assert said == SNAPSHOT.read_text(encoding="utf-8")
    with pytest.raises(UnknownName, match="differ"):
        asked("shout", *ONE)


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
    ([led_to(RED, "Result: it failed: is printed"), led_to(BLUE)], True, False),
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
        may_repeat = folder != "sketch2code" and not has_failed  # whose pages are too long to be shown in full
        assert ("it is right, repeat it exactly" in around) is (len(attempts) == 1 and may_repeat), attempts
        assert around.endswith("exactly.") is may_repeat, attempts
    hint = refined(folder, replace(RED, shown_as="unshown", findings="too dear"))[0]
    assert hint == "Mind:\n- too dear"  # no attempt is shown, so no words are needed around it


WORDS = Rendering()
START = State("a door", {"instruction": "get in", "step": 0}, steps_left=9)


def after(*actions: str, seen: str = "a hall", done: bool = False, **info: Any) -> State:
    """Return a simulated state after actions from the start."""
    turns = tuple(Turn(START.observation if not place else f"room {place}", one) for place, one in enumerate(actions))
    path = tuple(Move(action, 0) for action in actions)
    return State(seen, {**START.info, **info}, history=turns, path=path, done=done, steps_left=9 - len(actions))


def test_a_turn_of_the_history_reads_the_same_later() -> None:
    short, long = after("knock", "open"), after("knock", "open", "enter", "sit")
    assert WORDS.turns(short) == ["0. a door", "1. knock\n   room 1", "2. open"]
    assert WORDS.turns(long)[:3] == ["0. a door", "1. knock\n   room 1", "2. open\n   room 2"]
    assert WORDS.turns(long, since=2) == ["3. enter\n   room 3", "4. sit"]


def test_turns_are_left_out_in_blocks_so_that_the_beginning_rarely_changes() -> None:
    for n_turns in range(200):
        left_out = n_left_out(n_turns)
        assert left_out % N_LEFT_OUT == 0
        assert n_turns - left_out <= N_OLD_TURNS
        assert left_out == 0 or n_turns - left_out > N_OLD_TURNS - N_LEFT_OUT


def test_an_attempt_is_told_once_with_its_last_page_and_how_it_ended() -> None:
    end = after("knock", "open", seen="a hall with a lamp")
    last = Candidate("open", key="open", preview=end, verdict=Verdict(0.2, "the wrong door"))
    text = WORDS.subject(START, [end, last])
    assert (text.count("open"), text.count("a hall with a lamp")) == (1, 1)
    assert "At the end:\na hall with a lamp" in text
    assert text.endswith("A verifier said of the last action: the wrong door")
    for state, words in (
        (after("knock"), "stopped after 1 action, before the task was over. That it has no end is not"),
        (after("knock", "open"), "stopped after 2 actions,"),
        (after("knock", done=True, stop_reason="done"), "The last action ended the task."),
        (after("knock", done=True, stop_reason="max_steps"), "The task ended there, as no action was left."),
        (after("knock", done=True, stop_reason=AWAITING), "only the world can answer the last action"),
    ):
        assert words in WORDS.attempt(START, state)
    # What a real episode came to is no stopped simulation.
    assert WORDS.attempt(START, replace(after("knock"), path=())) == "1. knock\nAt the end:\na hall"


def test_candidates_are_numbered_where_there_are_several() -> None:
    one, other = Candidate("knock"), Candidate("ring", error="", verdict=Verdict(0.1, "nobody hears it"))
    assert WORDS.subject(START, one) == "Action: knock"
    assert WORDS.subject(START, [one, other]) == "1. Action: knock\n\n2. Action: ring\nA reviewer said: nobody hears it"
    assert WORDS.subject(START, Candidate(None, error="no action")) == "An answer that is no action: no action"


@pytest.mark.parametrize("text", ["$1.99, $20.95, $30.99, " * 3, "one two three " * 4, "Ab. Cd. Ef. " * 5, "x" * 60])
def test_a_cut_text_ends_with_a_whole_word_or_price(text: str) -> None:
    for limit, cut in product(range(20, 60), (shortened, clipped)):
        short = cut(text, limit)
        head = short.rpartition("... (")[0] or short.removesuffix("...")
        assert text.startswith(head)
        assert len(head) <= max(limit, len(text) if short == text else 0)
        if short != text and " " in text:
            assert text[len(head)] in " ,;"


def test_the_middle_of_an_output_goes_and_its_last_line_stays() -> None:
    output = "\n".join([*(f"line {number}" for number in range(500)), "[exit code 1]"])
    text = without_middle(output, 600)
    assert (text[:7], text[-14:], len(text) < 700) == ("line 0\n", "\n[exit code 1]", True)
    assert "characters left out" in text
    assert without_middle("short", 600) == "short"
    assert len(without_middle("x" * 5000, 600)) < 700


def test_the_actions_left_are_told() -> None:
    told = [WORDS.steps_left(replace(START, steps_left=left)) for left in (9.0, 1.0, float("inf"))]
    assert told == ["Actions left: 9.", "Actions left: 1.", ""]

"""The proxy verifier of tool calls: what a model gets wrong scores below what it gets right, and says why."""

from random import Random

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.policy.mistakes import wrong_response
from iad_envs.toolcalls.policy.verifier import KEPT, CallVerifier
from iad_policy.types import Candidate
from iad_policy.verifiers import load_verifier
from tests.iad_envs.toolcalls.policy.talks import Talk

NOTE, SEEDS, LOAN, REMIND = "multi_turn_base_1", "multi_turn_base_13", "multi_turn_miss_param_14", "agent_multi_step_0"
MOVE = "[move_note(title='choir', folder='garden')]"
FAILS = "[move_note(title='choir', folder='no such folder')]"
FERRY = "ferry_line.departures(harbour='Port Tiverley', day='2026-08-29')"
SOW = "[sow_seeds(bed_id='BD-58', species='fennel', count=19)]"
CAKE = "[bakery_order_cake(cake='walnut cake', day='2026-05-05')]"
LIST = "[list_reminders(day='2026-04-02')]"
RESERVE = "[reserve_book(book_id='BK-7', member_id='MB-9')]"
REPAIR = "[tailor.repair_price(damage='frayed cuff', pieces=3, speed='express')]"


def test_it_is_a_proxy_that_needs_a_preview_and_takes_nothing_else() -> None:
    loaded = load_verifier("proxy", gym.make("IAD/BFCL-v0"))
    assert (loaded.information, loaded.needs_preview) == ("proxy", True)
    talk = Talk(NOTE)
    with pytest.raises(ValueError, match=r"a preview of 'reply\[Hm\]'"):
        CallVerifier().verify(talk.state, [Candidate("reply[Hm]")])
    for action in ("Well, let me think.", "[move_note('choir')]", "[f(", ""):  # invalid
        found = talk.verdict(action)
        assert (found.score, "expected" in found.critique) == (0.0, True), action


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (FAILS, "tool_error"),
        ("[move_notes(title='choir', folder='garden')]", "unknown_function"),
        ("[move_note(title='choir')]", "missing_argument"),
        ("[move_note(title='choir', folder='garden', now=True)]", "unknown_argument"),
        ("[move_note(title='choir', folder=['garden'])]", "wrong_type"),
        ("[search_notes(words='accordion')]", "ungrounded_argument"),
    ],
)
def test_what_is_found_takes_its_share_and_is_said(action: str, code: str) -> None:
    talk = Talk(NOTE)
    preview = talk.tried(action).preview
    assert preview is not None
    (message,) = [one["message"] for one in preview.info["facts"]["findings"] if one["code"] == code]
    found = talk.verdict(action)
    assert found.score <= KEPT[code]
    assert message in found.critique


@pytest.mark.parametrize(
    ("task_id", "before", "better", "worse"),
    [
        # Values of the request that are still unused lead on; what was made already doesn't.
        (NOTE, (), MOVE, "[show_folder()]"),
        (NOTE, (), MOVE, "[tag_note(title='choir', tag='x')]"),
        (NOTE, (), "[show_folder()]", "reply[Hm.]"),
        (NOTE, (MOVE,), "reply[Done.]", MOVE),
        (NOTE, (MOVE,), "reply[Done.]", "[show_folder()]"),
        # One that looks up what the next one needs comes before the end of the turn.
        (SEEDS, ("[find_beds(zone='south house')]",), SOW, "reply[Done.]"),
        (SEEDS, (), "[find_beds(zone='south house')]", SOW),
        # Words are worth what was done: claims of work that no call did are worth the least.
        (NOTE, (), "reply[Which folder do you mean?]", "reply[Hm.]"),
        (NOTE, (), "reply[Hm.]", "reply[I have moved the note.]"),
        (NOTE, (FAILS,), "reply[I can't find that folder.]", "reply[It is in the garden now.]"),
        (NOTE, (FAILS,), MOVE, "reply[I can't find that folder.]"),
        (NOTE, (FAILS,), MOVE, FAILS),
        # A value that nobody has said is asked for.
        (LOAN, ("reply[80 miles.]",), "reply[Who, and which book?]", RESERVE),
        ("special_incomplete_0", (), "reply[Missing necessary parameters (day).]", CAKE),
        # A single question wants all of its calls.
        ("parallel_1", (), f"[{FERRY}, ferry_line.departures(harbour='Aldmoor Quay', day='2026-08-03')]", f"[{FERRY}]"),
        ("multiple_2", (), REPAIR, f"draft{REPAIR}"),
        ("multiple_2", (), REPAIR, REPAIR.replace("3", "5")),
        ("multiple_2", (), "[tailor.repair_price(damage='frayed cuff', pieces=3)]", "reply[None of them does that.]"),
        ("multiple_2", (), "reply[None of them does that. I can't.]", "reply[It costs 30.]"),
        # After a call that failed and one that worked, the first one is tried again.
        (REMIND, (LIST, "[log_in_phone(pin='2596')]"), LIST, "reply[I can't list them.]"),
        # In a task without a user nobody answers, and nothing ends well before anything is done.
        (REMIND, (), "[log_in_phone(pin='2596')]", "reply[Shall I?]"),
        (REMIND, (), "[check_phone()]", "reply[finish conversation]"),
    ],
)  # fmt: skip
def test_the_better_response_scores_higher(task_id: str, before: tuple[str, ...], better: str, worse: str) -> None:
    talk = Talk(task_id).did(*before)
    assert talk.verdict(better).score > talk.verdict(worse).score


def test_replies_in_vain_score_the_least() -> None:
    assert Talk(NOTE).verdict("reply[The note has been moved.]").score == 0.05
    assert Talk(REMIND).verdict("reply[Which day?]").score == 0.05
    assert Talk(REMIND).verdict("reply[finish conversation]").score == 0.05
    talk = Talk("agent_multi_turn_0")
    assert talk.verdict("reply[Which one?]").score == 0.4
    assert talk.did("reply[Which one?]").verdict("reply[Which one?]").score == 0.05
    assert talk.verdict("reply[Well.]").score == 0.2
    talk = Talk(SEEDS).did("[find_beds(zone='south house')]")
    assert "names 19, which no call uses" in talk.verdict("reply[Done.]").critique


def test_gold_scores_higher_than_the_mistakes_of_the_solution_agent() -> None:
    won = lost = 0
    for task_id in (*(f"multi_turn_base_{number}" for number in (1, 2, 3, 9, 13, 14, 18, 21)), "agent_multi_step_0"):
        talk, rng = Talk(task_id), Random(task_id)
        for gold in talk.reference:
            score = talk.verdict(gold).score
            for wrong in {wrong_response(talk.state, gold, rng) for _ in range(6)}:
                other = talk.verdict(wrong).score
                won, lost = won + (score > other), lost + (score < other)
            talk.did(gold)
    assert won > 4 * lost

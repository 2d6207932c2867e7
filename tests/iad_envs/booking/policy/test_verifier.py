"""The proxy verifier of the booking site: each of its rules on real pages, and what its scores are worth."""

from dataclasses import replace
from random import Random

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.booking.policy.agent import QUESTION, BookingAgent
from iad_envs.booking.policy.fit import TYPED, facts_of
from iad_envs.booking.policy.verifier import BookingVerifier
from iad_envs.booking.tasks import KINDS
from iad_policy import Candidate
from iad_policy.verifiers import load_verifier
from tests.iad_envs.booking.policy.visits import FINISHED, Visit, gold_of, tasks_with, wandering

SEATED = tasks_with("given_seating")[0]
HIDDEN = tasks_with("hidden_seating")[0]
NEAREST = tasks_with("nearest")[0]
MOVE = tasks_with("move")[0]


def share(visit: Visit) -> float:
    facts = facts_of(visit.state)
    return sum(facts.values()) / len(facts)


def other_slot(visit: Visit) -> str:
    """A time that is offered, and that is not among the right ones."""
    right = {f"{minute // 60:02d}{minute % 60:02d}" for minute in visit.task.gold_slots}
    return next(f"CLICK [slot-{slot}]" for slot in visit.page["slots"] if slot not in right)


def test_it_is_a_proxy_that_needs_a_preview_and_takes_nothing_else() -> None:
    env = gym.make("IAD/Booking-v0")
    loaded = load_verifier("proxy", env)
    assert (loaded.information, loaded.needs_preview) == ("proxy", True)
    with pytest.raises(ValueError, match="a preview of 'CLICK \\[go\\]'"):
        BookingVerifier().verify(Visit(SEATED).state, [Candidate("CLICK [go]")])


def test_an_invalid_action_scores_nothing_and_hears_why() -> None:
    visit = Visit(SEATED)
    for action in ("CLICK [nothing]", "HOVER [go]", "GOTO [https://example.org]", ""):
        found = visit.verdict(action)
        assert (found.score, "expected" in found.critique) == (0.0, True), action


def test_a_score_on_the_way_is_the_share_of_settled_facts_and_more_for_a_later_page() -> None:
    visit, order = Visit(SEATED), ("home", "results", "restaurant", "seating", "details")
    for action in gold_of(visit)[:-1]:
        before, verdict = visit.page["kind"], visit.verdict(action)
        visit.did(action)
        is_later = order.index(visit.page["kind"]) > order.index(before)
        assert verdict.score == pytest.approx(0.2 + 0.6 * share(visit) + 0.1 * is_later)


def test_the_agent_s_choices_score_no_higher_than_gold_and_settled_facts_never_fall_on_its_way() -> None:
    agent, ends = BookingAgent(), set[tuple[float, bool | None]]()
    for task_id in [tasks_with(kind)[0] for kind in KINDS]:
        visit, shares = Visit(task_id), [0.0]
        for action in gold_of(visit):
            best = visit.verdict(action)
            for seed in range(3):
                other = agent.propose(visit.state, feedback=None, temperature=2.0, rng=Random(seed)).action
                assert other == QUESTION or visit.verdict(other).score <= best.score + 0.1, (task_id, action, other)
            shares.append(share(visit))
            visit.did(action)
        assert shares == sorted(shares), task_id
        assert shares[-1] == 1.0
        assert visit.gold["success"]
        ends.add((best.score, best.passed))
    assert ends == {(1.0, True), (0.7, None)}  # gold never asks where any seating is right


def test_typing_a_wrong_value_scores_below_the_right_one_and_says_what_is_open() -> None:
    visit = Visit(SEATED).did_until("TYPE [date]")
    right, wrong = (visit.verdict(f"TYPE [date] [{day}]") for day in (visit.task.as_record()["day"], "June 29"))
    assert right.score > wrong.score
    assert (right.details["date"], wrong.details["date"]) == (TYPED, 0.0)
    assert "Still to settle: the date" in wrong.critique


def test_holding_another_time_costs_where_a_nearer_one_is_shown() -> None:
    visit = Visit(NEAREST).did_until("CLICK [slot-")
    gold = next(action for action in gold_of(visit) if action.startswith("CLICK [slot-"))
    right, wrong = visit.verdict(gold), visit.verdict(other_slot(visit))
    assert right.score > 0.2 + 0.6 * share(visit)
    assert wrong.score < right.score - 0.3
    assert "nearer time" in wrong.critique
    assert "nearer time" not in right.critique


def test_giving_up_the_right_hold_costs_more_than_looking_elsewhere() -> None:
    visit = Visit(SEATED).did_until("CLICK [slot-")
    page = visit.state.info["page"]["path"]
    wrong = other_slot(visit)
    first = visit.verdict(wrong).score
    visit.did(next(action for action in gold_of(visit) if action.startswith("CLICK [slot-")), f"GOTO [{page}]")
    assert facts_of(visit.state)["held"] == 1.0
    released = visit.verdict(wrong)
    assert released.score == pytest.approx(max(0.0, first - 0.4), abs=0.1)
    assert "no longer held" in released.critique
    assert visit.verdict("CLICK [mine]").score > released.score


def test_cancelling_is_right_only_while_the_new_table_is_held() -> None:
    for visit, is_right in (
        (Visit(MOVE).did("CLICK [mine]", "CLICK [cancel]"), False),
        (Visit(MOVE).did_until("CLICK [cancel-yes]"), True),
    ):
        cancelled, kept = visit.verdict("CLICK [cancel-yes]"), visit.verdict("CLICK [keep]")
        assert (cancelled.score > kept.score, "no new table is held" in cancelled.critique) == (is_right, not is_right)
        assert is_right or cancelled.score == 0.0


def test_what_the_site_refuses_costs() -> None:
    early = Visit(SEATED).did_until("TYPE [first-name]")
    refused = early.verdict(FINISHED)
    assert refused.score == pytest.approx(0.2 + 0.6 * share(early) - 0.2)
    assert "Fill in: first name" in refused.critique
    double = Visit(MOVE).did_until("CLICK [mine]")
    assert double.page["form"]["phone"], "the site knows who has a reservation"
    found = double.verdict(FINISHED)
    assert "Cancel it first" in found.critique
    assert found.score < double.verdict("CLICK [mine]").score


def test_the_user_is_asked_where_the_seating_is_open_and_nowhere_else() -> None:
    hidden = Visit(HIDDEN).did_until("ASK")
    asked = hidden.verdict(QUESTION)
    assert asked.score == 0.9
    guesses = [hidden.verdict(f"CLICK [seat-{one}]").score for one in hidden.page["seatings"]]
    assert max(guesses) < asked.score
    hidden.did(QUESTION)
    assert hidden.verdict(QUESTION).score == 0.1
    named = hidden.task.seating
    scores = {one: hidden.verdict(f"CLICK [seat-{one}]").score for one in hidden.page["seatings"]}
    assert max(scores, key=scores.__getitem__) == named
    assert Visit(SEATED).verdict(QUESTION).score == 0.1
    seated = Visit(SEATED).did_until("CLICK [seat-")
    assert seated.verdict(QUESTION).score == 0.1


def test_a_completion_whose_seating_nobody_named_is_uncertain() -> None:
    visit = Visit(HIDDEN).did_until("ASK")
    visit.did(f"CLICK [seat-{visit.page['seatings'][0]}]")
    for action in gold_of(visit)[-5:-1]:
        visit.did(action)
    found = visit.verdict(FINISHED)
    assert (found.score, found.passed) == (0.7, None)
    assert "the user was not asked" in found.critique


def test_a_user_who_named_what_was_not_offered_was_asked_and_is_not_content() -> None:
    visit = Visit(HIDDEN).did_until(FINISHED)
    preview = visit.tried(FINISHED).preview
    assert preview is not None
    (made,) = preview.info["page"]["reservations"]
    page = {**preview.info["page"], "reservations": [{**made, "seating": "elsewhere"}]}
    changed = replace(preview, info={**preview.info, "page": page})
    (found,) = BookingVerifier().verify(visit.state, [Candidate(FINISHED, preview=changed)])
    assert found.critique == "This reservation is wrong: seating differs."


def test_scores_lie_between_0_and_1_wherever_one_wanders() -> None:
    rng = Random(0)
    for task_id in (SEATED, HIDDEN, NEAREST, MOVE):
        visit = Visit(task_id)
        for action in wandering(visit, rng):
            found = visit.verdict(action)
            assert 0.0 <= found.score <= 1.0
            assert found.critique

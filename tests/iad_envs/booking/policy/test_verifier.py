"""The proxy verifier of the booking site: each of its rules on real pages, and what its scores are worth."""

from itertools import pairwise
from random import Random

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.booking.policy import verifier
from iad_envs.booking.policy.agent import QUESTION, BookingAgent
from iad_envs.booking.policy.fit import facts_of
from iad_envs.booking.policy.verifier import HIGHEST, LATER, LOWEST, BookingVerifier
from iad_policy import Candidate
from iad_policy.verifiers import load_verifier
from tests.iad_envs.booking.policy.visits import FINISHED, Visit, gold_of, tasks_with

SEATED = tasks_with("given_seating")[0]
HIDDEN = tasks_with("hidden_seating")[0]
NEAREST = tasks_with("nearest")[0]
MOVE = tasks_with("move")[0]
CONTESTED = tasks_with("contested")[0]
KINDS = (
    *("other_city", "nearest", "hidden_seating", "given_seating", "same_name", "relative_date", "second_page", "move"),
)


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


@pytest.mark.parametrize("action", ["CLICK [nothing]", "HOVER [go]", "GOTO [https://example.org]", ""])
def test_an_invalid_action_scores_nothing_and_hears_why(action: str) -> None:
    found = Visit(SEATED).verdict(action)
    assert found.score == 0.0
    assert "expected" in found.critique


def test_a_score_on_the_way_is_the_share_of_settled_facts_and_more_for_a_later_page() -> None:
    visit, order = Visit(SEATED), ("home", "results", "restaurant", "seating", "details")
    for action in gold_of(visit)[:-1]:
        before, verdict = visit.page["kind"], visit.verdict(action)
        visit.did(action)
        is_later = order.index(visit.page["kind"]) > order.index(before)
        assert verdict.score == pytest.approx(LOWEST + (HIGHEST - LOWEST) * share(visit) + LATER * is_later)


def test_the_share_of_facts_never_falls_on_the_way_of_gold() -> None:
    for task_id in [name for kinds in KINDS for name in tasks_with(kinds)[:2]]:
        visit = Visit(task_id)
        shares = [share(visit)]
        for action in gold_of(visit)[:-1]:
            shares.append(share(visit.did(action)))
        assert all(one <= other for one, other in pairwise(shares)), (task_id, shares)
        assert shares[-1] == 1.0


def test_of_the_agent_s_choices_none_scores_clearly_higher_than_the_next_gold_action() -> None:
    agent = BookingAgent()
    for task_id in [tasks_with(kind)[0] for kind in KINDS]:
        visit = Visit(task_id)
        for action in gold_of(visit):
            best = visit.verdict(action).score
            for seed in range(3):
                other = agent.propose(visit.state, feedback=None, temperature=2.0, rng=Random(seed)).action
                assert other == QUESTION or visit.verdict(other).score <= best + LATER, (task_id, action, other)
            visit.did(action)


def test_holding_another_time_costs_where_a_nearer_one_is_shown() -> None:
    visit = Visit(NEAREST).did_until("CLICK [slot-")
    gold = next(action for action in gold_of(visit) if action.startswith("CLICK [slot-"))
    right, wrong = visit.verdict(gold), visit.verdict(other_slot(visit))
    assert right.score > LOWEST + (HIGHEST - LOWEST) * share(visit)
    assert wrong.score < right.score - verifier.WRONG_HOLD
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
    assert released.score == pytest.approx(max(0.0, first - verifier.RELEASED), abs=LATER)
    assert "no longer held" in released.critique
    assert visit.verdict("CLICK [mine]").score > released.score


def test_cancelling_is_right_only_while_the_new_table_is_held() -> None:
    alone = Visit(MOVE).did("CLICK [mine]", "CLICK [cancel]")
    wrong = alone.verdict("CLICK [cancel-yes]")
    assert wrong.score == 0.0
    assert "no new table is held" in wrong.critique
    assert alone.verdict("CLICK [keep]").score > wrong.score
    held = Visit(MOVE).did_until("CLICK [cancel-yes]")
    right = held.verdict("CLICK [cancel-yes]")
    assert right.score > held.verdict("CLICK [keep]").score
    assert "no new table" not in right.critique


def test_a_right_completion_scores_1() -> None:
    for task_id in (SEATED, HIDDEN, NEAREST, MOVE, CONTESTED):
        visit, action = Visit(task_id), ""
        while action != FINISHED:
            visit.did(*filter(None, [action]))
            action = BookingAgent().propose(visit.state, feedback=None, temperature=0.0, rng=Random(0)).action
        found = visit.verdict(FINISHED)
        assert (found.score, found.passed) == (1.0, True), (task_id, found.critique)
        assert visit.did(FINISHED).gold["success"]


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
    assert (found.score, found.passed) == (verifier.UNASKED_SCORE, None)
    assert "the user was not asked" in found.critique


def test_a_completion_is_right_about_as_often_as_it_scores() -> None:
    agent, completed = BookingAgent(), dict[float, list[bool]]()
    for number, task_id in enumerate(gym.make("IAD/Booking-v0").unwrapped.task_ids[::2]):  # type: ignore[attr-defined]
        visit, rng = Visit(task_id), Random(task_id)
        verdict = None
        while not visit.state.done:
            action = agent.propose(
                visit.state, feedback=None, temperature=(0.3, 0.6, 1.0, 1.5)[number % 4], rng=rng
            ).action
            verdict = visit.verdict(action) if action == FINISHED else None
            visit.did(action)
        if visit.page["kind"] == "confirmation" and verdict is not None:
            completed.setdefault(verdict.score, []).append(bool(visit.gold["success"]))
    shares = {score: sum(found) / len(found) for score, found in completed.items()}
    assert len(completed[1.0]) > 35
    assert shares[1.0] >= 0.9
    assert len(completed[verifier.WRONG]) > 12
    assert shares[verifier.WRONG] <= 0.05
    assert shares[verifier.WRONG] < shares.get(verifier.UNASKED_SCORE, 0.5) < shares[1.0]

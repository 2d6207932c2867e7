"""Booking's agent, proxy verifier, features and words: what holds for all episodes, beyond the recorded ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.booking.env import BookingEnv
from iad_envs.booking.policy.agent import QUESTION, BookingAgent, choices_of
from iad_envs.booking.policy.features import FEATURES, BookingFeatures
from iad_envs.booking.policy.fit import facts_of, faults
from iad_envs.booking.policy.rendering import BookingRendering
from iad_envs.booking.policy.verifier import BookingVerifier, verdict
from iad_envs.booking.tasks import KINDS
from iad_policy import Candidate, Feedback, State
from iad_policy.prompts.rendering import Rendering
from iad_policy.simulators.llm import Unpredicted
from iad_policy.types import ShownAttempt, Turn
from tests.iad_envs.booking.policy.visits import FINISHED, Visit, only

SEATED, HIDDEN, NEAREST, MOVE = map(only, ("given_seating", "hidden_seating", "nearest", "move"))
N_EACH = 60


def proposal(at: State, seed: int = 0, feedback: Feedback | None = None, temperature: float | None = None) -> str:
    found = BookingAgent().propose(at, feedback=feedback, temperature=temperature, rng=Random(seed)).action
    assert isinstance(found, str)
    return found


def test_a_cold_booker_solves_almost_all_and_a_warm_one_some_and_all_that_it_does_is_valid() -> None:
    task_ids = BookingEnv().task_ids[::4]
    shares = []
    for temperature in (0.0, 1.0):
        solved, agent = [], BookingAgent(temperature=temperature)
        for task_id in task_ids:
            visit, rng = Visit(task_id), Random(task_id)
            while not visit.state.done:
                visit.did(agent.propose(visit.state, feedback=None, temperature=None, rng=rng).action)
            solved.append(visit.gold["success"])
            assert not any(turn.info["invalid_action"] for turn in (*visit.state.history[1:], visit.state)), task_id
        shares.append(sum(solved) / len(solved))
    assert shares[0] >= 0.95
    assert 0.2 <= shares[1] <= 0.6


def test_it_draws_by_seed_and_takes_the_next_fit_action_after_those_that_were_tried() -> None:
    visit = Visit("test-120").did_until("CLICK [slot-")
    drawn = [[proposal(visit.state, seed, temperature=heat) for seed in range(20)] for heat in (0.0, 1.0, 1.0)]
    assert (len(set(drawn[0])), len(set(drawn[1])) > 1, drawn[1] == drawn[2]) == (1, True, True)
    tried: list[Candidate] = []
    for _ in choices_of(visit.state):
        told = tuple(map(ShownAttempt, tried))
        feedback = Feedback(attempts=told, best=tried[0], worst=tried[-1]) if tried else None
        action = proposal(visit.state, len(tried), feedback, 1.0)
        assert action not in [one.action for one in tried]
        tried.append(Candidate(action))
    feedback = Feedback("", best=tried[1], worst=tried[0], attempts=tuple(map(ShownAttempt, tried)))
    assert proposal(visit.state, 0, feedback) == tried[1].action  # there is no other
    alone = Feedback("", best=tried[0], worst=tried[1])  # best and worst alone aren't repeated either
    assert {tried[0].action, tried[1].action}.isdisjoint(proposal(visit.state, seed, alone, 1.0) for seed in range(30))


def test_gold_is_offered_scores_no_lower_than_the_agents_choices_and_settles_one_fact_after_another() -> None:
    ends, numbers, seen = set[tuple[float, bool | None]](), BookingFeatures(), set[str]()

    def look(visit: Visit) -> None:
        offered = numbers.actions(visit.state)
        assert len(offered) == len(set(offered))
        seen.update(np.array(FEATURES)[numbers.rows(visit.state, offered).any(axis=0)])

    for task_id in map(only, KINDS):
        visit, shares, order = Visit(task_id), [0.0], ("home", "results", "restaurant", "seating", "details")
        for action in visit.solution:
            assert action in numbers.actions(visit.state), (task_id, action)
            look(visit)
            best, before = visit.verdict(action), visit.page["kind"]
            for seed in range(3):
                other = proposal(visit.state, seed, temperature=2.0)
                assert other == QUESTION or visit.verdict(other).score <= best.score + 0.1, (task_id, action, other)
            shares.append(np.mean([*facts_of(visit.state).values()]))
            visit.did(action)
            if task_id == SEATED and not visit.state.done:
                is_later = order.index(visit.page["kind"]) > order.index(before)
                assert best.score == pytest.approx(
                    0.2 + 0.6 * np.mean([*facts_of(visit.state).values()]) + 0.1 * is_later
                )
        assert shares == sorted(shares), task_id
        assert visit.gold["success"]
        ends.add((best.score, best.passed))
    assert ends == {(1.0, True), (0.7, None)}  # gold never asks where any seating is right
    look(Visit("test-000").did("CLICK [go]", "CLICK [next]"))
    look(Visit(MOVE).did_until("CLICK [hold]"))
    again = Visit(MOVE).did_until("CLICK [slot-")
    look(again.did(again.right("CLICK [slot-"), f"GOTO [{again.page['path']}]"))
    assert set(FEATURES) == seen, "every feature tells something somewhere"


def test_a_better_action_scores_higher() -> None:
    """The right value, the nearer time, the hold that is kept, what is asked once, and to cancel while one is held."""
    visit = Visit(SEATED).did_until("TYPE [date]")
    assert visit.verdict(visit.right("TYPE [date]")).score > visit.verdict("TYPE [date] [June 29]").score
    near = Visit(NEAREST).did_until("CLICK [slot-")
    gold = near.right("CLICK [slot-")
    wrong = next(one for one in (f"CLICK [slot-{slot}]" for slot in near.page["slots"]) if one != gold)
    assert near.verdict(wrong).score < near.verdict(gold).score - 0.3
    first, path = near.verdict(wrong).score, near.page["path"]
    near.did(gold, f"GOTO [{path}]")
    assert near.verdict(wrong).score < first < near.verdict("CLICK [mine]").score
    asking = Visit(HIDDEN).did_until("ASK")
    guesses = [f"CLICK [seat-{one}]" for one in asking.page["seatings"]]
    assert max(asking.verdict(one).score for one in guesses) < asking.verdict(QUESTION).score == 0.9
    asking.did(QUESTION)
    assert asking.verdict(QUESTION).score == Visit(SEATED).did_until("CLICK [seat-").verdict(QUESTION).score == 0.1
    assert max(guesses, key=lambda one: asking.verdict(one).score) == f"CLICK [seat-{asking.task.seating}]"
    for moving, is_right in (
        (Visit(MOVE).did("CLICK [mine]", "CLICK [cancel]"), False),
        (Visit(MOVE).did_until("CLICK [cancel-yes]"), True),
    ):
        cancelled, kept = moving.verdict("CLICK [cancel-yes]"), moving.verdict("CLICK [keep]")
        assert (cancelled.score > kept.score, cancelled.score == 0.0) == (is_right, not is_right)
    double = Visit(MOVE).did_until("CLICK [mine]")
    assert double.page["form"]["phone"], "the site knows who has a reservation"
    refused = double.verdict(FINISHED)
    assert (refused.score < double.verdict("CLICK [mine]").score, "Cancel it first" in refused.critique) == (True, True)


def test_the_verifier_needs_a_preview_and_nothing_invalid_scores() -> None:
    visit = Visit(SEATED)
    with pytest.raises(ValueError, match=r"a preview of 'CLICK \[go\]'"):
        BookingVerifier().verify(visit.state, [Candidate("CLICK [go]")])
    for action in ("CLICK [nothing]", "HOVER [go]", "GOTO [https://example.org]", ""):
        found = visit.verdict(action)
        assert (found.score, "expected" in found.critique) == (0.0, True), action


def test_a_judge_of_final_pages_names_what_is_wrong(load_benchmark: Callable[[str], Any]) -> None:
    final_pages = load_benchmark("support.booking_pages").final_pages
    pages: Sequence[Any] = list(final_pages(gym.make("IAD/Booking-v0", split=None), N_EACH))
    assert len(pages) == 2 * N_EACH
    agreed = [bool(faults(page.state)) == bool(page.wrong) == bool(page.wrong_parts) for page in pages]
    assert sum(agreed) >= 0.97 * len(agreed)
    called = {"day": "date", "first_name": "name", "last_name": "name"}
    wrong = [page for page in pages if page.wrong]
    assert {page.wrong for page in wrong} == {"restaurant", "time", "party", "seating", "phone", "email", *called}
    named = [f"{called.get(page.wrong, page.wrong)} differs" in faults(page.state) for page in wrong]
    assert sum(named) >= 0.97 * len(named)
    for page in pages:
        last = page.state.history[-1]
        before = State(last.observation, last.info, history=page.state.history[:-1])
        found = verdict(before, Candidate(last.action, preview=page.state))
        assert (found.score <= 0.05) == bool(faults(page.state))
        assert found.score in (0.05, 0.7, 1.0)


def finished(task_id: str) -> tuple[Visit, State]:
    """A visit before its last gold action, and the state after it."""
    visit = Visit(task_id).did_until(FINISHED)
    preview = visit.tried(FINISHED).preview
    assert preview is not None
    assert not faults(preview)
    return visit, preview


def changed(preview: State, **values: Any) -> State:
    """A final state whose reservations have other values."""
    page = preview.info["page"]
    page = {**page, "reservations": [{**one, **values} for one in page["reservations"]]}
    return replace(preview, info={**preview.info, "page": page})


def test_a_final_page_is_right_in_any_spelling_and_wrong_in_what_differs() -> None:
    _, preview = finished(SEATED)
    (made,) = preview.info["page"]["reservations"]
    for field, value in (
        ("phone", made["phone"].replace("-", " ")), ("phone", f"({made['phone'].replace('-', ') ')}"),
        ("email", made["email"].upper()), ("name", f" {made['name'].lower()} "),
    ):  # fmt: skip
        assert not faults(changed(preview, **{field: value}))
        assert faults(changed(preview, **{field: value[:-2]}))
    assert faults(changed(finished(MOVE)[1], is_cancelled=False)) == ["the old reservation is still there"]
    # A user who named what was not offered was asked, and is not content.
    assert faults(changed(finished(HIDDEN)[1], seating="elsewhere")) == ["seating differs"]
    # Of two times that are equally near either passes, and a further one doesn't.
    env = BookingEnv()
    ties = [name for name in env.task_ids if {*env._task(name).kinds} == {"nearest"} and env._task(name).gold_slots[1:]]
    visit, preview = finished(ties[0])
    for minute in (*visit.task.gold_slots, visit.task.minute):
        time = f"{minute // 60:02d}:{minute % 60:02d}"
        assert (not faults(changed(preview, time=time))) == (minute in visit.task.gold_slots)


def test_a_predicted_page_is_shown_in_the_simulators_words() -> None:
    words = BookingRendering()
    info = {"instruction": "a table", "available_actions": (), "page": Unpredicted(), "facts": Unpredicted()}
    predicted = State("Tablefind: Book a table", info, history=(Turn("Tablefind", "CLICK [go]", info),))
    assert words.page(predicted) == "Tablefind: Book a table"
    assert words.turns(predicted) == Rendering().turns(predicted)
    bare = State("a page", {"instruction": "a table", "available_actions": ("CLICK [x]",)})
    assert words.values(bare) | {"task": ""} == Rendering().values(bare) | {"task": ""}

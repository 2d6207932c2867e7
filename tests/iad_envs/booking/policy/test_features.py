"""The booking site's pages in numbers: bounded, without gold, and with a right action on offer wherever gold goes."""

import numpy as np

from iad_envs.booking.policy.agent import QUESTION
from iad_envs.booking.policy.features import FEATURES, BookingFeatures
from iad_policy.types import State
from tests.iad_envs.booking.policy.visits import FINISHED, Visit, gold_of, tasks_with

KINDS = (
    *("other_city", "nearest", "hidden_seating", "given_seating", "same_name", "relative_date", "second_page"),
    *("contested", "move"),
)
NUMBERS = BookingFeatures()


def named(state: State, action: str) -> dict[str, float]:
    """The features of an action that are not 0."""
    (row,) = NUMBERS.rows(state, [action])
    return {name: value for name, value in zip(FEATURES, row, strict=True) if value}


def test_wherever_gold_goes_its_action_is_offered() -> None:
    for task_id in [tasks_with(kind)[0] for kind in KINDS]:
        visit = Visit(task_id)
        for action in gold_of(visit):
            offered = NUMBERS.actions(visit.state)
            assert action in offered, (task_id, action)
            assert len(offered) == len(set(offered))
            visit.did(action)
        assert visit.gold["success"]


def test_every_feature_tells_something_somewhere() -> None:
    seen = set[str]()

    def look(visit: Visit) -> None:
        rows = NUMBERS.rows(visit.state, NUMBERS.actions(visit.state))
        seen.update(FEATURES[place] for place in np.flatnonzero(rows.any(axis=0)))

    for kind in KINDS:
        visit = Visit(tasks_with(kind)[0])
        for action in gold_of(visit):
            look(visit)
            visit.did(action)
    look(Visit("test-000").did("CLICK [go]", "CLICK [next]"))
    look(Visit(tasks_with("move")[0]).did_until("CLICK [hold]"))
    again = Visit(tasks_with("move")[0]).did_until("CLICK [slot-")
    path = again.page["path"]
    look(again.did(next(action for action in gold_of(again) if action.startswith("CLICK [slot-")), f"GOTO [{path}]"))
    assert set(FEATURES) - seen == set()


def test_a_slot_is_told_by_its_distance_and_whether_it_is_the_nearest() -> None:
    visit = Visit(tasks_with("nearest")[0]).did_until("CLICK [slot-")
    gold = next(action for action in gold_of(visit) if action.startswith("CLICK [slot-"))
    right = named(visit.state, gold)
    assert right["slot:nearest"] == 1.0
    assert "slot:exact" not in right
    others = [f"CLICK [slot-{slot}]" for slot in visit.page["slots"] if f"CLICK [slot-{slot}]" != gold]
    assert all(named(visit.state, other)["slot:off"] >= right["slot:off"] for other in others)
    other_day = Visit(visit.task.task_id).did_until("TYPE [date]")
    slots = [action for action in NUMBERS.actions(other_day.state) if action.startswith("CLICK [slot-")]
    assert all(named(other_day.state, slot)["slot:differs"] > 0.0 for slot in slots)


def test_a_question_and_a_seating_are_told_by_what_is_known() -> None:
    visit = Visit(tasks_with("hidden_seating")[0]).did_until("ASK")
    assert named(visit.state, QUESTION) == {"ask": 1.0, "ask:unnamed": 1.0}
    seats = [f"CLICK [seat-{one}]" for one in visit.page["seatings"]]
    assert all(named(visit.state, seat) == {"seat": 1.0, "seat:unnamed": 1.0} for seat in seats)
    visit.did(QUESTION)
    assert named(visit.state, QUESTION) == {"ask": 1.0, "ask:again": 1.0}
    assert [seat for seat in seats if "seat:named" in named(visit.state, seat)] == [
        f"CLICK [seat-{visit.task.seating}]"
    ]
    assert named(Visit("test-000").state, QUESTION) == {"ask": 1.0, "ask:elsewhere": 1.0}


def test_completing_is_told_by_what_is_empty() -> None:
    visit = Visit("test-000").did_until("TYPE [first-name]")
    assert named(visit.state, FINISHED) == {"complete": 1.0, "complete:empty": 1.0}
    assert named(visit.did_until(FINISHED).state, FINISHED) == {"complete": 1.0}

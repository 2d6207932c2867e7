"""What has effects: holds and their end, tables that others take, second reservations, and moves.

More ways are recorded: `tests/fixtures/episodes/booking.toml`.
"""

from itertools import cycle
from typing import Any

import pytest

from iad_envs.booking.pages import GUEST_FIELDS, free_tables, offered_slots, slot_id
from iad_envs.booking.state import HOLD_STEPS, Guest, Hold, Place, Reservation, Scene, SiteTable
from tests.iad_envs.booking.visits import (
    ENGINE,
    TEST,
    WORLD,
    address,
    codes,
    filled,
    play,
    start_of,
    started,
    tasks_with,
    to_table,
    walked,
)

WAIT = "SCROLL [UP]"
GUEST = Guest("Ada", "Becker", "555-0123", "ada@example.org")
DETAILS = filled(dict(zip(GUEST_FIELDS, GUEST, strict=True)), dict.fromkeys(GUEST_FIELDS, ""))
ONE_CLICK = next(
    task
    for task in TEST
    if not task.kinds and len(WORLD.tables(task.restaurant, task.day, task.party)[task.gold_slots[0]]) == 1
)
"""Its right table is held with one click."""


@pytest.mark.parametrize(("n_actions", "is_accepted"), [(9, True), (10, True), (11, False), (12, False)])
def test_a_hold_lasts_for_ten_more_actions(n_actions: int, is_accepted: bool) -> None:
    waiting = [WAIT] * (n_actions - len(DETAILS) - 1)
    actions = [*to_table(ONE_CLICK), *DETAILS, *waiting, "CLICK [complete]"]
    _, _, terminated, _, info = play(started(ONE_CLICK), actions)
    assert (terminated, info["invalid_action"]) == (is_accepted, False)
    assert ("hold_expired" in codes(info)) is not is_accepted
    assert bool(info["page"]["reservations"]) is is_accepted


@pytest.mark.parametrize("waiting", [[WAIT], ["nonsense", "CLICK [no-such]", None, "a\0b", "TYPE [phone] [5\x1b]"]])
def test_a_page_counts_down_the_hold_with_every_action_and_says_when_it_has_ended(waiting: list[Any]) -> None:
    env: Any = started(ONE_CLICK)
    _, _, _, _, info = play(env, to_table(ONE_CLICK))
    for left, action in zip(range(HOLD_STEPS, 0, -1), cycle(waiting), strict=False):
        assert info["page"]["hold"]["left"] == left
        assert ("for this last action." if left == 1 else f"for {left} more actions.") in info["page"]["lines"][0]
        _, _, _, _, info = env.step(action)
    assert (info["page"]["hold"]["left"], codes(info)) == (0, [])
    for action, said in ((waiting[0], ["hold_expired"]), (WAIT, [])):
        _, _, _, _, info = env.step(action)
        assert (info["page"]["hold"], codes(info), bool(info["page"]["notice"])) == ({}, said, bool(said))


def test_others_take_a_table_at_their_step_or_when_its_hold_ends_and_restore_brings_it_back() -> None:
    task = next(task for task in tasks_with("contested") if task.kinds == ("contested",) and len(task.gold_slots) == 1)
    step, gold = task.rivals[0].step, task.gold_slots[0]
    hold, there = f"CLICK [{slot_id(gold)}]", address(task.restaurant, task.day, gold, task.party)
    free = walked(start_of(task), [there, *[WAIT] * (step - 2)])
    assert (free.steps, gold in offered_slots(WORLD, free)) == (step - 1, True)
    assert gold not in offered_slots(WORLD, walked(free, [WAIT]))
    # Whoever clicks in the moment in which it is taken is told so.
    refused = walked(free, [hold])
    assert (refused.findings, refused.hold) == (("slot_taken",), None)
    late = walked(start_of(task), [there, *[WAIT] * (step - 3), hold, there, *[WAIT] * (HOLD_STEPS - 1)])
    assert (late.steps > step, gold in offered_slots(WORLD, late)) == (True, True)
    assert gold not in offered_slots(WORLD, walked(late, [WAIT]))
    # A hold whose seating is open keeps all tables of its time.
    open_hold = free._replace(hold=Hold(SiteTable(task.restaurant, task.day, gold), task.party, free.steps), steps=step)
    assert gold in offered_slots(WORLD, open_hold)
    assert gold not in offered_slots(WORLD, open_hold._replace(hold=None))
    env = started(task)
    slots = play(env, [*to_table(task), there])[4]["page"]["slots"]
    held, other = env.snapshot(), next(one for one in slots if f"CLICK [slot-{one}]" != hold)
    assert slot_id(gold).removeprefix("slot-") not in play(env, [f"CLICK [slot-{other}]", there])[4]["page"]["slots"]
    assert env.restore(held)[1]["page"]["slots"] == slots


@pytest.mark.parametrize(
    ("minutes", "days", "is_cancelled", "is_accepted"),
    [
        *((minutes, 0, False, False) for minutes in (0, 60, 119, -119)),
        *((minutes, 0, False, True) for minutes in (120, -120)),
        *[(0, 1, False, True), (0, 0, True, True)],
    ],
)
def test_a_second_reservation_within_two_hours_is_refused(
    minutes: int, days: int, is_cancelled: bool, is_accepted: bool
) -> None:
    slug, other = list(WORLD.restaurants)[:2]
    for where in (slug, other):
        table = SiteTable(where, 20 + days, 19 * 60 + minutes, "outdoor")
        state = ENGINE.start(Scene("Book."), "norwick", (Reservation(1, table, 2, GUEST, is_cancelled),))
        state = state._replace(hold=Hold(SiteTable(slug, 20, 19 * 60, "indoor"), 2, 0))
        after, complaint, done, _ = ENGINE.act(ENGINE.arrived(state, Place("hold")), "CLICK [complete]")
        assert (complaint, done, len(after.booked) - len(state.booked)) == ("", is_accepted, is_accepted)
        assert after.findings == (() if is_accepted else ("double_booking",))
        assert (after.hold is None) is is_accepted
        assert is_accepted or WORLD.restaurants[where].name in after.notice


def test_to_cancel_first_can_lose_both_and_a_cancelled_table_goes_to_somebody_else() -> None:
    task = tasks_with("move")[0]
    assert task.own is not None
    env = started(task)
    cancelling = ["CLICK [mine]", "CLICK [cancel]", "CLICK [cancel-yes]"]
    there = address(task.restaurant, task.day, task.gold_slots[0], task.party)
    info = play(env, [*cancelling, *[WAIT] * (task.rivals[0].step - len(cancelling) - 1), there])[4]
    assert not {slot_id(minute).removeprefix("slot-") for minute in task.gold_slots} & set(info["page"]["slots"])
    assert info["reward_parts"]["lost_original"] == 0.0  # it may still book
    while not info["stop_reason"]:
        _, reward, _, _, info = env.step(WAIT)
    assert (reward, info["stop_reason"], info["reward_parts"]["lost_original"]) == (0.0, "max_steps", 1.0)
    state = walked(start_of(task), cancelling)
    slug, day, minute, seating = task.own.table
    assert seating not in free_tables(WORLD, state, slug=slug, day=day, party=task.own.party).get(minute, ())


def test_enter_in_a_field_does_what_its_button_does() -> None:
    for ending in ("CLICK [complete]", "SUBMIT [phone]", "SUBMIT [note]"):
        assert play(started(ONE_CLICK), [*to_table(ONE_CLICK), *DETAILS, ending])[2]
    for shared, enter, button in (
        (["TYPE [q] [bar]"], "SUBMIT [q]", "CLICK [go]"),
        ([to_table(ONE_CLICK)[0], "TYPE [party] [4]"], "SUBMIT [time]", "CLICK [find]"),
    ):
        assert walked(start_of(ONE_CLICK), [*shared, enter]) == walked(start_of(ONE_CLICK), [*shared, button])

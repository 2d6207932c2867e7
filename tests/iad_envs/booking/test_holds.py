"""What has effects: holds and their end, tables that others take, second reservations, and moves."""

from itertools import cycle
from typing import Any

import pytest

from iad_envs.booking.pages import GUEST_FIELDS, free_tables, offered_slots, slot_id
from iad_envs.booking.state import HOLD_STEPS, Guest, Hold, Place, Reservation, Scene, SiteTable
from iad_envs.booking.tasks import BookingTask
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


def only_one_seating() -> BookingTask:
    """A task whose right table is held with one click."""
    return next(
        task
        for task in TEST
        if not task.kinds and len(WORLD.tables(task.restaurant, task.day, task.party)[task.gold_slots[0]]) == 1
    )


def contested() -> BookingTask:
    """A task whose right table others want, without another complication on the way."""
    return next(task for task in tasks_with("contested") if task.kinds == ("contested",) and len(task.gold_slots) == 1)


@pytest.mark.parametrize(("n_actions", "is_accepted"), [(9, True), (10, True), (11, False), (12, False)])
def test_a_hold_lasts_for_ten_more_actions(n_actions: int, is_accepted: bool) -> None:
    task = only_one_seating()
    waiting = [WAIT] * (n_actions - len(DETAILS) - 1)
    env = started(task)
    observation, _, terminated, _, info = play(env, [*to_table(task), *DETAILS, *waiting, "CLICK [complete]"])
    assert terminated is is_accepted
    assert info["invalid_action"] is False
    assert ("hold_expired" in codes(info)) is not is_accepted
    assert bool(info["page"]["reservations"]) is is_accepted
    assert ("hold" in observation) is not is_accepted


@pytest.mark.parametrize("waiting", [[WAIT], ["nonsense", "CLICK [no-such]", None, "a\0b", "TYPE [phone] [5\x1b]"]])
def test_a_page_counts_down_the_hold_with_every_action_and_says_when_it_has_ended(waiting: list[Any]) -> None:
    env: Any = started(only_one_seating())
    _, _, _, _, info = play(env, to_table(only_one_seating()))
    for left, action in zip(range(HOLD_STEPS, 0, -1), cycle(waiting), strict=False):
        assert info["page"]["hold"]["left"] == left
        said = "It is held for this last action." if left == 1 else f"It is held for {left} more actions."
        assert said in info["page"]["lines"][0]
        _, _, _, _, info = env.step(action)
    assert (info["page"]["hold"]["left"], codes(info)) == (0, [])
    _, _, _, _, info = env.step(waiting[0])
    assert (info["page"]["hold"], codes(info)) == ({}, ["hold_expired"])
    assert info["page"]["notice"] == "Your hold has ended."
    _, _, _, _, info = env.step(WAIT)
    assert (info["page"]["notice"], codes(info)) == ("", [])


def test_after_the_hold_a_seating_is_refused_notices_add_up_and_what_was_typed_stays() -> None:
    task = tasks_with("given_seating")[0]
    env = started(task)
    assert play(env, [*to_table(task), *[WAIT] * HOLD_STEPS])[4]["page"]["kind"] == "seating"
    _, _, terminated, _, info = env.step(f"CLICK [seat-{task.seating}]")
    assert (terminated, info["invalid_action"], info["page"]["kind"]) == (False, False, "details")
    assert codes(info) == ["hold_expired"]
    task = only_one_seating()
    late = [*to_table(task), address(task.restaurant, task.day, 3 * 60, task.party), *[WAIT] * (HOLD_STEPS - 1)]
    info = play(started(task), [*late, "CLICK [find]"])[4]
    assert codes(info) == ["hold_expired", "no_table"]
    assert info["page"]["notice"].startswith("Your hold has ended. There is no table")
    page = play(started(task), [*to_table(task), *DETAILS, *[WAIT] * HOLD_STEPS])[4]["page"]
    assert (page["hold"], page["form"]) == ({}, dict(zip(GUEST_FIELDS, GUEST, strict=True)))


def test_a_second_table_releases_the_first() -> None:
    task = next(task for task in TEST if not task.rivals and not task.kinds)
    there = address(task.restaurant, task.day, task.gold_slots[0], task.party)
    env = started(task)
    slots = play(env, [*to_table(task), there])[4]["page"]["slots"]
    first = slot_id(task.gold_slots[0]).removeprefix("slot-")
    info = env.step(f"CLICK [slot-{next(one for one in slots if one != first)}]")[4]
    assert info["page"]["hold"]["left"] == HOLD_STEPS
    assert "hold_released" in codes(info)
    name = WORLD.restaurants[task.restaurant].name
    assert info["page"]["notice"].startswith(f"Your earlier hold was released: {name}")
    assert first in env.step(there)[4]["page"]["slots"]  # nobody was waiting for it


def test_a_contested_table_that_is_let_go_is_gone_and_restore_brings_it_back() -> None:
    task = contested()
    there = address(task.restaurant, task.day, task.gold_slots[0], task.party)
    code = slot_id(task.gold_slots[0]).removeprefix("slot-")
    env = started(task)
    slots = play(env, [*to_table(task), there])[4]["page"]["slots"]
    held = env.snapshot()
    assert code in slots
    other = next(one for one in slots if one != code)
    assert code not in play(env, [f"CLICK [slot-{other}]", there])[4]["page"]["slots"]
    observation, info = env.restore(held)
    assert (info["page"]["slots"], f"[slot-{code}]" in observation) == (slots, True)
    assert info["page"]["hold"]["time"] == info["page"]["elements"][4 + slots.index(code)]["label"]
    # To choose the held table again is to let it go for a moment, too.
    info = env.step(f"CLICK [slot-{code}]")[4]
    assert (codes(info), info["page"]["hold"]) == (["slot_taken", "hold_released"], {})


def test_others_take_a_table_at_their_step_or_when_its_hold_ends() -> None:
    task = contested()
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
    table = SiteTable(task.restaurant, task.day, gold)
    open_hold = free._replace(hold=Hold(table, task.party, free.steps), steps=step)
    assert gold in offered_slots(WORLD, open_hold)
    assert gold not in offered_slots(WORLD, open_hold._replace(hold=None))


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
        state = ENGINE.arrived(state, Place("hold"))
        after, complaint, done, _ = ENGINE.act(state, "CLICK [complete]")
        assert (complaint, done, len(after.booked) - len(state.booked)) == ("", is_accepted, is_accepted)
        assert after.findings == (() if is_accepted else ("double_booking",))
        assert (after.hold is None) is is_accepted
        assert is_accepted or WORLD.restaurants[where].name in after.notice


def test_to_cancel_first_can_lose_both() -> None:
    for task in tasks_with("move")[:2]:
        cancelling = ["CLICK [mine]", "CLICK [cancel]", "CLICK [cancel-yes]"]
        env = started(task)
        there = address(task.restaurant, task.day, task.gold_slots[0], task.party)
        waiting = [WAIT] * (task.rivals[0].step - len(cancelling) - 1)
        _, _, _, _, info = play(env, [*cancelling, *waiting, there])
        codes = {slot_id(minute).removeprefix("slot-") for minute in task.gold_slots}
        assert not codes & set(info["page"]["slots"])
        assert info["reward_parts"]["lost_original"] == 0.0  # it may still book
        assert [one["is_cancelled"] for one in info["page"]["reservations"]] == [True]
        while not info["stop_reason"]:
            _, reward, _, _, info = env.step(WAIT)
        assert (reward, info["stop_reason"], info["reward_parts"]["lost_original"]) == (0.0, "max_steps", 1.0)


def test_a_cancelled_table_goes_to_somebody_else_and_can_not_be_taken_back() -> None:
    task = tasks_with("move")[0]
    assert task.own is not None
    slug, day, minute, seating = task.own.table
    asked = walked(start_of(task), ["CLICK [mine]", "CLICK [cancel]"])
    kept, state = (walked(asked, [f"CLICK [{button}]"]) for button in ("keep", "cancel-yes"))
    assert (kept.booked, kept.lost, kept.place.kind) == (task.reservations, (), "mine")
    assert (state.findings, state.booked) == (("cancelled",), ())
    assert seating not in free_tables(WORLD, state, slug=slug, day=day, party=task.own.party).get(minute, ())
    after, complaint, _, _ = ENGINE.act(state, "GOTO [/mine/cancel]")
    assert ("you have no reservation" in complaint, after.booked) == (True, ())


@pytest.mark.parametrize(
    ("details", "missing"),
    [
        ({}, "Fill in: first name, last name, phone, email."),
        ({"first-name": "Ada", "last-name": "Becker", "phone": "555-01", "email": "ada@x.org"}, "Fill in: phone."),
        ({"first-name": "Ada", "last-name": " ", "phone": "555-0123", "email": "ada@x.org"}, "Fill in: last name."),
        ({"first-name": "Ada", "last-name": "B", "phone": "555-0123", "email": "ada at x"}, "Fill in: email."),
    ],
)
def test_details_that_are_not_filled_in_are_named(details: dict[str, str], missing: str) -> None:
    task = only_one_seating()
    actions = filled(details, dict.fromkeys(GUEST_FIELDS, ""))
    for last in ("CLICK [complete]", "SUBMIT [email]"):
        _, _, terminated, _, info = play(started(task), [*to_table(task), *actions, last])
        assert (terminated, info["invalid_action"], info["page"]["notice"]) == (False, False, missing)
        assert codes(info) == ["form_incomplete"]


def test_enter_in_a_field_does_what_its_button_does() -> None:
    task = only_one_seating()
    for ending in (["CLICK [complete]"], ["SUBMIT [phone]"], ["SUBMIT [note]"]):
        assert play(started(task), [*to_table(task), *DETAILS, *ending])[2]
    for shared, enter, button in (
        (["TYPE [q] [bar]"], "SUBMIT [q]", "CLICK [go]"),
        ([to_table(task)[0], "TYPE [party] [4]"], "SUBMIT [time]", "CLICK [find]"),
    ):
        assert walked(start_of(task), [*shared, enter]) == walked(start_of(task), [*shared, button])

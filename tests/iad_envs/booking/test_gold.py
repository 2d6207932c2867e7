"""Gold of `IAD/Booking-v0`: a right reservation scores 1, a wrong one 0 in what is wrong. Progress only grows.

What a hold, a cancellation or a question does is recorded: `tests/fixtures/episodes/booking.toml` has the ways.
"""

from collections import Counter
from random import Random

import pytest

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.scoring import PARTS, gold_actions, reservation_parts
from iad_envs.booking.state import BookingState, Guest, Hold, Place, Reservation, Scene, SiteTable
from iad_envs.booking.tasks import BookingTask
from tests.contract.environments import solution_of
from tests.iad_envs.booking.site_walks import choose
from tests.iad_envs.booking.visits import ENGINE, TASKS, TEST, WORLD, booking, start_of, tasks_with, walked

SOME = TEST[::8]
ADA = Guest("Ada", "Becker", "555-0123", "ada@example.org")


def parts_of(task: BookingTask, state: BookingState) -> dict[str, float]:
    return reservation_parts(task, state) if state.place.kind == "confirmation" else {}


def wrong_in(task: BookingTask, actions: list[str]) -> list[str]:
    """The parts that are 0 after actions that make a reservation."""
    parts = parts_of(task, walked(start_of(task), actions))
    assert parts, f"{task.task_id}: no reservation after {actions}"
    return [name for name in PARTS if not parts[name]]


def test_each_gold_action_left_out_fails_or_leads_to_the_same_reservation_for_a_reason() -> None:
    """Harmless: the question, as gold knows; the name, if a search for all finds it; the time, if it is near 7 PM."""
    harmless: Counter[str] = Counter()
    n_left_out = 0
    for task in SOME:
        gold = gold_actions(ENGINE, task)
        state = start_of(task)
        right = walked(state, gold).reservations
        for place, action in enumerate(gold):
            after = walked(state, gold[place + 1 :])
            n_left_out += 1
            if all(parts_of(task, after).values()) and parts_of(task, after):
                harmless[action.partition("]")[0].partition("HELP")[0].strip()] += 1
                assert after.reservations == right, (task.task_id, action)
            state = walked(state, [action])
    assert set(harmless) <= {"ASK USER", "TYPE [q", "TYPE [time"}
    assert harmless["ASK USER"] == sum("hidden_seating" in task.kinds for task in SOME) > 0
    assert harmless["TYPE [q"] + harmless["TYPE [time"] < n_left_out / 20


def test_another_seating_phone_or_email_fails_in_that_part_alone_where_it_differs() -> None:
    n_careless = 0
    for task in TEST[::4]:
        for seating in WORLD.tables(task.restaurant, task.day, task.party)[task.gold_slots[0]]:
            wrong = wrong_in(task, booking(task._replace(seating=seating)))
            assert wrong == (["seating"] if task.seating not in ("", seating) else []), (task.task_id, seating)
            n_careless += not task.seating
    assert n_careless > 20
    for task in TEST[:2]:
        area, rest = task.user.phone.split("-")
        email = task.user.email
        for field, value, is_right in (
            ("phone", area + rest, True), ("phone", f"({area}) {rest}", True), ("phone", f"{area} {rest}", True),
            ("phone", f"+1 212 {area}-{rest}", False), ("phone", f"{area}{rest}0", False),
            ("email", f"  {email.upper()}", True), ("email", f"x{email}", False),
        ):  # fmt: skip
            actions = [one for one in booking(task) if not one.startswith((f"TYPE [{field}]", f"CLEAR [{field}]"))]
            actions[-1:] = [f"CLEAR [{field}]", f"TYPE [{field}] [{value}]", "CLICK [complete]"]
            assert wrong_in(task, actions) == ([] if is_right else ["user_info"]), (task.task_id, value)


def test_a_move_that_leaves_the_old_reservation_is_not_completed() -> None:
    """Within two hours it is refused; a reservation by hand that is far enough away shows the part alone."""
    for task in tasks_with("move")[::4]:
        kept = walked(start_of(task), booking(task, keeps_old=True))
        assert (kept.findings, len(kept.booked), parts_of(task, kept)) == (("double_booking",), 1, {}), task.task_id
        assert task.own is not None
        far = task._replace(own=task.own._replace(table=task.own.table._replace(day=task.day + 1)))
        assert wrong_in(far, booking(far, keeps_old=True)) == ["completed"], task.task_id
        assert wrong_in(far, booking(far)) == []


def test_the_right_times_are_the_nearest_of_all_free_ones() -> None:
    n_ties = 0
    for task in TASKS.values():
        free = WORLD.tables(task.restaurant, task.day, task.party)
        off = {minute: abs(minute - task.minute) for minute in free if abs(minute - task.minute) <= 120}
        nearest = tuple(sorted(minute for minute in off if off[minute] == min(off.values())))
        assert task.gold_slots == nearest, task.task_id
        assert ("nearest" in task.kinds) == (task.minute not in free), task.task_id
        if len(nearest) > 1:  # both are right
            n_ties += 1
            assert [wrong_in(task, booking(task, minute)) for minute in nearest] == [[], []], task.task_id
    assert n_ties >= 20


def test_progress_never_falls_and_is_1_only_with_success() -> None:
    rng = Random(7)
    env = BookingEnv()
    n_grown = 0
    for number in range(16):
        _, info = env.reset(seed=number)
        gold, best = solution_of(env), 0.0
        for step in range(30):
            # Half of the actions are gold's, so that there is progress that could fall.
            is_gold = step < len(gold) and number % 2 and rng.random() < 0.8
            _, _, terminated, _, info = env.step(gold[step] if is_gold else choose(info, rng))
            assert best <= info["progress"] <= 1
            assert (info["progress"] == 1) == info["success"]
            n_grown += info["progress"] > best
            best = info["progress"]
            if terminated:
                break
    assert n_grown > 12


@pytest.mark.parametrize(
    ("minutes", "days", "is_cancelled", "is_accepted"),
    [(0, 0, False, False), (60, 0, False, False), (119, 0, False, False), (-119, 0, False, False),
     (120, 0, False, True), (-120, 0, False, True), (0, 1, False, True), (0, 0, True, True)],
)  # fmt: skip
def test_a_second_reservation_is_refused(minutes: int, days: int, is_cancelled: bool, is_accepted: bool) -> None:
    slug, other = list(WORLD.restaurants)[:2]
    for where in (slug, other):
        table = SiteTable(where, 20 + days, 19 * 60 + minutes, "outdoor")
        state = ENGINE.start(Scene("Book."), "norwick", (Reservation(1, table, 2, ADA, is_cancelled),))
        state = state._replace(hold=Hold(SiteTable(slug, 20, 19 * 60, "indoor"), 2, 0))
        after, complaint, done, _ = ENGINE.act(ENGINE.arrived(state, Place("hold")), "CLICK [complete]")
        assert (complaint, done, len(after.booked) - len(state.booked)) == ("", is_accepted, is_accepted)
        assert after.findings == (() if is_accepted else ("double_booking",))
        assert (after.hold is None) is is_accepted
        assert is_accepted or WORLD.restaurants[where].name in after.notice

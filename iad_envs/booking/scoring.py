"""Gold: how right a reservation is, how far an episode has come, and actions that solve a task."""

from collections.abc import Mapping
from typing import NamedTuple

from iad_envs.booking.engine import BookingEngine
from iad_envs.booking.moments import clock, iso
from iad_envs.booking.pages import GUEST_FIELDS, kind_of, page_of, slot_id, window_of
from iad_envs.booking.state import BookingState, Guest, SiteTable
from iad_envs.booking.tasks import BookingTask

PARTS = ("restaurant", "date_time", "party", "seating", "user_info", "completed")
"""Each is 0 or 1. A success has all six."""


class Memory(NamedTuple):
    """What the score of the next state needs: the best progress, and whether the restaurant's page was seen."""

    best: float = 0.0
    has_seen: bool = False


def reservation_parts(task: BookingTask, state: BookingState) -> dict[str, float]:
    """Return the parts of a completed reservation, which is the state's last one."""
    made = state.reservations[-1]
    is_left_alone = task.own is None or len(state.booked) == 1
    right = {
        "restaurant": made.table.slug == task.restaurant,
        "date_time": made.table.day == task.day and made.table.minute in task.gold_slots,
        "party": made.party == task.party,
        "seating": task.seating in ("", made.table.seating),
        "user_info": all(_right_details(task.user, made.guest).values()),
        "completed": is_left_alone,
    }
    return {name: float(right[name]) for name in PARTS}


def published_parts(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the paper's four parts: the restaurant belongs to the first, and the seating to none."""
    return {
        **{name: parts[name] for name in ("date_time", "party", "user_info", "completed")},
        "date_time": parts["restaurant"] * parts["date_time"],
    }


def counts(task: BookingTask, state: BookingState, *, is_over: bool, is_booked: bool) -> dict[str, float]:
    """Return how often the user was asked without need, and whether a move has lost the original reservation."""
    n_asked = sum(1 for one in state.asked if one.answer)
    is_needed = "hidden_seating" in task.kinds and any("seating" in one.topics for one in state.asked)
    lost = is_over and not is_booked and any(one.is_cancelled for one in state.reservations)
    return {"needless_asks": float(n_asked - is_needed), "lost_original": float(lost)}


def subgoals(task: BookingTask, state: BookingState, *, has_seen: bool, success: bool) -> dict[str, bool]:
    """Return which subgoals hold. `completed` counts only with success."""
    made = state.reservations[-1] if state.place.kind == "confirmation" and state.reservations else None
    kept = made or state.hold
    place = state.place
    table, party = (kept.table, kept.party) if kept else (SiteTable(place.slug, place.day, place.minute), place.party)
    is_there = (kept is not None or place.kind == "restaurant") and table.slug == task.restaurant
    day = is_there and table.day == task.day
    seating = {"seating": is_there and kept is not None and table.seating == task.seating}
    form = state.form
    guest = made.guest if made else Guest(*(form.get(name, "") for name in GUEST_FIELDS))
    return {
        "restaurant": has_seen,
        "day": day,
        "slot": day and kept is not None and table.minute in task.gold_slots,
        "party": is_there and party == task.party,
        **(seating if task.seating else {}),
        **_right_details(task.user, guest),
        "completed": success,
    }


def sees_restaurant(task: BookingTask, state: BookingState) -> bool:
    """Whether the wanted restaurant's page, or a table of it, is seen."""
    held = state.hold is not None and state.hold.table.slug == task.restaurant
    return held or (state.place.kind == "restaurant" and state.place.slug == task.restaurant)


def gold_actions(engine: BookingEngine, task: BookingTask) -> list[str]:
    """Return actions that solve a task, without needless ones."""
    world, wanted = engine.world, engine.world.restaurants[task.restaurant]
    state, done = engine.start(task.scene, task.city, task.reservations), list[str]()

    def do(action: str) -> None:
        nonlocal state
        state = engine.act(state, action).state
        done.append(action)

    def sees(element: str) -> bool:
        return element in {one.id for one in window_of(state, page_of(world, state))}

    def fill(values: Mapping[str, str]) -> None:
        for name, value in values.items():
            given = state.form.get(name, "")
            if given != value:
                if given and name in GUEST_FIELDS:
                    do(f"CLEAR [{name}]")
                do(f"TYPE [{name}] [{value}]")

    if task.city != wanted.city:
        do(f"TYPE [city] [{world.cities[wanted.city]}]")
    do(f"TYPE [q] [{wanted.name}]")
    do("CLICK [go]")
    while not sees(f"r-{wanted.slug}"):
        do("CLICK [next]" if sees("next") else "SCROLL [DOWN]")
    do(f"CLICK [r-{wanted.slug}]")
    fill({"date": iso(task.day), "time": clock(task.minute), "party": str(task.party)})
    do("CLICK [find]")
    do(f"CLICK [{next(slot_id(one) for one in page_of(world, state).slots if one in task.gold_slots)}]")
    if kind_of(state) == "seating":
        if "hidden_seating" in task.kinds:
            do("ASK USER HELP [Where would you like to sit?]")
        do(f"CLICK [seat-{task.seating or page_of(world, state).seatings[0]}]")
    if task.own is not None:
        for name in ("mine", "cancel", "cancel-yes", "hold"):
            do(f"CLICK [{name}]")
    fill({name: value for name, value in zip(GUEST_FIELDS, task.user, strict=True) if name != "note"})
    do("CLICK [complete]")
    return done


def _right_details(user: Guest, given: Guest) -> dict[str, bool]:
    return {
        "first_name": _plain(given.first_name) == _plain(user.first_name),
        "last_name": _plain(given.last_name) == _plain(user.last_name),
        "phone": _digits(given.phone) == _digits(user.phone),
        "email": _plain(given.email) == _plain(user.email),
    }


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _digits(text: str) -> str:
    """Return the digits of a phone number without the country's code 1."""
    digits = "".join(letter for letter in text if letter.isdecimal() and letter.isascii())
    return digits[1:] if len(digits) == 11 and digits.startswith("1") else digits

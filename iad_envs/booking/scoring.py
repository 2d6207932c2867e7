"""Gold: how right a reservation is, how far an episode has come, and actions that solve a task."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from iad_envs.booking.engine import BookingEngine
from iad_envs.booking.moments import clock, iso
from iad_envs.booking.pages import GUEST_FIELDS, SitePage, kind_of, page_of, slot_id, window_of
from iad_envs.booking.state import BookingState, Guest, Reservation, SiteTable
from iad_envs.booking.tasks import BookingTask

PARTS = ("restaurant", "date_time", "party", "seating", "user_info", "completed")
"""Each is 0 or 1. A success has all six."""
PUBLISHED_PARTS = ("date_time", "party", "user_info", "completed")


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
    return {**{name: parts[name] for name in PUBLISHED_PARTS}, "date_time": parts["restaurant"] * parts["date_time"]}


def counts(task: BookingTask, state: BookingState, *, is_over: bool, is_booked: bool) -> dict[str, float]:
    """Return how often the user was asked without need, and whether a move has lost the original reservation."""
    n_asked = sum(1 for one in state.asked if one.answer)
    is_needed = "hidden_seating" in task.kinds and any("seating" in one.topics for one in state.asked)
    lost = is_over and not is_booked and any(one.is_cancelled for one in state.reservations)
    return {"needless_asks": float(n_asked - is_needed), "lost_original": float(lost)}


def subgoals(task: BookingTask, state: BookingState, *, has_seen: bool, success: bool) -> dict[str, bool]:
    """Return which subgoals hold. `completed` counts only with success."""
    made = state.reservations[-1] if state.place.kind == "confirmation" and state.reservations else None
    table, party = _table_of(state, made)
    is_there = table is not None and table.slug == task.restaurant
    day = is_there and table is not None and table.day == task.day
    is_held = (made is not None or state.hold is not None) and table is not None
    seating = {"seating": is_there and is_held and table is not None and table.seating == task.seating}
    return {
        "restaurant": has_seen,
        "day": day,
        "slot": day and is_held and table is not None and table.minute in task.gold_slots,
        "party": is_there and party == task.party,
        **(seating if task.seating else {}),
        **_right_details(task.user, _guest_of(state, made)),
        "completed": success,
    }


def sees_restaurant(task: BookingTask, state: BookingState) -> bool:
    """Whether the wanted restaurant's page, or a table of it, is seen."""
    held = state.hold is not None and state.hold.table.slug == task.restaurant
    return held or (state.place.kind == "restaurant" and state.place.slug == task.restaurant)


def gold_actions(engine: BookingEngine, task: BookingTask) -> list[str]:
    """Return actions that solve a task, without needless ones."""
    return list(_gold(_Walk(engine, task)))


class _Walk:
    """A visitor of the site who knows the task."""

    def __init__(self, engine: BookingEngine, task: BookingTask) -> None:
        self.engine, self.task = engine, task
        self.state = engine.start(task.scene, task.city, task.reservations)

    @property
    def page(self) -> SitePage:
        return page_of(self.engine.world, self.state)

    def sees(self, element: str) -> bool:
        return element in {one.id for one in window_of(self.state, self.page)}

    def do(self, action: str) -> str:
        self.state = self.engine.act(self.state, action).state
        return action

    def filled(self, wanted: Mapping[str, str]) -> Iterator[str]:
        for name, value in wanted.items():
            given = self.state.form.get(name, "")
            if given == value:
                continue
            if given and name in GUEST_FIELDS:
                yield self.do(f"CLEAR [{name}]")
            yield self.do(f"TYPE [{name}] [{value}]")


def _gold(walk: _Walk) -> Iterator[str]:
    task, world = walk.task, walk.engine.world
    wanted = world.restaurants[task.restaurant]
    if task.city != wanted.city:
        yield walk.do(f"TYPE [city] [{world.cities[wanted.city]}]")
    yield walk.do(f"TYPE [q] [{wanted.name}]")
    yield walk.do("CLICK [go]")
    while not walk.sees(f"r-{wanted.slug}"):
        yield walk.do("CLICK [next]" if walk.sees("next") else "SCROLL [DOWN]")
    yield walk.do(f"CLICK [r-{wanted.slug}]")
    yield from walk.filled({"date": iso(task.day), "time": clock(task.minute), "party": str(task.party)})
    yield walk.do("CLICK [find]")
    yield walk.do(f"CLICK [{next(slot_id(one) for one in walk.page.slots if one in task.gold_slots)}]")
    if kind_of(walk.state) == "seating":
        if "hidden_seating" in task.kinds:
            yield walk.do("ASK USER HELP [Where would you like to sit?]")
        yield walk.do(f"CLICK [seat-{task.seating or walk.page.seatings[0]}]")
    if task.own is not None:
        for name in ("mine", "cancel", "cancel-yes", "hold"):
            yield walk.do(f"CLICK [{name}]")
    details = dict(zip(GUEST_FIELDS, task.user, strict=True))
    yield from walk.filled({name: value for name, value in details.items() if name != "note"})
    yield walk.do("CLICK [complete]")


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


def _table_of(state: BookingState, made: Reservation | None) -> tuple[SiteTable | None, int]:
    """Return the table that a state is about, and the party."""
    if made is not None:
        return made.table, made.party
    if state.hold is not None:
        return state.hold.table, state.hold.party
    place = state.place
    if place.kind == "restaurant":
        return SiteTable(place.slug, place.day, place.minute), place.party
    return None, 0


def _guest_of(state: BookingState, made: Reservation | None) -> Guest:
    if made is not None:
        return made.guest
    form = state.form
    return Guest(*(form.get(name, "") for name in GUEST_FIELDS))

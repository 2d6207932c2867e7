"""Compares what an instruction asks for with what the pages show: one degree from 0 to 1 for each fact."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from iad_envs.booking.policy.reading import (
    FIELDS,
    WITHIN,
    BookingInstruction,
    answers,
    clock,
    digits,
    instruction_of,
    iso_of,
    looked_for,
    minute_of,
    named_seating,
    page_of,
    same_words,
    wanted_seating,
    wish_of,
)
from iad_envs.booking.world import SEATINGS
from iad_policy.types import State

TYPED = 0.5
"""Degree of a fact that stands in a form only, or of a restaurant that is only listed."""
CANCELLING = {"mine": 0.4, "cancel": 0.7}
"""Degree of a cancellation that is on its way, by the kind of page."""


class Booked(NamedTuple):
    """A table that a page shows: one that is held, or one that is reserved."""

    restaurant: str
    city: str
    day: str
    minute: int
    party: int
    seating: str


def booked_of(shown: Mapping[str, Any]) -> Booked:
    """Return the table of a page's `hold`, or of one of its `reservations`."""
    return Booked(
        shown["restaurant"],
        shown["city"],
        iso_of(shown["day"]),
        minute_of(shown["time"]),
        shown["party"],
        shown["seating"],
    )


def facts_of(state: State) -> dict[str, float]:
    """Return how far each fact that is asked for is settled on the way to a reservation."""
    page, wanted = page_of(state), instruction_of(state)
    hold = page.get("hold") or None
    found = _held(state, booked_of(hold), wanted) if hold else _open(page, wanted)
    given = _given(page) if found["held"] else {}
    for name in FIELDS:
        if name in wanted.details:
            found[name] = float(is_detail(name, given.get(name, ""), wanted.details[name]))
    if wanted.moves:
        is_done = all(one["is_cancelled"] for one in page.get("reservations", ()))
        found["cancelled"] = found["held"] * (1.0 if is_done else CANCELLING.get(page.get("kind", ""), 0.0))
    return found


def contradictions(state: State, made: Mapping[str, Any]) -> list[str]:
    """Return which facts of a reservation differ from what is asked for, as far as the pages seen tell."""
    wanted, booked = instruction_of(state), booked_of(made)
    first, _, last = made["name"].partition(" ")
    given = {"first-name": first, "last-name": last, "phone": made["phone"], "email": made["email"]}
    name = f"{wanted.details.get('first-name', '')} {wanted.details.get('last-name', '')}"
    wrong = {
        "restaurant": not same_words(booked.restaurant, wanted.restaurant),
        "city": not same_words(booked.city, wanted.city),
        "date": booked.day != wanted.day,
        "time": booked.minute not in right_minutes(state, wanted, booked),
        "party": booked.party != wanted.party,
        "seating": _said_seating(state) not in ("", booked.seating),
        "name": bool(name.strip()) and not same_words(made["name"], name),
        "phone": "phone" in wanted.details and not is_detail("phone", given["phone"], wanted.details["phone"]),
        "email": "email" in wanted.details and not is_detail("email", given["email"], wanted.details["email"]),
    }
    return [fact for fact, differs in wrong.items() if differs]


def is_unasked(state: State) -> bool:
    """Whether several kinds of seating were offered at the held table, and nothing says which is wanted."""
    offered = offered_seatings(state)
    return len(offered) > 1 and not wanted_seating(state, offered) and not _was_asked(state)


def offered_seatings(state: State) -> Sequence[str]:
    """Return the kinds of seating that the last page with a choice has offered."""
    for seen in reversed((*state.history, state)):
        if seatings := page_of(seen).get("seatings"):
            return list(seatings)
    return []


def shown_minutes(state: State, wanted: BookingInstruction, booked: Booked) -> set[int]:
    """Return the times that were offered near the wanted one, for the same restaurant, day and party.

    A page that looked for another time may leave out those that are nearest to the wanted one, so it doesn't count.
    """
    title = f"{booked.restaurant}, {booked.city}"
    found: set[int] = set()
    for page in _pages(state):
        if page.get("kind") != "restaurant" or not same_words(page["title"], title):
            continue
        asked = looked_for(page)
        if asked == {"date": booked.day, "time": clock(wanted.minute), "party": str(booked.party)}:
            found.update(map(minute_of, page["slots"]))
    return found


def right_minutes(state: State, wanted: BookingInstruction, booked: Booked) -> set[int]:
    """Return the times that are right as far as the pages tell: of those shown, the nearest to the wanted one."""
    shown = {minute for minute in shown_minutes(state, wanted, booked) if abs(minute - wanted.minute) <= WITHIN}
    least = min((abs(minute - wanted.minute) for minute in shown), default=0)
    return {minute for minute in shown if abs(minute - wanted.minute) == least} or {wanted.minute}


def is_detail(name: str, given: str, wanted: str) -> bool:
    """Whether a detail is the wanted one. Of phone numbers only the digits count."""
    return digits(given) == digits(wanted) if name == "phone" else same_words(given, wanted)


def _held(state: State, held: Booked, wanted: BookingInstruction) -> dict[str, float]:
    named = wanted_seating(state, offered_seatings(state) or [held.seating])
    found = {
        "restaurant": float(same_words(held.restaurant, wanted.restaurant) and same_words(held.city, wanted.city)),
        "city": float(same_words(held.city, wanted.city)),
        "date": float(held.day == wanted.day),
        "time": float(held.minute in right_minutes(state, wanted, held)),
        "party": float(held.party == wanted.party),
    }
    is_right = all(found.values())
    is_seated = is_right and bool(held.seating) and named in ("", held.seating)
    return {**found, "seating": float(is_seated), "held": float(is_right)}


def _open(page: Mapping[str, Any], wanted: BookingInstruction) -> dict[str, float]:
    """Return the degrees of a page on which no table is held."""
    found = dict.fromkeys(("restaurant", "city", "date", "time", "party", "seating", "held"), 0.0)
    kind = page.get("kind", "")
    if kind in ("home", "results"):
        elements = {one["id"]: one for one in page["elements"]}
        if "city" in elements:
            found["city"] = TYPED * same_words(elements["city"]["value"], wanted.city)
        if "q" in elements:
            found["restaurant"] = TYPED / 2 * same_words(elements["q"]["value"], wanted.restaurant)
        if kind == "results" and found["city"]:
            links = [one["label"].partition(",")[0] for one in page["elements"] if one["id"].startswith("r-")]
            found["city"] = 1.0
            found["restaurant"] += TYPED / 2 * any(same_words(link, wanted.restaurant) for link in links)
    if kind == "restaurant" and same_words(page["title"], f"{wanted.restaurant}, {wanted.city}"):
        found["restaurant"] = found["city"] = 1.0
        asked, form, wish = looked_for(page), page["form"], wish_of(wanted)
        for name in ("date", "time", "party"):
            is_typed = form.get(name) == wish.get(name)
            found[name] = TYPED * is_typed + TYPED * (is_typed and asked.get(name) == wish.get(name))
    return found


def _given(page: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the details of the form, or on other pages those that the site knows from a reservation."""
    if page["kind"] == "details" or not page["reservations"]:
        return dict(page["form"])
    known = page["reservations"][-1]
    first, _, last = known["name"].partition(" ")
    return {"first-name": first, "last-name": last, "phone": known["phone"], "email": known["email"]}


def _was_asked(state: State) -> bool:
    """Whether the user has said something about seating, even that any table will do."""
    return any(named_seating(text, tuple(SEATINGS)) or "table" in text.lower() for text in answers(state))


def _said_seating(state: State) -> str:
    """Return the seating that the instruction or the last answer about it names, whether it was offered or not."""
    named = [named_seating(text, tuple(SEATINGS)) for text in reversed(answers(state))]
    return instruction_of(state).seating or next(filter(None, named), "")


def _pages(state: State) -> Iterable[Mapping[str, Any]]:
    return map(page_of, (*state.history, state))

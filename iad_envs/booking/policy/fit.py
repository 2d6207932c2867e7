"""Compares what an instruction asks for with what the pages show: degrees of facts on the way, and faults at the end.

No gold is used. Which other times were free is known only from the pages that the agent was shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from iad_envs.booking.moments import clock
from iad_envs.booking.policy.instruction import (
    FIELDS,
    WITHIN,
    BookingInstruction,
    answers,
    has_reservation,
    instruction_of,
    is_detail,
    iso_of,
    listed,
    looked_for,
    minute_of,
    named_seating,
    pages_of,
    same_words,
    wanted_seating,
    wish_of,
)
from iad_envs.booking.world import SEATINGS
from iad_policy.prompts.rendering import page_of
from iad_policy.types import State

TYPED = 0.5
"""Degree of a fact that stands in a form only, or of a restaurant that is only listed."""


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
    given: Mapping[str, str] = {}
    if found["held"]:  # other pages than that of the details show those that the site knows from a reservation
        is_form = page["kind"] == "details" or not page["reservations"]
        given = page["form"] if is_form else details_of(page["reservations"][-1])
    for name in FIELDS:
        if name in wanted.details:
            found[name] = float(is_detail(name, given.get(name, ""), wanted.details[name]))
    if wanted.moves:
        is_done = all(one["is_cancelled"] for one in page.get("reservations", ()))
        on_its_way = {"mine": 0.4, "cancel": 0.7}.get(page.get("kind", ""), 0.0)
        found["cancelled"] = found["held"] * (1.0 if is_done else on_its_way)
    return found


def faults(state: State) -> list[str]:
    """Return what is wrong with a final state, in words. In Agent Q a model judges the last page."""
    page, wanted = page_of(state), instruction_of(state)
    if page.get("kind") != "confirmation" or not page["reservations"]:
        return ["nothing was completed"]
    *earlier, made = page["reservations"]
    booked, given = booked_of(made), details_of(made)
    # The seating that the instruction or the last answer about it names, whether it was offered or not.
    named = [wanted.seating, *(named_seating(text, tuple(SEATINGS)) for text in reversed(answers(state)))]
    name = f"{wanted.details.get('first-name', '')} {wanted.details.get('last-name', '')}"
    differs = {
        "restaurant": not same_words(booked.restaurant, wanted.restaurant),
        "city": not same_words(booked.city, wanted.city),
        "date": booked.day != wanted.day,
        "time": booked.minute not in right_minutes(state, wanted, booked),
        "party": booked.party != wanted.party,
        "seating": next(filter(None, named), booked.seating) != booked.seating,
        "name": bool(name.strip()) and not same_words(made["name"], name),
        **{
            field: field in wanted.details and not is_detail(field, given[field], wanted.details[field])
            for field in ("phone", "email")
        },
    }
    is_left = wanted.moves and has_reservation({"reservations": earlier})
    wrong = [f"{fact} differs" for fact, is_wrong in differs.items() if is_wrong]
    return [*wrong, *(["the old reservation is still there"] if is_left else [])]


def details_of(shown: Mapping[str, Any]) -> dict[str, str]:
    """Return the user's details in one of a page's `reservations`."""
    first, _, last = shown["name"].partition(" ")
    return {"first-name": first, "last-name": last, "phone": shown["phone"], "email": shown["email"]}


def is_unasked(state: State) -> bool:
    """Whether several kinds of seating were offered at the held table, and nothing says which is wanted."""
    offered = offered_seatings(state)
    # The user has said something about seating, even that any table will do.
    was_asked = any(named_seating(text, tuple(SEATINGS)) or "table" in text.lower() for text in answers(state))
    return len(offered) > 1 and not wanted_seating(state, offered) and not was_asked


def offered_seatings(state: State) -> Sequence[str]:
    """Return the kinds of seating that the last page with a choice has offered."""
    for page in reversed(pages_of(state)):
        if seatings := page.get("seatings"):
            return list(seatings)
    return []


def right_minutes(state: State, wanted: BookingInstruction, booked: Booked) -> set[int]:
    """Return the times that are right as far as the pages tell: of those shown, the nearest to the wanted one.

    Only pages count that looked for the wanted time in the same restaurant, on the same day and for the same party. One
    that looked for another time may leave out the times that are nearest to the wanted one.
    """
    title = f"{booked.restaurant}, {booked.city}"
    same = {"date": booked.day, "time": clock(wanted.minute), "party": str(booked.party)}
    shown: set[int] = set()
    for page in pages_of(state):
        if page.get("kind") == "restaurant" and same_words(page["title"], title) and looked_for(page) == same:
            shown.update(minute for minute in map(minute_of, page["slots"]) if abs(minute - wanted.minute) <= WITHIN)
    least = min((abs(minute - wanted.minute) for minute in shown), default=0)
    return {minute for minute in shown if abs(minute - wanted.minute) == least} or {wanted.minute}


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
            found["city"] = 1.0
            names = listed(page).values()
            found["restaurant"] += TYPED / 2 * any(same_words(name, wanted.restaurant) for name in names)
    if kind == "restaurant" and same_words(page["title"], f"{wanted.restaurant}, {wanted.city}"):
        found["restaurant"] = found["city"] = 1.0
        asked, form, wish = looked_for(page), page["form"], wish_of(wanted)
        for name in ("date", "time", "party"):
            is_typed = form.get(name) == wish.get(name)
            found[name] = TYPED * is_typed + TYPED * (is_typed and asked.get(name) == wish.get(name))
    return found

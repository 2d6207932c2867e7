"""A rule-based agent for `IAD/Booking-v0`. It is stochastic and reads only observation and info, without gold.

On each page it sets what differs from the instruction, and goes on. The temperature makes it forget a field, take a
neighbouring time or a namesake, overlook the city, and not ask. Given best and worst, it takes another action.
"""

from collections.abc import Mapping
from typing import Any

from iad_envs.booking.policy.instruction import (
    FIELDS,
    WITHIN,
    BookingInstruction,
    answers,
    has_reservation,
    instruction_of,
    is_detail,
    listed,
    looked_for,
    minute_of,
    same_words,
    wanted_seating,
    wish_of,
)
from iad_policy.agents.rule_based import ChoosingAgent
from iad_policy.prompts.rendering import page_of
from iad_policy.types import State

QUESTION = "ASK USER HELP [Where would you like to sit?]"
HOME = "GOTO [home]"
RIGHT, NEXT_BEST, SLIP, UNLIKELY = 1.0, 0.8, 0.7, 0.45
"""Fit of an action: what the instruction asks for, what also makes sense, a usual mistake, and a rare one."""


class BookingAgent(ChoosingAgent):
    """The booking site's rule-based agent: it reads pages and draws an action that fits.

    Args:
        env: Not used. The agent reads observations only.
        temperature: Randomness of the choices. 0 is greedy.
    """

    name = "booker"
    scale = 0.2

    def choices(self, state: State) -> dict[str, float]:
        """Return the sensible actions in a state, each with its fit."""
        return choices_of(state)


def choices_of(state: State) -> dict[str, float]:
    """Return the sensible actions on a page, each with its fit. A larger fit is more likely."""
    page, wanted = page_of(state), instruction_of(state)
    kind = page.get("kind", "")
    if kind in ("home", "results"):
        found = _searching(state, page, wanted)
    elif kind == "restaurant":
        found = _looking(page, wanted)
    elif kind == "seating":
        found = _seating(state, page)
    elif kind == "details":
        found = _filling(page, wanted)
    elif kind == "mine":
        found = {"CLICK [hold]" if page["hold"] else HOME: RIGHT}
        if wanted.moves and has_reservation(page):
            back = next(iter(found))
            found = {"CLICK [cancel]": RIGHT if page["hold"] else NEXT_BEST + 0.1, back: UNLIKELY + 0.3}
    elif kind == "cancel":
        found = {"CLICK [cancel-yes]": RIGHT if page["hold"] else SLIP, "CLICK [keep]": UNLIKELY}
    else:
        found = {}
    return found or {HOME: RIGHT}


def _searching(state: State, page: Mapping[str, Any], wanted: BookingInstruction) -> dict[str, float]:
    """Return the choices on the search page and on results."""
    elements = {one["id"]: one for one in page["elements"]}
    if "q" not in elements:
        return {"SCROLL [UP]": RIGHT}
    found: dict[str, float] = {}
    is_there = same_words(elements["city"]["value"], wanted.city)
    is_typed = same_words(elements["q"]["value"], wanted.restaurant)
    if wanted.moves and has_reservation(page) and not page["hold"] and "mine" in elements:
        found["CLICK [mine]"] = SLIP
    links = listed(page)
    is_searched = page["kind"] == "results" and is_typed and same_words(state.info["facts"]["city"], wanted.city)
    if not is_there:
        found[f"TYPE [city] [{wanted.city}]"] = RIGHT
    if not is_typed and elements["q"]["value"]:
        found["CLEAR [q]"] = RIGHT if is_there else SLIP
    elif not is_typed:
        found[f"TYPE [q] [{wanted.restaurant}]"] = RIGHT if is_there else NEXT_BEST
        short = wanted.restaurant.split()[-1]
        if short != wanted.restaurant:
            found[f"TYPE [q] [{short}]"] = UNLIKELY
    elif not is_searched:
        found["CLICK [go]"] = RIGHT if is_there else SLIP
    for name, label in links.items():
        near = set(label.casefold().split()) & set(wanted.restaurant.casefold().split())
        if same_words(label, wanted.restaurant):
            found[f"CLICK [{name}]"] = RIGHT + 0.1 if is_searched else SLIP
        elif near:
            found[f"CLICK [{name}]"] = SLIP - 0.05 if is_searched else UNLIKELY
    if not any(same_words(label, wanted.restaurant) for label in links.values()) and "next" in elements:
        found["CLICK [next]"] = RIGHT
    return found


def _looking(page: Mapping[str, Any], wanted: BookingInstruction) -> dict[str, float]:
    """Return the choices on a restaurant's page."""
    if not same_words(page["title"], f"{wanted.restaurant}, {wanted.city}"):
        return {HOME: RIGHT, **{f"CLICK [slot-{slot}]": UNLIKELY for slot in page["slots"]}}
    found: dict[str, float] = {}
    wish, form = wish_of(wanted), page["form"]
    missing = [name for name, value in wish.items() if form.get(name) != value]
    for place, name in enumerate(missing):
        found[f"TYPE [{name}] [{wish[name]}]"] = RIGHT - 0.02 * place
    is_found = looked_for(page) == {name: form.get(name, "") for name in ("date", "time", "party")}
    if not is_found:
        found["CLICK [find]"] = RIGHT if not missing else SLIP
    slots = sorted(page["slots"], key=lambda slot: abs(minute_of(slot) - wanted.minute))
    fits = [RIGHT, SLIP, UNLIKELY] if is_found and not missing else [UNLIKELY]
    for slot, fit in zip(slots, fits, strict=False):
        if abs(minute_of(slot) - wanted.minute) <= WITHIN:
            found[f"CLICK [slot-{slot}]"] = fit
    if is_found and not missing and not slots:
        found[HOME] = RIGHT
    return found


def _seating(state: State, page: Mapping[str, Any]) -> dict[str, float]:
    """Return the choices where several kinds of seating are left."""
    offered = page["seatings"]
    named = wanted_seating(state, offered)
    if named:
        return {f"CLICK [seat-{one}]": RIGHT if one == named else SLIP - 0.1 for one in offered}
    found = {f"CLICK [seat-{one}]": SLIP for one in offered}
    is_asked = any("sit" in str(turn.action).lower() for turn in state.history) and answers(state)
    found[QUESTION] = UNLIKELY if is_asked else RIGHT
    return found


def _filling(page: Mapping[str, Any], wanted: BookingInstruction) -> dict[str, float]:
    """Return the choices on the details page."""
    if not page["hold"]:
        return {HOME: RIGHT}
    form, found = page["form"], dict[str, float]()
    is_double = wanted.moves and has_reservation(page)
    named = [(name, wanted.details[name]) for name in FIELDS if name in wanted.details]
    missing = [(name, value) for name, value in named if not is_detail(name, form.get(name, ""), value)]
    for place, (name, value) in enumerate(missing):
        fill = f"TYPE [{name}] [{value}]" if not form.get(name) else f"CLEAR [{name}]"
        found[fill] = RIGHT - 0.02 * place
    found["CLICK [complete]"] = (SLIP if missing else RIGHT) - (0.2 if is_double else 0.0)
    if is_double:
        found["CLICK [mine]"] = RIGHT if "double_booking" in page["notice"] or not missing else NEXT_BEST
    return found

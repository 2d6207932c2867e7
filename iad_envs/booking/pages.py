"""The site's pages as data, and as text for agents. Neither knows gold."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from iad_envs.booking.addresses import SITE, path_of
from iad_envs.booking.moments import clock, day_text, iso, people, time_text
from iad_envs.booking.state import HOLD_STEPS, BookingState, Hold, Place, Reservation, SiteTable
from iad_envs.booking.world import SEATINGS, BookingWorld, named_seatings

NAME = "Tablefind"
WINDOW = 14
"""Elements that are seen at once."""
PAGE_SIZE = 10
"""Restaurants on a page of results."""
UNASKED = "unasked_preference"
"""Code of the finding that the choice of seating is the user's."""
MAX_TEXT = 1800
SHOWN = 60
GUEST_FIELDS = {
    "first-name": "First name",
    "last-name": "Last name",
    "phone": "Phone",
    "email": "Email",
    "note": "Note to the restaurant",
}
"""Ids of the details page's fields, in the order of `Guest`, and their labels."""
WISH_FIELDS = {"date": "Date", "time": "Time", "party": "Party"}
PRICES = "$$$$"


class Element(NamedTuple):
    """Something on a page that can be used.

    `kind` is `link`, `button`, `field`, `list` or `option`. `value` is that of a field or list, else "".
    """

    id: str
    kind: str
    label: str
    value: str = ""


class SitePage(NamedTuple):
    """A page.

    Attributes:
        kind: `home`, `results`, `restaurant`, `seating`, `details`, `confirmation`, `mine` or `cancel`.
        path: Its address without the site.
        title: Its heading.
        lines: What it says besides.
        elements: All that can be used, those outside the window too.
        slots: Offered times in minutes.
        seatings: Offered kinds of seating.
    """

    kind: str
    path: str
    title: str
    lines: tuple[str, ...]
    elements: tuple[Element, ...]
    slots: tuple[int, ...] = ()
    seatings: tuple[str, ...] = ()


def page_of(world: BookingWorld, state: BookingState) -> SitePage:
    """Return the page of a state."""
    kind, place, form, held = kind_of(state), state.place, state.form, _held(world, state)
    lines: Sequence[str]
    elements: Sequence[Element] = ()
    slots: tuple[int, ...] = ()
    seatings: tuple[str, ...] = ()
    if kind == "home":
        title, lines = "Book a table", [f"The site is set to {world.cities[state.city]}."]
        elements = _search_form(world, state)
    elif kind == "results":
        title, (line, links) = "Restaurants", _results(world, place)
        lines, elements = [line], [*_search_form(world, state), *links]
    elif kind == "restaurant":
        one, slots = world.restaurants[place.slug], offered_slots(world, state)
        title = f"{one.name}, {world.cities[one.city]}"
        asked = f"Tables for {people(place.party)} on {day_text(place.day)} near {time_text(place.minute)}:"
        lines = [
            f"{one.cuisine}, {one.area}, {one.street}, {PRICES[: one.price]}, rated {one.rating:.1f}. {one.about}",
            f"Seating: {', '.join(SEATINGS[name].lower() for name in one.seatings)}.",
            asked if slots else f"{asked} none.",
        ]
        elements = [
            *(Element(name, "field", label, form.get(name, "")) for name, label in WISH_FIELDS.items()),
            Element("find", "button", "Find a table"),
            *(Element(slot_id(minute), "button", time_text(minute)) for minute in slots),
        ]
    elif kind == "seating":
        seatings = left_seatings(world, state)
        title, lines = "Seating", [held, "Where would you like to sit?"]
        elements = [Element(f"seat-{name}", "button", SEATINGS[name]) for name in seatings]
    elif kind == "details":
        title, lines = "Your details", [held]
        elements = [Element(name, "field", label, form.get(name, "")) for name, label in GUEST_FIELDS.items()]
        elements = [*elements, Element("complete", "button", "Complete the reservation")]
    elif kind == "confirmation":
        title, lines = _confirmation(world, state)
    elif kind == "mine":
        title, lines = "My reservations", []
        for own in state.reservations:
            mark = "Cancelled: " if own.is_cancelled else ""
            lines.append(f"{mark}{table_text(world, own.table, own.party)}.")
        lines = lines or ["You have none."]
        elements = [Element("cancel", "button", "Cancel the reservation")] if state.booked else []
    else:
        booked = [f"{table_text(world, own.table, own.party)}." for own in state.booked]
        title, lines = "Cancel this reservation?", [*booked, "This can't be undone."]
        elements = [Element("cancel-yes", "button", "Yes, cancel it"), Element("keep", "button", "Keep it")]
    if kind != "confirmation":
        ways = [("hold", "Your held table")] if state.hold else []
        ways += [("home", "Home"), ("mine", "My reservations")]
        navigation = [Element(name, "link", label) for name, label in ways if place.kind != name]
        elements = [*elements, *navigation]
    return SitePage(kind, path_of(place), title, tuple(lines), tuple(elements), slots, seatings)


def _results(world: BookingWorld, place: Place) -> tuple[str, list[Element]]:
    """Return what the page of results says, and its links."""
    found = world.search(place.query, place.city)
    first = PAGE_SIZE * (place.number - 1)
    links = []
    for one in found[first : first + PAGE_SIZE]:
        label = f"{one.name}, {one.cuisine}, {one.area}, {PRICES[: one.price]}, {one.rating:.1f}"
        links.append(Element(f"r-{one.slug}", "link", label))
    if place.number > 1:
        links.append(Element("prev", "link", "Previous page"))
    if len(found) > first + PAGE_SIZE:
        links.append(Element("next", "link", "Next page"))
    what = f'for "{place.query[:SHOWN]}" ' if place.query else ""
    n = "1 restaurant" if len(found) == 1 else f"{len(found)} restaurants"
    page = f"Page {place.number} of {max(1, -(-len(found) // PAGE_SIZE))}"
    return f"{n} {what}in {world.cities[place.city]}, best rated first. {page}.", links


def _confirmation(world: BookingWorld, state: BookingState) -> tuple[str, list[str]]:
    found = next((one for one in state.reservations if one.number == state.place.number), None)
    if found is None:
        return "Confirmation", ["There is no such reservation."]
    guest = found.guest
    lines = [
        f"{table_text(world, found.table, found.party)}.",
        f"Name: {guest.first_name[:SHOWN]} {guest.last_name[:SHOWN]}",
        f"Phone: {guest.phone[:SHOWN]}",
        f"Email: {guest.email[:SHOWN]}",
        *([f"Note: {guest.note}"] if guest.note else []),
    ]
    return "Your table is reserved", lines


def kind_of(state: BookingState) -> str:
    """Return the kind of a state's page."""
    if state.place.kind != "hold":
        return state.place.kind
    return "seating" if state.hold is not None and not state.hold.table.seating else "details"


def window_of(state: BookingState, page: SitePage) -> Sequence[Element]:
    """Return the elements that are seen."""
    return page.elements[state.scroll : state.scroll + WINDOW]


def last_scroll(page: SitePage) -> int:
    """Return the largest number of elements that can be above the window."""
    return max(0, len(page.elements) - WINDOW)


def free_tables(
    world: BookingWorld, state: BookingState, *, slug: str, day: int, party: int
) -> dict[int, tuple[str, ...]]:
    """Return the tables that are free for this visitor: time in minutes -> kinds of seating. Own held ones are, too."""
    found = {}
    gone = [table for table in taken_tables(state) if table[:2] == (slug, day)]
    for minute, seatings in world.tables(slug, day, party).items():
        left = tuple(one for one in seatings if not any(t.covers(SiteTable(slug, day, minute, one)) for t in gone))
        if left:
            found[minute] = left
    return found


def taken_tables(state: BookingState) -> Iterator[SiteTable]:
    """Yield the tables that are gone besides those that never were free."""
    yield from state.lost
    yield from (one.table for one in state.booked)
    for rival in state.scene.rivals:
        is_held = state.hold is not None and rival.table.covers(state.hold.table)
        if state.steps >= rival.step and not is_held:
            yield rival.table


def offered_slots(world: BookingWorld, state: BookingState) -> tuple[int, ...]:
    """Return the times on a restaurant's page: the free ones that are nearest to the wanted time."""
    place = state.place
    free = free_tables(world, state, slug=place.slug, day=place.day, party=place.party)
    near = [minute for minute in free if abs(minute - place.minute) <= 150]
    return tuple(sorted(sorted(near, key=lambda minute: (abs(minute - place.minute), minute))[:5]))


def left_seatings(world: BookingWorld, state: BookingState) -> tuple[str, ...]:
    """Return the kinds of seating that are left at the held time."""
    if state.hold is None:
        return ()
    table = state.hold.table
    free = free_tables(world, state, slug=table.slug, day=table.day, party=state.hold.party)
    return free.get(table.minute, ())


def is_unasked(state: BookingState, seatings: Sequence[str]) -> bool:
    """Whether several kinds of seating are offered, none is named in instruction or answers, and nobody has asked."""
    if any("seating" in one.topics for one in state.asked):
        return False
    said = [state.scene.instruction, *(one.answer for one in state.asked)]
    return len(seatings) > 1 and not any(named_seatings(text) & set(seatings) for text in said)


def slot_id(minute: int) -> str:
    """Return the id of a time's button."""
    return f"slot-{minute // 60:02d}{minute % 60:02d}"


def table_text(world: BookingWorld, table: SiteTable, party: int) -> str:
    """Return a table in words."""
    restaurant = world.restaurants[table.slug]
    seating = f", {SEATINGS[table.seating].lower()}" if table.seating else ""
    when = f"{day_text(table.day)}, {time_text(table.minute)}"
    return f"{restaurant.name}, {world.cities[restaurant.city]}: {when}, {people(party)}{seating}"


def render_text(world: BookingWorld, state: BookingState, page: SitePage, complaint: str = "") -> str:
    """Return the observation of a state, at most 1,800 characters.

    Elements are never left out, as each that is seen can be used. Where there is no room, older answers are.
    """
    seen, width = window_of(state, page), 240
    head = [f"{NAME}: {page.title}", f"Address: {SITE}{page.path}"[:width], f"Today is {day_text(0)}."]
    said = [f"Notice: {state.notice}"[:width]] if state.notice else []
    if complaint:
        said.append(f"Invalid action: {complaint}"[:width])
    said += [line[:width] for line in page.lines]
    listed = ["more above: SCROLL [UP]"] if state.scroll else []
    for one in seen:
        value = f' = "{one.value[:SHOWN]}"' if one.kind in ("field", "list") else ""
        listed.append(f'[{one.id}] {one.kind} "{one.label}"{value}')
    if len(page.elements) > state.scroll + len(seen):
        listed.append("more below: SCROLL [DOWN]")
    room = MAX_TEXT - sum(len(line) + 1 for line in (*head, *said, *listed))
    exchanges: list[str] = []
    for exchanged in reversed(state.asked[-2:]):
        answer = f'The user answered: "{exchanged.answer[:width]}"' if exchanged.answer else "The user will answer."
        lines = [f'You asked the user: "{exchanged.question[:SHOWN]}"', answer]
        room -= sum(len(line) + 1 for line in lines)
        if room < 0:
            break
        exchanges = [*lines, *exchanges]
    return "\n".join((*head, *exchanges, *said, *listed))[:MAX_TEXT]


def public_page(world: BookingWorld, state: BookingState, page: SitePage) -> dict[str, Any]:
    """Return a page as data for agents."""

    def data_of(one: Hold | Reservation) -> dict[str, Any]:
        restaurant = world.restaurants[one.table.slug]
        return {
            "id": one.table.slug,
            "restaurant": restaurant.name,
            "city": world.cities[restaurant.city],
            "day": day_text(one.table.day),
            "time": time_text(one.table.minute),
            "seating": one.table.seating,
            "party": one.party,
        }

    seen = window_of(state, page)
    return {
        "kind": page.kind,
        "path": page.path,
        "title": page.title,
        "lines": list(page.lines),
        "notice": state.notice,
        "answer": state.asked[-1].answer if state.asked else "",
        "elements": [one._asdict() for one in seen],
        "n_above": state.scroll,
        "n_below": len(page.elements) - state.scroll - len(seen),
        "hold": {**data_of(state.hold), "left": steps_held(state)} if state.hold else {},
        "form": state.form,
        "slots": [slot_id(minute)[len("slot-") :] for minute in page.slots],
        "seatings": list(page.seatings),
        "reservations": [
            {
                **data_of(one),
                "name": f"{one.guest.first_name} {one.guest.last_name}",
                "phone": one.guest.phone,
                "email": one.guest.email,
                "is_cancelled": one.is_cancelled,
            }
            for one in state.reservations
        ],
    }


def _search_form(world: BookingWorld, state: BookingState) -> list[Element]:
    form = state.form
    is_open = state.opened == "city"
    return [
        Element("q", "field", "Restaurant or cuisine", form.get("q", "")),
        Element("city", "list", "City", world.cities[form.get("city", state.city)]),
        *(Element(f"city-{slug}", "option", name) for slug, name in world.cities.items() if is_open),
        Element("go", "button", "Search"),
    ]


def _held(world: BookingWorld, state: BookingState) -> str:
    if state.hold is None:
        return "No table is held."
    left = steps_held(state)
    how_long = "It is held for this last action." if left == 1 else f"It is held for {left} more actions."
    return f"Held: {table_text(world, state.hold.table, state.hold.party)}. {how_long}"


def steps_held(state: BookingState) -> int:
    """Return for how many more actions the table is held."""
    return 0 if state.hold is None else state.hold.since + HOLD_STEPS - state.steps


def fields_of(state: BookingState, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the values of a page's fields as the site fills them in."""
    if place.kind in ("home", "results"):
        return (("q", place.query), ("city", place.city or state.city))
    if place.kind == "restaurant":
        return (("date", iso(place.day)), ("time", clock(place.minute)), ("party", str(place.party)))
    if place.kind == "hold":
        return tuple(zip(GUEST_FIELDS, state.guest, strict=True))
    return ()

"""What the site does: the state after an action. It knows no HTTP, no HTML, no gold and no randomness."""

import re

from iad_envs.booking.actions import MAX_ACTION, MAX_FIELD, SETTING, SiteAction, read_action, set_value
from iad_envs.booking.addresses import NoSuchPlace, place_at
from iad_envs.booking.moments import MAX_PARTY, N_DAYS, iso, read_day, read_party, read_time, time_text
from iad_envs.booking.pages import (
    GUEST_FIELDS,
    WINDOW,
    WISH_FIELDS,
    Element,
    fields_of,
    free_tables,
    kind_of,
    last_scroll,
    left_seatings,
    offered_slots,
    page_of,
    table_text,
    window_of,
)
from iad_envs.booking.state import (
    HOLD_STEPS,
    BookingState,
    Exchanged,
    Guest,
    Hold,
    Place,
    Reservation,
    Scene,
    SiteTable,
    Wish,
)
from iad_envs.booking.world import BookingWorld, words_of
from iad_envs.core import Transition

APART = 120
"""Minutes that two reservations of one visitor must be apart."""


class BookingEngine:
    """The transitions of the site.

    Args:
        world: The restaurants.
    """

    def __init__(self, world: BookingWorld) -> None:
        self.world = world

    def start(self, scene: Scene, city: str, reservations: tuple[Reservation, ...] = ()) -> BookingState:
        """Return the first state of an episode. The site knows the details of a visitor with a reservation."""
        guest = reservations[0].guest if reservations else Guest()
        state = BookingState(scene, city=city, guest=guest, reservations=reservations)
        return state._replace(typed=fields_of(state, state.place))

    def act(self, before: BookingState, text: str) -> Transition:
        """Return what an action does."""
        page = page_of(self.world, before)
        state = passed(before)
        action = read_action(text)
        if not action.verb:
            forms = "CLICK [id], TYPE [id] [text], CLEAR [id], SUBMIT [id], GOTO [url], SCROLL [UP], SCROLL [DOWN]"
            return _invalid(state, f"{forms} or ASK USER HELP [text]", text)
        if action.verb == "ASK USER HELP":
            asked = (*state.asked, Exchanged(action.text))
            return Transition(state._replace(asked=asked), "", False, awaiting=True)
        if action.verb == "SCROLL":
            moved = state.scroll + (WINDOW if action.target == "DOWN" else -WINDOW)
            return Transition(state._replace(scroll=max(0, min(moved, last_scroll(page)))), "", False)
        if action.verb == "GOTO":
            try:
                place = place_at(self.world, action.target, state.wish, state.city)
                _require_open(state, place)
            except NoSuchPlace as error:
                return Transition(state, str(error), False)
            return Transition(self.arrived(state, place), "", False)
        elements = {one.id: one for one in window_of(before, page)}
        if action.target not in elements:
            some = " or ".join(list(elements)[:3])
            return _invalid(state, f"the id of an element that is seen, such as {some}", action.target)
        element = elements[action.target]
        if action.verb == "CLICK":
            return self._click(state, element.id)
        if element.kind != "field" and (element.kind != "list" or action.verb == "CLEAR"):
            return _invalid(state, "the id of a field", f"that of a {element.kind}")
        if action.verb == "TYPE":
            return self._type(state, element, action.text)
        if action.verb == "CLEAR":
            return Transition(_with_value(state, element.id, ""), "", False)
        # The button that Enter presses in a field.
        pressed = "complete" if element.id in GUEST_FIELDS else "find" if element.id in WISH_FIELDS else "go"
        return self._click(state, pressed)

    def press(self, before: BookingState, element: str) -> Transition:
        """Return what a click on an element does, wherever the window is."""
        page = page_of(self.world, before)
        if element not in {one.id for one in page.elements}:
            return _invalid(passed(before), "the id of an element of the page", element)
        return self._click(passed(before), element)

    def visited(self, state: BookingState, place: Place) -> BookingState:
        """Return the state on another page that this visitor has, as it is seen there without an action.

        Raises:
            NoSuchPlace: The visitor does not have this page.
        """
        _require_open(state, place)
        return self.arrived(state, place)._replace(notice="", findings=())

    def arrived(self, state: BookingState, place: Place) -> BookingState:
        """Return the state on another page."""
        state = state._replace(place=place, scroll=0, opened="")
        if place.kind == "results":
            state = state._replace(city=place.city)
        if place.kind == "restaurant":
            state = state._replace(wish=Wish(place.day, place.minute, place.party))
            if not offered_slots(self.world, state):
                near = time_text(place.minute)
                state = _noticed(state, f"There is no table within two and a half hours of {near}.", "no_table")
        return state._replace(typed=fields_of(state, place))

    def _type(self, state: BookingState, element: Element, text: str) -> Transition:
        name = element.id
        if element.kind == "list":
            found = [slug for slug, city in self.world.cities.items() if words_of(text) in (words_of(city), {slug})]
            found = found or [slug for slug in self.world.cities if slug == text.strip().lower()]
            if not found:
                return _invalid(state, f"one of {', '.join(self.world.cities.values())}", text)
            return Transition(_with_value(state, name, found[0])._replace(opened=""), "", False)
        if name in SETTING:
            complaint = refused_value(name, text)
            return Transition(state if complaint else _with_value(state, name, set_value(name, text)), complaint, False)
        value = state.form.get(name, "") + text
        if len(value) > MAX_FIELD or sum(map(len, state.form.values())) + len(text) > MAX_ACTION:
            return _invalid(state, f"at most {MAX_FIELD} characters in a field", f"{len(value)}", quoted=False)
        return Transition(_with_value(state, name, value), "", False)

    def _click(self, state: BookingState, name: str) -> Transition:
        head, _, rest = name.partition("-")
        if head == "slot":
            return Transition(self._choose(state, int(rest[:2]) * 60 + int(rest[2:])), "", False)
        if head == "r" and rest:
            day, minute, party = state.wish
            place = Place("restaurant", rest, day=day, minute=minute, party=party)
            return Transition(self.arrived(state, place), "", False)
        if head == "seat":
            return Transition(self._seat(state, rest), "", False)
        if head == "city" and rest:
            return Transition(_with_value(state, "city", rest)._replace(opened=""), "", False)
        if name == "complete":
            return self._complete(state)
        if name == "find":
            state = self._find(state)
        elif name == "city":
            state = state._replace(opened="" if state.opened else "city")
        elif name == "cancel-yes":  # somebody else takes the table
            gone = state.booked[0]
            left = tuple(one._replace(is_cancelled=True) if one == gone else one for one in state.reservations)
            state = state._replace(reservations=left, lost=(*state.lost, gone.table))
            state = _noticed(self.arrived(state, Place("mine")), "Your reservation is cancelled.", "cancelled")
        elif name == "go":
            form = state.form
            place = Place("results", query=" ".join(form["q"].split()), city=form["city"], number=1)
            state = self.arrived(state, place)
        elif name in ("next", "prev"):
            number = state.place.number + (1 if name == "next" else -1)
            state = self.arrived(state, state.place._replace(number=number))
        elif name in ("home", "mine", "keep", "hold", "cancel"):
            state = self.arrived(state, Place("mine" if name == "keep" else name))
        return Transition(state, "", False)  # a click on a field only puts the cursor there

    def _find(self, state: BookingState) -> BookingState:
        """Look for tables at the time of the form."""
        form = state.form
        missing = [label.lower() for name, label in WISH_FIELDS.items() if not form[name]]
        if missing:
            return _noticed(state, f"Fill in: {', '.join(missing)}.", "form_incomplete")
        day, minute, party = read_day(form["date"]), read_time(form["time"]), read_party(form["party"])
        assert day is not None
        assert minute is not None
        assert party is not None
        return self.arrived(state, state.place._replace(day=day, minute=minute, party=party))

    def _choose(self, state: BookingState, minute: int) -> BookingState:
        """Hold a table at a time. The hold before it ends."""
        place = state.place
        wanted = SiteTable(place.slug, place.day, minute)
        if not self._is_free(state, wanted, place.party):
            return _noticed(state, "This table has just been taken. Choose another time.", "slot_taken")
        released, state = state.hold, _released(state)
        if not self._is_free(state, wanted, place.party):  # it was held, and somebody else was waiting for it
            return _noticed(state, "You gave up this table, and it has just been taken.", "slot_taken", "hold_released")
        state = state._replace(hold=Hold(wanted, place.party, state.steps))
        if released is not None:
            gone = table_text(self.world, released.table, released.party)
            state = _noticed(state, f"Your earlier hold was released: {gone}.", "hold_released")
        seatings = left_seatings(self.world, state)
        return self._seat(state, seatings[0]) if len(seatings) == 1 else self.arrived(state, Place("hold"))

    def _is_free(self, state: BookingState, table: SiteTable, party: int) -> bool:
        return table.minute in free_tables(self.world, state, slug=table.slug, day=table.day, party=party)

    def _seat(self, state: BookingState, seating: str) -> BookingState:
        if state.hold is None:
            return _noticed(state, "No table is held. Choose a time again.", "hold_expired")
        if seating not in left_seatings(self.world, state):
            return _noticed(state, "This table has just been taken. Choose another.", "slot_taken")
        held = state.hold._replace(table=state.hold.table._replace(seating=seating))
        return self.arrived(state._replace(hold=held), Place("hold"))

    def _complete(self, state: BookingState) -> Transition:
        form = state.form
        guest = Guest(*(form[name].strip() for name in GUEST_FIELDS))
        if state.hold is None:
            refused = _noticed(state, "No table is held. Choose a time again.", "hold_expired")
            return Transition(refused, "", False)
        is_there = {
            "first-name": bool(guest.first_name),
            "last-name": bool(guest.last_name),
            "phone": sum(letter.isdigit() for letter in guest.phone) >= 7,
            "email": re.fullmatch(r"[^@\s]++@[^@\s][^@\s.]*+\.[^@\s]++", guest.email) is not None,
        }
        missing = [GUEST_FIELDS[name].lower() for name, there in is_there.items() if not there]
        if missing:
            return Transition(_noticed(state, f"Fill in: {', '.join(missing)}.", "form_incomplete"), "", False)
        table = state.hold.table
        same_day = [one for one in state.booked if one.table.day == table.day]
        near = [one for one in same_day if abs(one.table.minute - table.minute) < APART]
        if near:
            said = table_text(self.world, near[0].table, near[0].party)
            said = f"You have a reservation within two hours of this one. Cancel it first: {said}."
            return Transition(_noticed(state, said, "double_booking"), "", False)
        number = len(state.reservations) + 1
        made = (*state.reservations, Reservation(number, table, state.hold.party, guest))
        place = Place("confirmation", number=number)
        after = self.arrived(state._replace(hold=None, guest=guest, reservations=made), place)
        return Transition(after, "", True)


def is_terminal(action: SiteAction) -> bool:
    """Whether an action may end the episode: it completes the reservation."""
    return (action.verb == "CLICK" and action.target == "complete") or (
        action.verb == "SUBMIT" and action.target in GUEST_FIELDS
    )


def is_lasting(action: SiteAction) -> bool:
    """Whether an action can't be taken back: it cancels, or it holds a table and gives up another."""
    return action.verb == "CLICK" and re.fullmatch(r"cancel-yes|slot-\d{4}", action.target) is not None


def passed(state: BookingState) -> BookingState:
    """Return the state after time for one action has passed."""
    state = state._replace(steps=state.steps + 1, notice="", findings=())
    if state.hold is None or state.steps <= state.hold.since + HOLD_STEPS:
        return state
    was_seating = kind_of(state) == "seating"
    state = _noticed(_released(state), "Your hold has ended.", "hold_expired")
    return state._replace(typed=fields_of(state, state.place)) if was_seating else state


def _released(state: BookingState) -> BookingState:
    """Return the state without the hold. Whoever waits for its table takes it."""
    if state.hold is None:
        return state
    gone = tuple(rival.table for rival in state.scene.rivals if rival.table.covers(state.hold.table))
    return state._replace(hold=None, lost=(*state.lost, *gone))


def _require_open(state: BookingState, place: Place) -> None:
    """Refuse pages that this visitor does not have."""
    if place.kind == "hold" and state.hold is None:
        raise NoSuchPlace("expected a page that you have, got /hold, and no table is held; choose a time first")
    if place.kind == "cancel" and not state.booked:
        raise NoSuchPlace("expected a page that you have, got /mine/cancel, and you have no reservation")
    if place.kind == "confirmation":
        raise NoSuchPlace("expected a page that you have, got a confirmation; complete a reservation first")


def _with_value(state: BookingState, field: str, value: str) -> BookingState:
    return state._replace(typed=tuple((name, value if name == field else old) for name, old in state.typed))


def _noticed(state: BookingState, notice: str, *findings: str) -> BookingState:
    """Return the state with one more thing that the site says about this action."""
    codes = tuple(dict.fromkeys((*state.findings, *findings)))
    return state._replace(notice=f"{state.notice} {notice}".strip(), findings=codes)


def _invalid(state: BookingState, expected: str, given: str, *, quoted: bool = True) -> Transition:
    shown = f"{given[:60]!r}" if quoted else given
    return Transition(state, f"expected {expected}, got {shown}", False)


def refused_value(field: str, text: str) -> str:
    """Return why a date, time or party can't be set to a text, or ""."""
    if field == "date":
        day = read_day(text)
        fine = day is not None and 0 <= day < N_DAYS
        expected = f"a date from {iso(0)} to {iso(N_DAYS - 1)}, such as {iso(N_DAYS - 13)} or June 17"
    elif field == "time":
        fine, expected = read_time(text) is not None, "a time, such as 19:00 or 7 pm"
    else:
        party = read_party(text)
        fine, expected = party is not None and 1 <= party <= MAX_PARTY, f"a party of 1 to {MAX_PARTY}, such as 4"
    return "" if fine else f"expected {expected}, got {text[:60]!r}"

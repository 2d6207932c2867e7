"""What the tests of the booking site begin with."""

from collections.abc import Iterator

from iad_envs.booking.engine import BookingEngine
from iad_envs.booking.pages import kind_of
from iad_envs.booking.site.app import BookingSite
from iad_envs.booking.state import BookingState, Exchanged, Guest, Reservation, Rival, Scene, SiteTable
from webshop_server.site.sessions import Sessions

SLUG = "bistro-fennel-port-alder"
ROOM = f"/r/{SLUG}?date=2026-03-10&time=20:15&party=7"
PERSON = {"first_name": "Ada", "last_name": "Lovell", "phone": "555-0123", "email": "ada@example.org"}


def start(engine: BookingEngine, *rivals: Rival, instruction: str = "Book it") -> BookingState:
    return engine.start(Scene(instruction, rivals), "port-alder")


def made(engine: BookingEngine) -> BookingSite:
    """A site on which everybody begins in the same state, and somebody will take the table at 8:30 PM."""
    return BookingSite(engine, [start(engine, Rival(SiteTable(SLUG, 8, 20 * 60 + 30), 20))])


def everything(sessions: Sessions[BookingState]) -> dict[str, BookingState]:
    return {name: state for name, (state, _) in sessions._used.items()}


LONG = Guest("W" * 500, "Llanfairpwll " * 38, "5" * 500, f"a@{'b' * 490}.org", "A note without an end. " * 21)


def states(engine: BookingEngine) -> Iterator[tuple[str, BookingState]]:
    first = state = start(engine, instruction="Book a table for 7 on March 10 2026. " * 4)
    for what, *actions in (
        ("home", ""), ("open list", "CLICK [city]"), ("results", "CLICK [city-norwick]", "CLICK [go]"),
        ("more results", "CLICK [next]"), ("restaurant", f"GOTO [{ROOM}]"),
        ("no times", "TYPE [time] [04:00]", "CLICK [find]"), ("seating", f"GOTO [{ROOM}]", "CLICK [slot-2030]"),
    ):  # fmt: skip
        for action in actions:
            state = engine.act(state, action).state
        yield what, state
    state = engine.act(state, "CLICK [seat-bar]").state
    assert state.hold is not None
    said = (Exchanged("q" * 4000, "An answer " * 40), Exchanged("Where?", "Inside."))
    full = state._replace(
        typed=tuple(zip(dict(state.typed), LONG, strict=True)), asked=said, notice="Fill in: it. " * 9
    )
    yield "full details", full
    yield "no table", full._replace(hold=None)
    own = Reservation(1, state.hold.table, 7, LONG)
    made_one = full._replace(reservations=(own._replace(is_cancelled=True), own._replace(number=2)), hold=None)
    for action in ("CLICK [mine]", "CLICK [cancel]"):
        made_one = engine.act(made_one, action).state
        yield kind_of(made_one), made_one
    yield "none", engine.act(first, "CLICK [mine]").state
    place = full.place._replace(kind="confirmation", number=2)
    yield "confirmation", full._replace(place=place, reservations=(own, own._replace(number=2)), hold=None)

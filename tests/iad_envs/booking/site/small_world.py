"""What the tests of the booking site begin with."""

from iad_envs.booking.engine import BookingEngine
from iad_envs.booking.site.app import BookingSite
from iad_envs.booking.state import BookingState, Rival, Scene, SiteTable
from webshop_server.site.sessions import Sessions

SLUG = "bistro-fennel-port-alder"
ROOM = f"/r/{SLUG}?date=2026-03-10&time=20:15&party=7"
PERSON = {"first_name": "Ada", "last_name": "Lovell", "phone": "555-0123", "email": "ada@example.org"}


def start(engine: BookingEngine, *rivals: Rival, instruction: str = "Book it") -> BookingState:
    """A first state of no task in particular."""
    return engine.start(Scene(instruction, rivals), "port-alder")


def made(engine: BookingEngine) -> BookingSite:
    """A site on which everybody begins in the same state, and somebody will take the table at 8:30 PM."""
    return BookingSite(engine, [start(engine, Rival(SiteTable(SLUG, 8, 20 * 60 + 30), 20))])


def everything(sessions: Sessions[BookingState]) -> dict[str, BookingState]:
    """All that a site keeps."""
    return {name: state for name, (state, _) in sessions._used.items()}

"""What the tests of the booking site begin with."""

from iad_envs.booking.engine import BookingEngine
from iad_envs.booking.env import BookingEnv
from iad_envs.booking.site.app import BookingSite
from iad_envs.booking.state import BookingState, Place, Rival, Scene, SiteTable
from iad_envs.booking.world import BookingWorld
from webshop_server.site.sessions import Sessions

SLUG = "bistro-fennel-port-alder"
ROOM = f"/r/{SLUG}?date=2026-03-10&time=20:15&party=7"
PERSON = {"first_name": "Ada", "last_name": "Lovell", "phone": "555-0123", "email": "ada@example.org"}


def bundled() -> BookingEngine:
    return BookingEnv().engine


def start(engine: BookingEngine, *rivals: Rival, instruction: str = "Book it") -> BookingState:
    """A first state of no task in particular."""
    return engine.start(Scene(instruction, rivals), "port-alder")


def made(engine: BookingEngine, state: BookingState | None = None) -> BookingSite:
    """A site on which everybody begins with the same state, and whose sessions a test can look at."""
    return BookingSite(engine, [state or start(engine)])


def everything(sessions: Sessions[BookingState]) -> dict[str, BookingState]:
    """All that a site keeps."""
    return {name: state for name, (state, _) in sessions._used.items()}


def restaurant(world: BookingWorld, minute: int = 20 * 60 + 15, party: int = 7) -> Place:
    return Place("restaurant", SLUG, day=8, minute=minute, party=party)


def rival(minute: int, step: int) -> Rival:
    """Somebody who wants all tables of a time."""
    return Rival(SiteTable(SLUG, 8, minute), step)

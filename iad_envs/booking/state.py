"""The state of an episode on the site: a value that is never changed, only replaced."""

from typing import NamedTuple

HOLD_STEPS = 10
"""Actions after the choice of a time, until which the table is held."""


class Place(NamedTuple):
    """A page's address as data. What a kind of page does not use keeps its default.

    Attributes:
        kind: `home`, `results`, `restaurant`, `hold` (its pages are `seating` and `details`), `confirmation`, `mine` or
            `cancel`.
        slug: The restaurant's.
        query: What was searched for.
        city: Slug of the city that was searched in.
        number: Of the page of results, or of the reservation.
        day, minute, party: For which tables are shown.
    """

    kind: str = "home"
    slug: str = ""
    query: str = ""
    city: str = ""
    number: int = 0
    day: int = 0
    minute: int = 0
    party: int = 0


class Wish(NamedTuple):
    """For when tables are looked for: the day, the minute of the day, and the size of the party."""

    day: int = 0
    minute: int = 19 * 60
    party: int = 2


class SiteTable(NamedTuple):
    """A table of a restaurant at a time. `seating` is "" for all of that time."""

    slug: str
    day: int
    minute: int
    seating: str = ""

    def covers(self, other: "SiteTable") -> bool:
        """Whether the other table is this one, or one of these."""
        return self[:3] == other[:3] and self.seating in ("", other.seating)


class Rival(NamedTuple):
    """A table that others take, at the given step unless it is held, and at once when a hold on it ends."""

    table: SiteTable
    step: int


class Guest(NamedTuple):
    """What the details page asks for."""

    first_name: str = ""
    last_name: str = ""
    phone: str = ""
    email: str = ""
    note: str = ""


class Hold(NamedTuple):
    """A table that is kept for a while. `seating` of the table is "" until it is chosen, `since` counts actions."""

    table: SiteTable
    party: int
    since: int


class Reservation(NamedTuple):
    """A reservation of the user's own."""

    number: int
    table: SiteTable
    party: int
    guest: Guest
    is_cancelled: bool = False


class Exchanged(NamedTuple):
    """A question to the user, the answer ("" until there is one), and the topics that it was about."""

    question: str
    answer: str = ""
    topics: tuple[str, ...] = ()


class Scene(NamedTuple):
    """What a task sets up, the same in all its states. `rivals` are part of the world, and no page shows them."""

    instruction: str
    rivals: tuple[Rival, ...] = ()


class BookingState(NamedTuple):
    """A moment of an episode.

    Attributes:
        scene: What the task has set up.
        place: Where the visitor is.
        city: The city that the site is set to.
        typed: Values of the page's fields and lists, by id.
        wish: For when tables were last looked for.
        scroll: Number of elements above the window.
        opened: Id of the list that is open, or "".
        hold: The held table.
        guest: Details that the site knows.
        reservations: The user's own, cancelled ones included.
        lost: Tables that are gone since the start, besides what rivals take by the clock.
        asked: Questions to the user with answers.
        steps: Actions so far: the clock.
        notice: What the site says about the last action.
        findings: Codes of it.
    """

    scene: Scene
    place: Place = Place()
    city: str = ""
    typed: tuple[tuple[str, str], ...] = ()
    wish: Wish = Wish()
    scroll: int = 0
    opened: str = ""
    hold: Hold | None = None
    guest: Guest = Guest()
    reservations: tuple[Reservation, ...] = ()
    lost: tuple[SiteTable, ...] = ()
    asked: tuple[Exchanged, ...] = ()
    steps: int = 0
    notice: str = ""
    findings: tuple[str, ...] = ()

    @property
    def form(self) -> dict[str, str]:
        """Values of the page's fields and lists, by id."""
        return dict(self.typed)

    @property
    def booked(self) -> tuple[Reservation, ...]:
        """Reservations that are not cancelled."""
        return tuple(one for one in self.reservations if not one.is_cancelled)

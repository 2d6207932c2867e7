"""A site of two pages that is not the shop."""

from typing import NamedTuple

from flask import Flask, render_template

from webshop_server.site.errors import NoSuchPage
from webshop_server.site.sessions import Sessions
from webshop_server.site.strict_app import strict_app

ROOMS = ("hall", "garden")


class RoomState(NamedTuple):
    """Where a visitor is.

    Attributes:
        room: The page.
        note: What is typed into the page's field. No URL and no session has it.
    """

    room: str = "hall"
    note: str = ""

    @property
    def other(self) -> str:
        """The room that the page's link leads to."""
        return ROOMS[1 - ROOMS.index(self.room)]


def path_of(session: str, state: RoomState) -> str:
    return f"/{session}/{state.room}"


def html(session: str, state: RoomState, complaint: str = "") -> str:
    """Return the HTML of a state. Needs the application's context."""
    link = path_of(session, RoomState(state.other))
    return render_template(
        "room.html", room=state.room, other=state.other, link=link, complaint=complaint, home=f"/{session}"
    )


def create_app(sessions: Sessions[RoomState]) -> Flask:
    """Return the site as a WSGI application."""

    def enter(session: str) -> str:
        return show(session, ROOMS[0])

    def show(session: str, room: str) -> str:
        if room not in ROOMS:
            raise NoSuchPage(f"expected {' or '.join(ROOMS)}, got {room!r:.60}; go to the hall")
        sessions.put(session, RoomState(room))
        return html(session, RoomState(room))

    pages = (("GET", "/<session>", enter), ("GET", "/<session>/<room>", show))
    return strict_app(__name__, brand="Two rooms", way_back="Go to the hall", pages=pages)

"""The booking site over HTTP, with the same engine as the text environment.

The engine's clock counts actions, so every click is one: all that can be clicked is a button that posts the page's form
to the page's own address. A GET changes nothing, whatever its address. In the pages, what can be used is marked by
`data-click`, and what the text observation says by `data-title`, `data-notice`, `data-line` and `data-said`.
"""

import hmac
import random
import re
import secrets
import threading
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, NoReturn

from flask import Flask, Response, abort, jsonify, redirect, render_template, request

from iad_envs.booking.actions import MAX_ACTION, MAX_FIELD, SETTING, is_typable, set_value
from iad_envs.booking.addresses import NoSuchPlace, path_of, place_of
from iad_envs.booking.engine import BookingEngine, refused_value
from iad_envs.booking.moments import MAX_PARTY, N_DAYS, day_text, iso, people, time_text
from iad_envs.booking.pages import NAME, PRICES, SitePage, page_of, steps_held
from iad_envs.booking.site.pictures import picture
from iad_envs.booking.state import HOLD_STEPS, BookingState, Place
from iad_envs.booking.world import SEATINGS, BookingWorld
from webshop_server.site.errors import NoSuchPage
from webshop_server.site.sessions import SESSION_ID, Sessions
from webshop_server.site.strict_app import FILE_AGE_S, Answer, strict_app


class Sent(NamedTuple):
    """The last form of a session: a digest of its address, page and values, and the state that it led to."""

    digest: bytes
    after: BookingState


class BookingSite:
    """Serves the pages of the booking site to any number of sessions and threads.

    Args:
        engine: The pages and transitions.
        starts: First states of the tasks that visitors get. A session named `..fixed_n..` gets the n-th, and others one
            that their name draws. `/fixed_n` leads each visitor to such a session of their own. With none, only
            sessions that were put into `sessions` exist.
        sessions: Stores the state of each session from its first action on.
    """

    def __init__(
        self, engine: BookingEngine, starts: Sequence[BookingState], sessions: Sessions[BookingState] | None = None
    ) -> None:
        self.engine = engine
        self.sessions: Sessions[BookingState] = Sessions() if sessions is None else sessions
        self._starts = starts
        self._sent: Sessions[Sent] = Sessions()
        self._key = secrets.token_bytes(32)
        self._acting = threading.Lock()  # an action reads a state and writes the next one

    def token(self, session: str) -> str:
        """Return the token that the forms of a session carry. No other page can know it."""
        return hmac.digest(self._key, session.encode(), "sha256").hex()

    def state_of(self, session: str) -> BookingState:
        """Return the state of a session, which is a first one until the session acts.

        Raises:
            NoSuchPage: There can be no such session.
        """
        state = self.sessions.get(session)
        if state is not None:
            return state
        if not SESSION_ID.fullmatch(session):
            raise NoSuchPage("expected a session of letters, digits, - and _, at most 64; start a new one")
        if not self._starts:
            raise NoSuchPage("expected a session that was begun, got one that is not known")
        fixed = re.search(r"fixed_([0-9]{1,9})", session)
        if fixed is None:
            return random.Random(session).choice(self._starts)
        number = int(fixed[1])
        if number >= len(self._starts):
            raise NoSuchPage(f"expected fixed_0 to fixed_{len(self._starts) - 1}, got fixed_{number}; pick another")
        return self._starts[number]

    def html(self, session: str, state: BookingState, complaint: str = "", token: str = "") -> str:
        """Return the HTML of a state. Needs the application's context.

        Args:
            session: Id of the session.
            state: The state.
            complaint: Why an action was refused.
            token: The token of the page's forms; without it they can't be sent.
        """
        world = self.engine.world
        page = page_of(world, state)
        elements = {one.id: one for one in page.elements}
        slug = state.hold.table.slug if state.place.kind == "hold" and state.hold else state.place.slug
        return render_template(
            f"{page.kind}.html",
            page=page,
            state=state,
            elements=elements,
            navigation=[elements[name] for name in ("hold", "home", "mine") if name in elements],
            world=world,
            restaurant=world.restaurants.get(slug),
            said=said_on(state),
            left=steps_held(state),
            action=address_of(session, state.place),
            token=token,
            home=f"/{session}/",
            complaint=complaint,
        )

    def begin(self) -> Answer:
        """Redirect to a new session."""
        return redirect(f"/{secrets.token_urlsafe(12)}/", 302)  # type: ignore[return-value]

    def show(self, session: str, rest: str = "") -> Answer:
        """Show a page. Nothing changes by it."""
        state = self.state_of(session)
        if re.fullmatch(r"fixed_[0-9]+", session) and self.sessions.get(session) is None:
            return redirect(f"/{secrets.token_urlsafe(12)}_{session}/", 302)  # type: ignore[return-value]
        place = self._place(state, rest)
        if state.place.kind == "confirmation" and place != state.place:
            return redirect(address_of(session, state.place), 302)  # type: ignore[return-value]
        return self.html(session, self._seen(state, place), token=self.token(session))

    def press(self, session: str, rest: str = "") -> Answer:
        """Do what a click on a button of a page does, and redirect to the page that it leads to.

        A form that is sent twice, as by a double click, acts once.
        """
        token = self.token(session)
        if not hmac.compare_digest(request.form.get("token", "").encode(), token.encode()):
            abort(403, "Expected the form of a page of this session, got another; open the page again.")
        with self._acting:
            state = self.state_of(session)
            pressed = repr((request.full_path, sorted(request.form.items()))).encode(errors="replace")
            sent = Sent(blake2b(pressed, digest_size=16).digest(), state)
            if state.place.kind == "confirmation" or self._sent.get(session) == sent:
                return redirect(address_of(session, state.place), 303)  # type: ignore[return-value]
            before = self._seen(state, self._place(state, rest))
            before, complaint = filled(self.engine.world, before, page_of(self.engine.world, before), request.form)
            if complaint:
                return self.html(session, before, complaint, token), 400
            after, complaint, *_ = self.engine.press(before, request.form.get("do", ""))
            if complaint:
                return self.html(session, before, f"{complaint}; the page has changed", token), 409
            self.sessions.put(session, after)
            self._sent.put(session, sent._replace(after=after))
        return redirect(address_of(session, after.place), 303)  # type: ignore[return-value]

    def picture(self, slug: str) -> Answer:
        """Return the picture of a restaurant."""
        restaurant = self.engine.world.restaurants.get(slug)
        if restaurant is None:
            raise NoSuchPage("expected a restaurant of this site, got another; search for one")
        answer = Response(picture(restaurant), mimetype="image/svg+xml")
        answer.cache_control.max_age = FILE_AGE_S
        return answer

    def health(self) -> Answer:
        """Report that the server is up."""
        return jsonify(status="ok", restaurants=len(self.engine.world.restaurants), sessions=len(self.sessions))

    def _place(self, state: BookingState, rest: str) -> Place:
        """Return the place at the address of the request.

        Raises:
            NoSuchPage: There is none.
        """
        parts = request.args.to_dict()
        query = parts.get("q", "")
        if len(query) > MAX_FIELD or not is_typable(query):
            raise NoSuchPage(f"expected a search of at most {MAX_FIELD} characters, got another; search for less")
        try:
            return place_of(self.engine.world, f"/{rest}", parts, wish=state.wish, city=state.city)
        except NoSuchPlace as error:
            _refuse(error)

    def _seen(self, state: BookingState, place: Place) -> BookingState:
        """Return the state on a page of the visitor's, with what the site said last if it was said there.

        Raises:
            NoSuchPage: The visitor does not have this page.
        """
        if place == state.place:
            return state
        try:
            return self.engine.visited(state, place)
        except NoSuchPlace as error:
            _refuse(error)


def create_app(site: BookingSite) -> Flask:
    """Return the site as a WSGI application."""
    app = strict_app(
        __name__,
        brand=NAME,
        pages=(
            ("GET", "/", site.begin),
            ("GET", "/health", site.health),
            ("GET", "/picture/<slug>.svg", site.picture),
            ("GET", "/<session>/", site.show),
            ("GET", "/<session>/<path:rest>", site.show),
            ("POST", "/<session>/", site.press),
            ("POST", "/<session>/<path:rest>", site.press),
        ),
    )
    app.config["MAX_CONTENT_LENGTH"] = 1 << 16
    app.url_map.merge_slashes = False  # an address with two slashes is refused, not mended
    app.jinja_env.globals.update(
        today=day_text(0),
        first_day=iso(0),
        last_day=iso(N_DAYS - 1),
        day_text=day_text,
        people=people,
        time_text=time_text,
        max_party=MAX_PARTY,
        max_field=MAX_FIELD,
        hold_steps=HOLD_STEPS,
        prices=PRICES,
        seatings=SEATINGS,
    )
    return app


def address_of(session: str, place: Place) -> str:
    """Return the path and query of a place in a session."""
    return f"/{session}{path_of(place)}"


def said_on(state: BookingState) -> list[tuple[str, str]]:
    """Return the last questions to the user that a page shows, and the answers."""
    return [(one.question[:200], one.answer) for one in state.asked[-2:]]


def filled(
    world: BookingWorld, state: BookingState, page: SitePage, given: Mapping[str, str]
) -> tuple[BookingState, str]:
    """Return the state with the values of a form, read as the engine reads what is typed, and why one can't be, or "".

    A value that can't be is left as it was. Fields that are not on the page are ignored.

    Args:
        world: The restaurants.
        state: The state in which the page was seen.
        page: Its page.
        given: The form: id of a field or list -> its value.
    """
    on_page = {one.id for one in page.elements if one.kind in ("field", "list")}
    complaints, typed = [], []
    for name, value in state.typed:
        if name in on_page and name in given:
            new, complaint = given[name], ""
            if name == "city":
                cities = ", ".join(world.cities.values())
                complaint = "" if new in world.cities else f"expected one of {cities}, got {new[:60]!r}"
            elif name in SETTING:
                complaint, new = (refused_value(name, new) if new else ""), set_value(name, new)
            elif len(new) > MAX_FIELD:
                complaint = f"expected at most {MAX_FIELD} characters in a field, got {len(new)}; say it shorter"
            elif not is_typable(new):
                complaint = "expected a text of one line without control characters, got one that has some"
            complaints.append(complaint)
            value = value if complaint else new
        typed.append((name, value))
    if sum(len(value) for _, value in typed) > MAX_ACTION:
        return state, f"expected at most {MAX_ACTION} characters in all fields together, got more; say it shorter"
    return state._replace(typed=tuple(typed)), next(filter(None, complaints), "")


def _refuse(error: NoSuchPlace) -> NoReturn:
    raise NoSuchPage(str(error)) from None

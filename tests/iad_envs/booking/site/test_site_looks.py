"""The booking site as a person meets it: on a phone and on a desk, with keys alone, in the dark."""

from collections.abc import Iterator
from typing import Any

import pytest

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.pages import kind_of
from iad_envs.booking.site.app import BookingSite, address_of, create_app
from iad_envs.booking.state import BookingState, Exchanged, Guest, Reservation
from tests.browser import Browsers, missing
from tests.effort import some
from tests.iad_envs.booking.site.small_world import ROOM, start
from tests.webshop_server.site.looks import check_looks, press, tab_to, wait
from webshop_server.site.server import Server

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "everything is there")
TEXTS = "p, h1, h2, dt, dd, span:not(.hidden), button, label, input, select, q, em, strong, .complaint"
LONG = Guest("W" * 500, "Llanfairpwll " * 38, "5" * 500, f"a@{'b' * 490}.org", "A note without an end. " * 21)


@pytest.fixture(scope="module")
def site() -> BookingSite:
    engine = BookingEnv().engine
    return BookingSite(engine, [start(engine, instruction="Book a table for 7 on March 10 2026. " * 4)])


@pytest.fixture(scope="module")
def server(site: BookingSite) -> Iterator[Server]:
    with Server(create_app(site)) as server:
        yield server


@pytest.fixture
def desk(browsers: Browsers) -> Any:
    return browsers.selenium((1400, 900)).driver


def states(site: BookingSite) -> Iterator[tuple[str, BookingState]]:
    """A state of every kind of page, plain and with all that can be long."""
    engine = site.engine
    state = site.state_of("me")
    yield "home", state
    state = engine.act(state, "CLICK [city]").state
    yield "open list", state
    state = engine.act(engine.act(state, "CLICK [city-norwick]").state, "CLICK [go]").state
    yield "results", state
    state = engine.act(state, "CLICK [next]").state
    yield "more results", state
    state = engine.act(state, f"GOTO [{ROOM}]").state
    yield "restaurant", state
    yield "no times", engine.act(engine.act(state, "TYPE [time] [04:00]").state, "CLICK [find]").state
    state = engine.act(state, "CLICK [slot-2030]").state
    yield "seating", state
    state = engine.act(state, "CLICK [seat-bar]").state
    said = (Exchanged("q" * 4000, "An answer " * 40), Exchanged("Where?", "Inside."))
    full = state._replace(
        typed=tuple(zip(dict(state.typed), LONG, strict=True)), asked=said, notice="Fill in: it. " * 9
    )
    yield "full details", full
    yield "no table", full._replace(hold=None)
    assert state.hold is not None
    own = Reservation(1, state.hold.table, 7, LONG)
    booked = full._replace(reservations=(own._replace(is_cancelled=True), own._replace(number=2)), hold=None)
    for action in ("CLICK [mine]", "CLICK [cancel]"):
        booked = engine.act(booked, action).state
        yield kind_of(booked), booked
    yield "none", engine.act(site.state_of("me"), "CLICK [mine]").state
    ended = engine.act(full._replace(typed=tuple((name, f"{value}@1234567.x"[:500]) for name, value in full.typed)), "")
    done = engine.act(ended.state, "CLICK [complete]").state
    yield (
        "confirmation",
        done._replace(
            place=done.place._replace(kind="confirmation", number=2), reservations=(own, own._replace(number=2))
        ),
    )


def pages(driver: Any, site: BookingSite, server: Server) -> Iterator[str]:
    """Open one page of every kind, and that of an error."""
    for number, (what, state) in enumerate(some([*states(site)], 2)):
        site.sessions.put(f"s{number}", state)
        driver.get(f"{server.address}{address_of(f's{number}', state.place)}")
        yield what
    driver.get(f"{server.address}/me/no/such/page")
    yield "error"


def test_every_page_fits_its_window_can_be_read_and_hit_with_a_thumb_and_has_names_for_those_who_hear_it(
    site: BookingSite, server: Server, browsers: Browsers
) -> None:
    browser = browsers.selenium((1400, 900))
    desk = browser.driver
    for what in pages(desk, site, server):
        check_looks(browser, what, TEXTS, "button, input:not([type=hidden]), select")
        unnamed = desk.execute_script(
            "return [...document.querySelectorAll('input:not([type=hidden]), select')].filter(e => !e.labels.length)"
            ".concat([...document.images].filter(e => !e.hasAttribute('alt')))"
            ".concat([...document.querySelectorAll('button')].filter(e => !e.textContent.trim())).map(e => e.outerHTML)"
        )
        assert unnamed == [], what
        assert desk.execute_script("return document.querySelectorAll('h1').length") == 1, what


def test_a_table_can_be_booked_with_keys_alone(site: BookingSite, server: Server, desk: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    desk.get(f"{server.address}/keys/")
    tab_to(desk, "q", 2.0)
    press(desk, "bistro fennel", Keys.ENTER)
    wait(desk, "/search")
    tab_to(desk, "r-bistro-fennel", 2.0)
    press(desk, Keys.ENTER)
    wait(desk, "/r/")
    tab_to(desk, "party", 2.0)
    press(desk, Keys.ARROW_UP, Keys.ENTER)
    wait(desk, "party=3")
    tab_to(desk, "slot-", 2.0)
    press(desk, Keys.SPACE)
    wait(desk, "/hold")
    if desk.execute_script("return document.querySelector('.seat')"):
        tab_to(desk, "seat-", 2.0)
        press(desk, Keys.ENTER)
        wait(desk, "/hold", "first-name")
    tab_to(desk, "first-name", 2.0)
    press(desk, "Ada", Keys.TAB, "Lovell", Keys.TAB, "555-0123", Keys.TAB, "ada@example.org", Keys.ENTER)
    wait(desk, "/confirmed/1")
    (made,) = site.state_of("keys").booked
    assert (made.guest.first_name, made.guest.email, made.party) == ("Ada", "ada@example.org", 3)

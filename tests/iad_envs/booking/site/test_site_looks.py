"""The booking site as a person meets it: on a phone and on a desk, with keys alone, in the dark."""

from collections.abc import Iterator
from typing import Any

import pytest

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.site.app import BookingSite, address_of, create_app
from tests.browser import Browsers, missing
from tests.effort import some
from tests.iad_envs.booking.site.small_world import start, states
from tests.webshop_server.site.looks import check_looks, press, tab_to, wait
from webshop_server.site.server import Server

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "everything is there")
TEXTS = "p, h1, h2, dt, dd, span:not(.hidden), button, label, input, select, q, em, strong, .complaint"
UNNAMED = """
return [...document.querySelectorAll('input:not([type=hidden]), select')].filter(e => !e.labels.length)
  .concat([...document.images].filter(e => !e.hasAttribute('alt')))
  .concat([...document.querySelectorAll('button')].filter(e => !e.textContent.trim())).map(e => e.outerHTML)
"""


@pytest.fixture(scope="module")
def site() -> BookingSite:
    engine = BookingEnv().engine
    return BookingSite(engine, [start(engine)])


@pytest.fixture(scope="module")
def server(site: BookingSite) -> Iterator[Server]:
    with Server(create_app(site)) as server:
        yield server


def pages(driver: Any, site: BookingSite, server: Server) -> Iterator[str]:
    """Open one page of every kind, and that of an error."""
    for number, (what, state) in enumerate(some([*states(site.engine)], 3)):
        site.sessions.put(f"s{number}", state)
        driver.get(f"{server.address}{address_of(f's{number}', state.place)}")
        yield what
    driver.get(f"{server.address}/me/no/such/page")
    yield "error"


def test_every_page_fits_and_can_be_read_hit_and_heard(site: BookingSite, server: Server, browsers: Browsers) -> None:
    browser = browsers.selenium((1400, 900))
    for what in pages(browser.driver, site, server):
        check_looks(browser, what, TEXTS, "button, input:not([type=hidden]), select")
        assert browser.driver.execute_script(UNNAMED) == [], what
        assert browser.driver.execute_script("return document.querySelectorAll('h1').length") == 1, what


def test_a_table_can_be_booked_with_keys_alone(site: BookingSite, server: Server, browsers: Browsers) -> None:
    from selenium.webdriver.common.keys import Keys

    desk = browsers.selenium((1400, 900)).driver
    desk.get(f"{server.address}/keys/")
    person = ("Ada", Keys.TAB, "Lovell", Keys.TAB, "555-0123", Keys.TAB, "ada@example.org", Keys.ENTER)
    for name, keys, there in (
        ("q", ("bistro fennel", Keys.ENTER), ("/search",)), ("r-bistro-fennel", (Keys.ENTER,), ("/r/",)),
        ("party", (Keys.ARROW_UP, Keys.ENTER), ("party=3",)), ("slot-", (Keys.SPACE,), ("/hold",)),
        ("seat-", (Keys.ENTER,), ("/hold", "first-name")), ("first-name", person, ("/confirmed/1",)),
    ):  # fmt: skip
        if name != "seat-" or desk.execute_script("return document.querySelector('.seat')"):
            tab_to(desk, name, 2.0)
            press(desk, *keys)
            wait(desk, *there)
    (made,) = site.state_of("keys").booked
    assert (made.guest.first_name, made.guest.email, made.party) == ("Ada", "ada@example.org", 3)

"""A visit of a site that is not the shop: with actions that load a page, and others that do not."""

import os
import signal
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from iad_envs.browser.site_visit import FIND, PageMismatch, SiteVisit, as_parsed, seen_strings
from tests.browser import Browsers
from tests.webshop_server.site.two_rooms import RoomState, create_app, html, path_of
from webshop_server.site.sessions import Sessions

HALL, GARDEN = RoomState("hall"), RoomState("garden")
FOCUS = """
const field = document.querySelector("input");
field.focus(); field.select();
return field;
"""


class RoomVisit(SiteVisit[RoomState]):
    """A browser in two rooms. `click[room]` loads a page, `type[text]` does not."""

    READ = """
return {
  path: location.pathname,
  seen: [...document.querySelectorAll("[data-seen]")].map(e => [Number(e.dataset.seen), e.textContent]),
  note: document.querySelector("input").value,
};
"""

    def __init__(self, **options: Any) -> None:
        sessions: Sessions[RoomState] = Sessions(idle_s=float("inf"))
        super().__init__(create_app(sessions), sessions, session="me", **options)
        self.stayed: list[RoomState] = []

    def _path(self, session: str, state: RoomState) -> str:
        return path_of(session, state)

    def _html(self, session: str, state: RoomState, complaint: str) -> str:
        return html(session, state, complaint)

    def _do(self, action: str, after: RoomState) -> None:
        name, _, argument = action.removesuffix("]").partition("[")
        if name == "click":
            self._offered(action, FIND, argument).click()
        else:
            self._write(argument)

    def _settle(self, state: RoomState) -> None:
        if state.note:
            self._write(state.note)

    def stay(self, state: RoomState) -> None:
        self.stayed.append(state)

    def _compared(self, state: RoomState, found: dict[str, Any]) -> Iterable[tuple[str, object, object]]:
        return (
            ("address", path_of(self.session, state), found["path"]),
            ("text", [state.room, state.other], seen_strings(found)),
            ("note", state.note, found["note"]),
        )

    def _write(self, text: str) -> None:
        self._offered("type[...]", FOCUS)
        self._type(text)


@pytest.fixture
def visit(browsers: Browsers) -> Iterator[RoomVisit]:
    with browsers.visiting(RoomVisit(size=(500, 400))) as visit:
        yield visit


def test_an_action_that_is_no_request_stays_on_its_page_and_is_read_there(visit: RoomVisit) -> None:
    visit.open(HALL)
    visit.browser.driver.execute_script("window.isKept = true")
    for note in ("first", "second"):
        visit.act(f"type[{note}]", HALL._replace(note=note))
    assert visit.browser.driver.execute_script("return window.isKept")
    visit.act("click[garden]", GARDEN)
    assert not visit.browser.driver.execute_script("return window.isKept")
    assert visit.n_lost == 0


@pytest.mark.slow  # the shop's test of a killed browser is quicker, but types nothing
def test_a_new_browser_gets_what_no_url_says(visit: RoomVisit) -> None:
    visit.open(GARDEN)
    lost = visit.n_lost
    os.killpg(visit.browser.process_group, signal.SIGKILL)
    visit.act("type[roses]", GARDEN._replace(note="roses"))
    assert visit.n_lost == lost + 1
    assert visit.browser.driver.execute_script("return document.querySelector('input').value") == "roses"


def test_another_page_than_expected_is_noticed(visit: RoomVisit) -> None:
    visit.open(HALL)
    with pytest.raises(PageMismatch, match="address"):
        visit.act("click[garden]", HALL)
    visit.open(HALL)
    with pytest.raises(PageMismatch, match="note to be 'a', got 'b'"):
        visit.act("type[b]", HALL._replace(note="a"))
    with pytest.raises(PageMismatch, match="offer 'click\\[cellar\\]'"):
        visit.act("click[cellar]", HALL)


def test_a_preview_does_not_move_the_visit(visit: RoomVisit) -> None:
    visit.open(HALL._replace(note="still here"))
    before = visit.screenshot()
    assert visit.preview(GARDEN) != before
    assert visit.preview(HALL) != visit.preview(HALL._replace(note="typed"))
    visit.act("click[garden]", GARDEN)


def test_the_html_of_a_state_needs_no_browser() -> None:
    visit = RoomVisit(chromium="/no/such/browser")
    assert 'role="alert">no way' in visit.html(GARDEN, "no way")
    assert 'href="/me/hall"' in visit.html(GARDEN)
    assert visit.address == ""
    visit.close()


def test_strings_are_in_the_order_of_their_marks_and_in_the_form_of_a_page() -> None:
    assert seen_strings({"seen": [[2, "c"], [0, "a"], [1, ""], [1, "b"], [0, "\n"]]}) == ["a", "b", "c"]
    assert as_parsed("a\r\nb\rc\0\ud800") == "a\nb\nc\ufffd?"

"""Uses the booking site in a real browser. The page and the server's session are compared with the engine's state."""

from collections.abc import Iterable, Mapping
from typing import Any

from iad_envs.booking.actions import MAX_FIELD, SETTING, SiteAction, read_action
from iad_envs.booking.engine import BookingEngine
from iad_envs.booking.pages import SitePage, last_scroll, page_of
from iad_envs.booking.site.app import BookingSite, address_of, create_app, said_on
from iad_envs.booking.state import BookingState
from iad_envs.browser.site_visit import FIND, LEAVE, PageMismatch, SiteVisit, as_parsed
from webshop_server.site.sessions import Sessions

HERE = 'const found = document.querySelector(`[data-click="${CSS.escape(arguments[0])}"]`);'
"""Finds an element that is used without leaving the page."""


class BookingVisit(SiteVisit[BookingState]):
    """A browser on the booking site, started on first use.

    Clicks and Enter are requests, whose effects the server works out. All else happens in the page, while time passes:
    the engine's state is put into the session, and the page is loaded again where it shows more of it than what was
    typed.

    Args:
        engine: The pages and transitions.
        always_loads: Whether the page is loaded again after every action. One that was changed in parts is drawn with
            other roundings than a new one, so screenshots of the same state would differ.
        browser: Programs and size of the browser. See `SiteVisit`.
    """

    READ = """
const text = e => e?.textContent ?? null;
const all = name => [...document.querySelectorAll(`[data-${name}]`)].map(text);
const label = e => text(e.matches("[data-label], option") ? e : (e.labels?.[0] ?? e).querySelector("[data-label]"));
const value = e => e.matches("select") ? text(e.selectedOptions[0]) : e.matches("input") ? e.value : "";
return {
  path: location.pathname + location.search,
  elements: [...document.querySelectorAll("[data-click]")]
    .filter(e => !e.matches("option") || e.closest("select").size > 1)
    .map(e => [e.dataset.click, label(e), value(e)]),
  title: all("title"), lines: all("line"), notice: all("notice"), said: all("said"),
};
"""

    def __init__(self, engine: BookingEngine, *, always_loads: bool = False, **browser: Any) -> None:
        self._always_loads = always_loads
        sessions: Sessions[BookingState] = Sessions(idle_s=float("inf"))
        self._engine = engine
        self.site = BookingSite(engine, (), sessions)
        super().__init__(create_app(self.site), sessions, session="booking", **browser)

    def _path(self, session: str, state: BookingState) -> str:
        return address_of(session, state.place)

    def _html(self, session: str, state: BookingState, complaint: str) -> str:
        return self.site.html(session, state, complaint)  # without the token, which is nobody's to see

    def _settle(self, state: BookingState) -> None:
        if state.scroll:
            self._rest(state)

    def stay(self, state: BookingState) -> None:
        """Let the time pass that a refused action takes."""
        self._arrive(state, "refused")  # which can't be read as an action

    def _do(self, action: str, after: BookingState) -> None:
        before = self._sessions.get(self.session)
        assert before is not None
        read = read_action(action)
        kinds = {one.id: one.kind for one in page_of(self._engine.world, before).elements}
        if read.verb == "GOTO":
            self._go_to(self.session, after)
        elif read.verb == "SUBMIT" and kinds[read.target] == "list":
            button = f"{LEAVE} {HERE} return found?.form.querySelector('button');"
            self._offered(action, button, read.target).click()  # Enter opens a list instead
        elif read.verb == "SUBMIT":
            self._offered(action, f"{LEAVE} {HERE} found?.focus(); return found;", read.target)
            self._press({"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"})
        elif read.verb == "CLICK" and kinds[read.target] in ("link", "button"):
            self._offered(action, FIND, read.target).click()
        else:
            is_done = self._use(action, read, after)
            self._pass(before, after, is_done=is_done)

    def _use(self, action: str, read: SiteAction, after: BookingState) -> bool:
        """Do what an action does within the page, and return whether it could be done by hand."""
        name, values = read.target, after.form
        if read.verb == "CLICK":
            if name != "city":  # a list opens in the page, as the pop-up of a browser is on no screenshot
                self._offered(action, f"{HERE} return found;", name).click()
            return True
        if read.verb not in ("TYPE", "CLEAR"):
            return True
        value = values[name]
        n_units = len(value.encode("utf-16-le", "surrogatepass")) // 2
        if name == "city":
            self._offered(action, f"{HERE} return found;", f"city-{value}").click()
        elif name in SETTING:
            # What keys mean in a date or a time depends on the browser's language, so it is set, as a picker does.
            changed = 'found.dispatchEvent(new Event("input", {bubbles: true}))'
            script = f"{HERE} if (found) {{ found.value = arguments[1]; {changed}; }} return found;"
            self._offered(action, script, name, value)
        elif read.verb == "CLEAR":
            self._offered(action, f"{HERE} found?.focus(); found?.select(); return found;", name)
            self._press({"key": "Backspace", "code": "Backspace", "windowsVirtualKeyCode": 8})
        elif n_units <= MAX_FIELD and all(letter.isprintable() for letter in value):
            at_end = "found?.focus(); found?.setSelectionRange(found.value.length, found.value.length)"
            self._offered(action, f"{HERE} {at_end}; return found;", name)
            self._type(read.text)
        else:  # not from a keyboard: it comes with the page
            return False
        found = self._offered(action, f"{HERE} return found?.value;", name)
        if found != value:
            raise PageMismatch(f"expected the value of {name} to be {value!r:.300}, got {found!r:.300}")
        return True

    def _pass(self, before: BookingState, after: BookingState, *, is_done: bool = True) -> None:
        """Let time pass in the page. It is loaded again where it shows more than what was done in it."""
        if is_done and not self._always_loads and self._shown(before) == self._shown(after):
            self._sessions.put(self.session, after)
            self._rest(after)
        else:
            self._go_to(self.session, after)

    def _shown(self, state: BookingState) -> tuple[SitePage, str, object]:
        """Return what a page shows besides the values of its fields."""
        page = page_of(self._engine.world, state)
        bare = tuple(one if one.kind == "option" else one._replace(value="") for one in page.elements)
        return page._replace(elements=bare), state.notice, state.asked

    def _rest(self, state: BookingState) -> None:
        page = page_of(self._engine.world, state)
        # Takes the cursor away, which no state knows of, and scrolls to where the state is: 0 is the top, 1 the bottom.
        to = "scrollTo(0, arguments[0] * (document.documentElement.scrollHeight - innerHeight));"
        place = state.scroll / max(1, last_scroll(page))
        self.browser.driver.execute_script(f"document.activeElement?.blur(); {to}", place)

    def _press(self, key: Mapping[str, object]) -> None:
        """Press a key where the cursor is."""
        send = {"cmd": "Input.dispatchKeyEvent", "params": {"type": "keyDown", **key}}
        self.browser.driver.execute("executeCdpCommand", send)

    def _compared(self, state: BookingState, found: dict[str, Any]) -> Iterable[tuple[str, object, object]]:
        page = page_of(self._engine.world, state)
        elements = sorted([one.id, one.label, one.value] for one in page.elements)
        said = [f"You asked: {asked} The user: {answer or 'will answer'}" for asked, answer in said_on(state)]
        return (
            ("address", self._path(self.session, state), found["path"]),
            ("elements", elements, sorted([name, _plain(label), value] for name, label, value in found["elements"])),
            ("title", [page.title], found["title"]),
            ("lines", list(map(_plain, page.lines)), list(map(_plain, found["lines"]))),
            ("notice", [_plain(state.notice)] if state.notice else [], list(map(_plain, found["notice"]))),
            ("answers", list(map(_plain, said)), list(map(_plain, found["said"]))),
            ("state", state, self._sessions.get(self.session)),
        )


def _plain(text: str) -> str:
    return " ".join(as_parsed(text).split())

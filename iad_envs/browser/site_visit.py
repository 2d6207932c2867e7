"""Uses a site in a real browser: acts by clicks and keys, and reads the page.

This process serves the site on a free port. At every step the page is compared with what an environment's state says.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, ClassVar, Generic, TypeVar

from flask import Flask

from iad_envs.browser.errors import BrowserGone
from iad_envs.browser.selenium import SeleniumBrowser
from webshop_server.site.server import Server
from webshop_server.site.sessions import Sessions

StateT = TypeVar("StateT")
LEAVE = 'document.documentElement.dataset.left = "";'
"""Marks a page that is being left, which distinguishes it from the next page."""
FIND = f"""
{LEAVE}
return [...document.querySelectorAll("[data-click]")].filter(e => e.dataset.click === arguments[0]).at(-1) ?? null;
"""
"""Returns the last element that is marked with this `data-click`, and marks the page as left."""


class PageMismatch(RuntimeError):
    """The browser's page differs from the engine's page: a fault of the site or of this environment."""

    kind = "mismatch"


class SiteVisit(ABC, Generic[StateT]):
    """A browser on a site, started on first use.

    A subclass defines `_path`, `_html`, `_do` and `_compared`. It may define `_settle`, `stay` and `READ`.

    Args:
        app: The site.
        sessions: The site's sessions. A state is put there before its URL is opened. They never become idle.
        session: Id of the visit's session. A session `preview` is used beside it.
        chromium: Path or name of the browser. See `SeleniumBrowser`.
        chromedriver: Path or name of the driver. See `SeleniumBrowser`.
        size: Width and height of the page in pixels.

    Attributes:
        size: Width and height of the page in pixels.
        n_lost: Number of lost and replaced browsers.
    """

    READ: ClassVar[str] = """
return {
  path: location.pathname,
  seen: [...document.querySelectorAll("[data-seen]")].map(e => [Number(e.dataset.seen), e.textContent]),
  clicks: [...document.querySelectorAll("[data-click]")].map(e => e.dataset.click),
};
"""
    """The script that reads a loaded page. It returns an object for `_compared`, never null."""

    def __init__(
        self,
        app: Flask,
        sessions: Sessions[StateT],
        *,
        session: str,
        chromium: str | None = None,
        chromedriver: str | None = None,
        size: tuple[int, int] = (1280, 1280),
    ) -> None:
        self.app = app
        self.session = session
        self._sessions = sessions
        self._programs = {"chromium": chromium, "chromedriver": chromedriver}
        self.size = (size[0], size[1])
        self._server: Server | None = None
        self._browser: SeleniumBrowser | None = None
        self._preview_tab = ""
        self.n_lost = 0

    # What a site defines.

    @abstractmethod
    def _path(self, session: str, state: StateT) -> str:
        """Return the URL path of a state in a session."""

    @abstractmethod
    def _html(self, session: str, state: StateT, complaint: str) -> str:
        """Return the HTML of a state. Called in the application's context."""

    @abstractmethod
    def _do(self, action: str, after: StateT) -> None:
        """Do a valid action by mouse and keyboard, or open the state after it with `_go_to`.

        An action that loads another page runs `LEAVE` in the old page first, as `FIND` does. Then the old page is not
        read any more. Without this mark the page is read at once, which is right for an action that is no request: text
        typed into a field, a scrolled page.

        Raises:
            PageMismatch: The page does not offer the action.
        """

    @abstractmethod
    def _compared(self, state: StateT, found: dict[str, Any]) -> Iterable[tuple[str, object, object]]:
        """Return what is compared when a state is reached: a name, what is expected, and what is there.

        Args:
            state: The expected state.
            found: What `READ` has returned.
        """

    # What a site may define.

    def _settle(self, state: StateT) -> None:
        """Bring a page that was opened by its URL to what the URL does not say, such as typed text."""

    def stay(self, state: StateT) -> None:
        """Show a state that a refused action has led to. On most sites nothing changes by one."""

    # What everyone uses.

    @property
    def browser(self) -> SeleniumBrowser:
        """The running browser. Browser and server are started if necessary."""
        if self._server is None:
            self._server = Server(self.app, threads=4)
        if self._browser is None:
            self._browser = SeleniumBrowser(**self._programs, size=self.size)
            self._preview_tab = ""
        return self._browser

    @property
    def address(self) -> str:
        """URL of the site, "" while it is closed."""
        return "" if self._server is None else self._server.address

    def act(self, action: str, after: StateT) -> None:
        """Do a valid action by mouse and keyboard, and compare the page with the expected state.

        Raises:
            PageMismatch: The action led to another page.
            BrowserGone: The browser ended, and a new one could not be started.
        """
        self._arrive(after, action)

    def open(self, state: StateT) -> None:
        """Go to a state by its URL.

        Raises:
            PageMismatch: The browser shows another page.
            BrowserGone: The browser ended, and a new one could not be started.
        """
        self._arrive(state, "")

    def html(self, state: StateT, complaint: str = "") -> str:
        """Return the HTML of a state. The visit itself does not move, and needs no browser for it."""
        with self.app.app_context():
            return self._html(self.session, state, complaint)

    def screenshot(self) -> bytes:
        """Return a PNG of the window."""
        return bytes(self.browser.driver.get_screenshot_as_png())

    def preview(self, state: StateT) -> bytes:
        """Return a PNG of a state's page from a separate tab. The visit itself does not move."""
        driver = self.browser.driver
        here = driver.current_window_handle
        try:
            if self._preview_tab:
                driver.switch_to.window(self._preview_tab)
            else:
                self._preview_tab = self.browser.new_tab()
            self._go_to("preview", state)
            self._read()
            return bytes(driver.get_screenshot_as_png())
        finally:
            driver.switch_to.window(here)

    def close(self) -> None:
        """End the browser and its server. Closing twice is harmless, and further use starts them again."""
        browser, self._browser = self._browser, None
        server, self._server = self._server, None
        if browser is not None:
            browser.close()
        if server is not None:
            server.close()

    # What a site uses.

    def _go_to(self, session: str, state: StateT) -> None:
        self._sessions.put(session, state)
        self.browser.driver.get(f"{self.address}{self._path(session, state)}")
        self._settle(state)

    def _offered(self, action: str, script: str, *arguments: object) -> Any:
        """Return the element that a script finds for an action.

        Raises:
            PageMismatch: It finds none.
        """
        driver = self.browser.driver
        found = driver.execute_script(script, *arguments)
        if found is None:
            raise PageMismatch(f"expected the page to offer {action!r:.100}, it does not: {driver.current_url:.200}")
        return found

    def _type(self, text: str) -> None:
        """Type a text at the cursor, in place of what is selected."""
        self.browser.command("Input.insertText", {"text": text})

    # How it works.

    def _arrive(self, state: StateT, action: str) -> None:
        """Do an action or go to a state. If the browser is lost, retry by URL in a new one."""
        from selenium.common.exceptions import WebDriverException
        from urllib3.exceptions import HTTPError

        for last in (False, True):
            is_new = self._browser is None
            self.browser  # noqa: B018 (starts the browser if necessary)
            try:
                if action and not is_new:
                    self._do(action, state)
                else:
                    self._go_to(self.session, state)
                found = self._read()
                break
            except (WebDriverException, HTTPError, OSError) as error:
                browser, self._browser = self._browser, None
                self.n_lost += 1
                if browser is not None:
                    browser.close()
                if last:
                    given = str(error).partition("\n")[0]
                    raise BrowserGone(
                        f"expected the browser to go on, it failed twice ({given:.200}); check that it runs by itself"
                    ) from error
        self._compare(state, found)

    def _read(self) -> dict[str, Any]:
        """Wait until a page has loaded, and return its content."""
        from selenium.common.exceptions import JavascriptException

        wait = 'if (document.readyState !== "complete" || "left" in document.documentElement.dataset) return null;'
        until = time.monotonic() + 30.0
        while time.monotonic() < until:
            with suppress(JavascriptException):  # the page is being replaced
                found: dict[str, Any] | None = self.browser.driver.execute_script(wait + self.READ)
                if found is not None:
                    return found
            time.sleep(0.004)
        raise TimeoutError("expected a page within 30 s, got none")

    def _compare(self, state: StateT, found: dict[str, Any]) -> None:
        for what, expected, given in self._compared(state, found):
            if expected != given:
                raise PageMismatch(f"expected the page's {what} to be {expected!r:.300}, got {given!r:.300}")


def seen_strings(found: dict[str, Any]) -> list[str]:
    """Return the strings that are marked by `data-seen`, in the order of its numbers, without empty ones."""
    return [text for _, text in sorted(found["seen"], key=lambda part: part[0]) if text not in ("", "\n")]


def as_parsed(text: str) -> str:
    """Return a text in the form that a parsed page would have."""
    return text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")

"""Uses the shop's site in a real browser: acts by clicks and keys, and reads the page.

This process serves the site on a free port. At every step the page and the server's session are compared with the
engine's state.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from iad_envs.browser.errors import BrowserGone
from iad_envs.browser.selenium import SeleniumBrowser
from webshop_server.engine import MAX_QUERY_LENGTH, Shop, ShopState, parse_action
from webshop_server.pages import SEPARATOR, render_text
from webshop_server.site.addresses import path_of
from webshop_server.site.app import Site, create_app
from webshop_server.site.server import Server
from webshop_server.site.sessions import Sessions
from webshop_server.storefront import ShopTask

SESSION, PREVIEW = "shop", "preview"
LOAD_S = 30.0
POLL_S = 0.004
LEFT = "left"
"""Mark on a page that is being left, which distinguishes it from the next page."""
FIND = f"""
document.documentElement.dataset.{LEFT} = "";
return [...document.querySelectorAll("[data-click]")].filter(e => e.dataset.click === arguments[0]).at(-1) ?? null;
"""
FOCUS = f"""
const box = document.querySelector("input[name=search_query]");
if (!box) return null;
document.documentElement.dataset.{LEFT} = "";
box.focus(); box.select();
return box.form.querySelector("button");
"""
READ = f"""
if (document.readyState !== "complete" || "{LEFT}" in document.documentElement.dataset) return null;
return {{
  path: location.pathname,
  seen: [...document.querySelectorAll("[data-seen]")].map(e => [Number(e.dataset.seen), e.textContent]),
  clicks: [...document.querySelectorAll("[data-click]")].map(e => e.dataset.click),
}};
"""


class PageMismatch(RuntimeError):
    """The browser's page differs from the engine's page: a fault of the site or of this environment."""

    kind = "mismatch"


class BrowserVisit:
    """A browser on a shop's site, started on first use.

    Args:
        shop: The shop.
        tasks: The shop's tasks.
        chromium: Path or name of the browser. See `SeleniumBrowser`.
        chromedriver: Path or name of the driver. See `SeleniumBrowser`.
        size: Width and height of the page in pixels.

    Attributes:
        n_lost: Number of lost and replaced browsers.
    """

    def __init__(
        self,
        shop: Shop,
        tasks: Sequence[ShopTask],
        *,
        chromium: str | None = None,
        chromedriver: str | None = None,
        size: tuple[int, int] = (1280, 1280),
    ) -> None:
        self._shop = shop
        self._programs = {"chromium": chromium, "chromedriver": chromedriver}
        self._size = size
        self._sessions: Sessions[ShopState] = Sessions(idle_s=float("inf"))
        self.site = Site(shop, tasks, self._sessions)
        self.app = create_app(self.site)
        self._server: Server | None = None
        self._browser: SeleniumBrowser | None = None
        self._preview_tab = ""
        self.n_lost = 0

    @property
    def browser(self) -> SeleniumBrowser:
        """The running browser. Browser and server are started if necessary."""
        if self._server is None:
            self._server = Server(self.app, threads=4)
        if self._browser is None:
            self._browser = SeleniumBrowser(**self._programs, size=self._size)
            self._preview_tab = ""
        return self._browser

    @property
    def address(self) -> str:
        """URL of the site, "" while it is closed."""
        return "" if self._server is None else self._server.address

    def act(self, action: str, after: ShopState) -> None:
        """Do a valid action by mouse and keyboard, and compare the page with the expected state.

        Raises:
            PageMismatch: The action led to another page.
            BrowserGone: The browser ended, and a new one could not be started.
        """
        self._arrive(after, action)

    def open(self, state: ShopState) -> None:
        """Go to a state by its URL.

        Raises:
            PageMismatch: The browser shows another page.
            BrowserGone: The browser ended, and a new one could not be started.
        """
        self._arrive(state, "")

    def screenshot(self) -> bytes:
        """Return a PNG of the window."""
        return bytes(self.browser.driver.get_screenshot_as_png())

    def preview(self, state: ShopState) -> bytes:
        """Return a PNG of a state's page from a separate tab. The visit itself does not move."""
        driver = self.browser.driver
        here = driver.current_window_handle
        try:
            if self._preview_tab:
                driver.switch_to.window(self._preview_tab)
            else:
                driver.switch_to.new_window("tab")
                self._preview_tab = driver.current_window_handle
            self._go_to(PREVIEW, state)
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

    def _arrive(self, state: ShopState, action: str) -> None:
        """Do an action or go to a state. If the browser is lost, retry by URL in a new one."""
        for last in (False, True):
            is_new = self._browser is None
            self.browser  # noqa: B018 (starts the browser if necessary)
            try:
                if action and not is_new:
                    self._do(action, state)
                else:
                    self._go_to(SESSION, state)
                found = self._read()
                break
            except _failures() as error:
                self._lose()
                if last:
                    given = str(error).partition("\n")[0]
                    raise BrowserGone(
                        f"expected the browser to go on, it failed twice ({given:.200}); check that it runs by itself"
                    ) from error
        self._compare(state, found)

    def _go_to(self, session: str, state: ShopState) -> None:
        self._sessions.put(session, state)
        self.browser.driver.get(f"{self.address}{path_of(session, state)}")

    def _do(self, action: str, after: ShopState) -> None:
        driver = self.browser.driver
        name, argument = parse_action(action)
        if name == "search":
            if not _can_be_typed(argument):
                self._go_to(SESSION, after)
                return
            target = driver.execute_script(FOCUS)
            driver.execute("executeCdpCommand", {"cmd": "Input.insertText", "params": {"text": argument}})
        else:
            target = driver.execute_script(FIND, argument)
        if target is None:
            raise PageMismatch(f"expected the page to offer {action!r:.100}, it does not: {driver.current_url:.200}")
        target.click()

    def _read(self) -> dict[str, Any]:
        """Wait until a page has loaded, and return its content."""
        until = time.monotonic() + LOAD_S
        while True:
            found: dict[str, Any] | None = None
            with suppress(_between_pages()):
                found = self.browser.driver.execute_script(READ)
            if found is not None:
                return found
            if time.monotonic() > until:
                raise TimeoutError(f"expected a page within {LOAD_S:g} s, got none")
            time.sleep(POLL_S)

    def _compare(self, state: ShopState, found: dict[str, Any]) -> None:
        page = self._shop.page(state)
        strings = [text for _, text in sorted(found["seen"], key=lambda part: part[0]) if text not in ("", "\n")]
        for what, expected, given in (
            ("address", path_of(SESSION, state), found["path"]),
            ("state", state, self._sessions.get(SESSION)),
            ("text", _as_parsed(render_text(page)), SEPARATOR.join([text.strip() for text in strings])),
            ("clickables", {_as_parsed(name) for name in page.clickables if name}, set(found["clicks"])),
        ):
            if expected != given:
                raise PageMismatch(f"expected the page's {what} to be {expected!r:.300}, got {given!r:.300}")

    def _lose(self) -> None:
        browser, self._browser = self._browser, None
        self.n_lost += 1
        if browser is not None:
            browser.close()


def _can_be_typed(query: str) -> bool:
    """Whether a query can be typed into the search box. Other queries are opened by URL."""
    units = len(query.encode("utf-16-le", "surrogatepass")) // 2
    return units <= MAX_QUERY_LENGTH and all(letter.isprintable() for letter in query)


def _as_parsed(text: str) -> str:
    """Return a text in the form that a parsed page would have."""
    return text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def _failures() -> tuple[type[Exception], ...]:
    from selenium.common.exceptions import WebDriverException
    from urllib3.exceptions import HTTPError

    return (WebDriverException, HTTPError, OSError)


def _between_pages() -> type[Exception]:
    """The exception type for access to a page that is being replaced."""
    from selenium.common.exceptions import JavascriptException

    return JavascriptException

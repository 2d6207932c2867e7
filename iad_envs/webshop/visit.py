"""A visit to the shop's site in a real browser: acts by clicks and keys, and tells what the page shows.

The site is served by this process on a free port. The engine's state tells what has to be seen after an action; the
page and the server's session are compared with it at every step.
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
from webshop_server.site.serving import Server
from webshop_server.site.sessions import Sessions
from webshop_server.storefront import ShopTask

SESSION, PREVIEW = "shop", "preview"
LOAD_S = 30.0
POLL_S = 0.004
LEFT = "left"
"""The mark of a page that is being left, so that the next one can be told from it."""
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
    """The browser shows another page than the engine says: a fault of the site or of this environment."""

    kind = "mismatch"


class BrowserVisit:
    """A browser on a shop's site, started when it is first needed.

    Args:
        shop: The shop.
        tasks: The shop's tasks.
        chromium: See `SeleniumBrowser`.
        chromedriver: Likewise.
        size: Of the page in pixels: width, height.

    Attributes:
        n_lost: How many browsers were lost and replaced.
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
        self._sessions = Sessions(idle_s=float("inf"))
        self.site = Site(shop, tasks, self._sessions)
        self.app = create_app(self.site)
        self._server: Server | None = None
        self._browser: SeleniumBrowser | None = None
        self._preview_tab = ""
        self.n_lost = 0

    @property
    def browser(self) -> SeleniumBrowser:
        """The running browser, with its server; started if there is none."""
        if self._server is None:
            self._server = Server(self.app, threads=4)
        if self._browser is None:
            self._browser = SeleniumBrowser(**self._programs, size=self._size)
            self._preview_tab = ""
        return self._browser

    @property
    def address(self) -> str:
        """Of the site; "" while it is closed."""
        return "" if self._server is None else self._server.address

    def act(self, action: str, after: ShopState) -> None:
        """Do a valid action as a person does, and compare the page with the state that it has to lead to.

        Raises:
            PageMismatch: It led elsewhere.
            BrowserGone: The browser ended, and a new one could not be started.
        """
        self._arrive(after, action)

    def open(self, state: ShopState) -> None:
        """Go to a state by its address.

        Raises:
            PageMismatch: Something else is shown.
            BrowserGone: The browser ended, and a new one could not be started.
        """
        self._arrive(state, "")

    def screenshot(self) -> bytes:
        """Return a PNG of what is in the window."""
        return bytes(self.browser.driver.get_screenshot_as_png())

    def preview(self, state: ShopState) -> bytes:
        """Return a PNG of a state's page, from a tab of its own: the visit does not move."""
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
        """End the browser and its server; closing twice is harmless, and going on starts them anew."""
        browser, self._browser = self._browser, None
        server, self._server = self._server, None
        if browser is not None:
            browser.close()
        if server is not None:
            server.close()

    def _arrive(self, state: ShopState, action: str) -> None:
        """Act or go, and once more by address in a new browser where this one was lost."""
        for last in (False, True):
            is_new = self._browser is None
            self.browser  # noqa: B018 (starts what is not running)
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
        """Wait until a page is there, and return what it shows."""
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
    """Whether a person can put a query into the search box; others are reached by their address."""
    units = len(query.encode("utf-16-le", "surrogatepass")) // 2
    return units <= MAX_QUERY_LENGTH and all(letter.isprintable() for letter in query)


def _as_parsed(text: str) -> str:
    """Return a text as it comes out of a parsed page."""
    return text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def _failures() -> tuple[type[Exception], ...]:
    from selenium.common.exceptions import WebDriverException
    from urllib3.exceptions import HTTPError

    return (WebDriverException, HTTPError, OSError)


def _between_pages() -> type[Exception]:
    """The error of asking a page that is just being replaced."""
    from selenium.common.exceptions import JavascriptException

    return JavascriptException

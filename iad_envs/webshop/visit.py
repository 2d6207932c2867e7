"""Uses the shop's site in a real browser. The page and the server's session are compared with the engine's state."""

from collections.abc import Iterable, Sequence
from typing import Any

from iad_envs.browser.site_visit import FIND, LEAVE, SiteVisit, as_parsed, seen_strings
from webshop_server.engine import MAX_QUERY_LENGTH, Shop, ShopState, parse_action
from webshop_server.pages import SEPARATOR, render_text
from webshop_server.site.addresses import path_of
from webshop_server.site.app import Site, create_app
from webshop_server.site.sessions import Sessions
from webshop_server.storefront import ShopTask

_FOCUS = f"""
const box = document.querySelector("input[name=search_query]");
if (!box) return null;
{LEAVE}
box.focus(); box.select();
return box.form.querySelector("button");
"""


class BrowserVisit(SiteVisit[ShopState]):
    """A browser on a shop's site, started on first use.

    Args:
        shop: The shop.
        tasks: The shop's tasks.
        browser: Programs and size of the browser. See `SiteVisit`.
    """

    def __init__(self, shop: Shop, tasks: Sequence[ShopTask], **browser: Any) -> None:
        sessions: Sessions[ShopState] = Sessions(idle_s=float("inf"))
        self._shop = shop
        self.site = Site(shop, tasks, sessions)
        super().__init__(create_app(self.site), sessions, session="shop", **browser)

    def _path(self, session: str, state: ShopState) -> str:
        return path_of(session, state)

    def _html(self, session: str, state: ShopState, complaint: str) -> str:
        return self.site.html(session, state, complaint)

    def _do(self, action: str, after: ShopState) -> None:
        name, argument = parse_action(action)
        units = len(argument.encode("utf-16-le", "surrogatepass")) // 2
        if name != "search":
            self._offered(action, FIND, argument).click()
        elif units > MAX_QUERY_LENGTH or not all(letter.isprintable() for letter in argument):
            self._go_to(self.session, after)  # what can't be typed into the search box
        else:
            button = self._offered(action, _FOCUS)
            self._type(argument)
            button.click()

    def _compared(self, state: ShopState, found: dict[str, Any]) -> Iterable[tuple[str, object, object]]:
        page = self._shop.page(state)
        return (
            ("address", path_of(self.session, state), found["path"]),
            ("state", state, self._sessions.get(self.session)),
            ("text", as_parsed(render_text(page)), SEPARATOR.join([text.strip() for text in seen_strings(found)])),
            ("clickables", {as_parsed(name) for name in page.clickables if name}, set(found["clicks"])),
        )

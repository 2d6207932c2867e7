"""`IAD/WebShopBrowser-v0`: the online shop, in a real browser."""

import weakref
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces

from iad_envs.browser.devtools import find_chromium
from iad_envs.browser.images import decoded
from iad_envs.browser.selenium import find_chromedriver, require_selenium
from iad_envs.core import Score, Snapshot, View
from iad_envs.requirements import Requirement
from iad_envs.requirements.browser import BROWSER
from iad_envs.requirements.driver import DRIVER, SELENIUM
from iad_envs.webshop.env import WebShopEnv, require_known
from iad_envs.webshop.visit import SESSION, BrowserVisit
from webshop_server.engine import ShopState
from webshop_server.storefront import LocalStorefront, ProgressMode

MODES = ("text", "html", "screenshot")


class WebShopBrowserEnv(WebShopEnv):
    """The tasks of `IAD/WebShop-v0` on the shop's site, in a Chromium that Selenium drives.

    ## Description
    Every step clicks or types in a real page. The new page is then compared with the engine's page. Tasks, actions,
    rewards and progress are those of `IAD/WebShop-v0`. This process serves the site on a free port.

    ## Action Space
    Same as `IAD/WebShop-v0`.

    ## Observation Space
    `text`: same as `IAD/WebShop-v0`. `html`: source of the page. `screenshot`: image (height, width, 3; uint8) of the
    window. It does not show why an action is invalid; see `info["facts"]`.

    ## Rewards
    Same as `IAD/WebShop-v0`.

    ## Starting State
    The search page, with an instruction.

    ## Episode End
    Same as `IAD/WebShop-v0`. A lost browser is replaced and continues at the same page.

    ## Information
    Same as `IAD/WebShop-v0`.

    ## Arguments
        observation_mode: Kind of observation: `text`, `html` or `screenshot`.
        window_size: Width and height of the page in pixels.
        chromium: Path or name of the browser. Default: `$IAD_CHROMIUM`, else the usual names.
        chromedriver: Path or name of the driver. Default: `$IAD_CHROMEDRIVER`, else `chromedriver`.
        render_mode: `rgb_array` (picture of the window), `ansi` or None.
        data_dir, split, goals, max_steps, page_size, progress: Same as `IAD/WebShop-v0`.
        search, tagger, catalog, search_anywhere, max_pages, show_attributes: Same as `IAD/WebShop-v0`.

    ## Version History
    * v0: First version.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 1}  # noqa: RUF012 (Gymnasium declares it so)

    NEEDS: ClassVar[tuple[Requirement, ...]] = (SELENIUM, BROWSER, DRIVER)

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        split: str | None = "test",
        goals: str | None = None,
        observation_mode: Literal["text", "html", "screenshot"] = "text",
        max_steps: int = 15,
        page_size: int = 10,
        progress: ProgressMode = "maximum",
        search: str = "bm25",
        tagger: str = "light",
        catalog: Literal["auto", "memory", "disk"] = "auto",
        search_anywhere: bool = True,
        max_pages: int | None = None,
        show_attributes: bool = False,
        window_size: tuple[int, int] = (1280, 1280),
        chromium: str | None = None,
        chromedriver: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        require_known("observation_mode", observation_mode, MODES)
        require_selenium()
        find_chromium(chromium)
        find_chromedriver(chromedriver)
        super().__init__(
            data_dir=data_dir,
            split=split,
            goals=goals,
            max_steps=max_steps,
            page_size=page_size,
            progress=progress,
            search=search,
            tagger=tagger,
            catalog=catalog,
            search_anywhere=search_anywhere,
            max_pages=max_pages,
            show_attributes=show_attributes,
            render_mode=render_mode,
        )
        assert isinstance(self.storefront, LocalStorefront)
        self._seen_as = observation_mode
        self._doing: str | None = None
        self._is_there = False
        self._browsing = RLock()  # simulations may come from several threads, but there is one window
        self.visit = BrowserVisit(
            self.storefront.shop,
            self.storefront.tasks,
            chromium=chromium,
            chromedriver=chromedriver,
            size=(window_size[0], window_size[1]),
        )
        # Closes the visit at the latest when the interpreter ends.
        self._end = weakref.finalize(self, self.visit.close)
        if observation_mode == "screenshot":
            width, height = window_size
            self.observation_space: Any = spaces.Box(0, 255, (height, width, 3), np.uint8)

    def step(self, action: str) -> Any:
        """Commit an action in the browser."""
        self._doing = action if isinstance(action, str) else ""
        try:
            return super().step(action)
        finally:
            self._doing = None

    def render(self) -> Any:
        """Return a picture of the window in mode `"rgb_array"`, or the text in mode `"ansi"`."""
        if self.render_mode != "rgb_array":
            return super().render()
        self._required()
        with self._browsing:
            return decoded(self.visit.screenshot(), "the screenshot")

    def close(self) -> None:
        """End the browser and the server. A reset starts them again."""
        with self._browsing:
            self.visit.close()

    def _arrive(self, now: Snapshot) -> tuple[Any, dict[str, Any]]:
        with self._browsing:
            if self._doing is None:
                self.visit.open(now.state)
            elif not now.complaint:
                self.visit.act(self._doing, now.state)
        self._is_there = True
        try:
            return super()._arrive(now)
        finally:
            self._is_there = False

    def _view(self, state: ShopState, complaint: str) -> View:
        view = super()._view(state, complaint)
        if self._seen_as == "html":
            with self.visit.app.app_context():
                return view._replace(observation=self.visit.site.html(SESSION, state, complaint))
        if self._seen_as == "screenshot":
            with self._browsing:
                shot = self.visit.screenshot() if self._is_there else self.visit.preview(state)
            return view._replace(observation=decoded(shot, "the screenshot"))
        return view

    def _reveal(self, view: View, score: Score) -> Any:
        return view.observation

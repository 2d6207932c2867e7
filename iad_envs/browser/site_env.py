"""What environments have in common whose pages are seen on a site, in a Chromium that Selenium drives."""

import weakref
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from gymnasium import spaces

from iad_envs.browser.devtools import find_chromium
from iad_envs.browser.images import decoded
from iad_envs.browser.selenium import find_chromedriver, require_selenium
from iad_envs.core import IADEnv, Score, Snapshot, StateT, View
from iad_envs.errors import require_known
from iad_envs.requirements import Requirement
from iad_envs.requirements.browser import BROWSER, DRIVER, SELENIUM

if TYPE_CHECKING:
    from iad_envs.browser.site_visit import SiteVisit  # imports Flask, which only an environment that is made needs

MODES = ("text", "html", "screenshot")


class SiteEnv(IADEnv[Any, StateT]):
    """A mix-in that lets an environment act on its site: `class MyBrowserEnv(SiteEnv[MyState], MyEnv)`.

    The environment beside it defines tasks, transitions, scores and the observations of mode `text`. The constructor
    calls `require_site_browser` first, then that of the environment, and then `_browse`.

    Attributes:
        visit: The browser on the site.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 1}  # noqa: RUF012 (Gymnasium declares it so)

    NEEDS: ClassVar[tuple[Requirement, ...]] = (SELENIUM, BROWSER, DRIVER)

    visit: "SiteVisit[StateT]"

    def _browse(self, visit: "SiteVisit[StateT]", observation_mode: str) -> None:
        """Take the browser of this environment. It is closed with the environment, or when the interpreter ends.

        Args:
            visit: The browser on the site.
            observation_mode: Kind of observation, one of `MODES`.
        """
        self.visit = visit
        self._seen_as = observation_mode
        self._doing: str | None = None
        self._is_there = False
        self._is_away = False
        self._browsing = RLock()  # simulations may come from several threads, but there is one window
        # Closes the visit at the latest when the interpreter ends.
        self._end = weakref.finalize(self, visit.close)
        if observation_mode == "screenshot":
            width, height = visit.size
            self.observation_space = spaces.Box(0, 255, (height, width, 3), np.uint8)

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
            self._come_back()
            return decoded(self.visit.screenshot(), "the screenshot")

    def close(self) -> None:
        """End the browser and the server. A reset starts them again."""
        with self._browsing:
            self.visit.close()

    def _resume(self, original: Self | None) -> None:
        super()._resume(original)
        self._is_away = True

    def _come_back(self) -> None:
        """Open the page of a copy, whose browser is another one."""
        if self._is_away:
            self.visit.open(self._required().state)
            self._is_away = False

    def _arrive(self, now: Snapshot) -> tuple[Any, dict[str, Any]]:
        with self._browsing:
            if self._doing is None:
                self.visit.open(now.state)
                self._is_away = False
            else:
                self._come_back()
                if now.complaint:
                    self.visit.stay(now.state)
                else:
                    self.visit.act(self._doing, now.state)
        self._is_there = True
        try:
            return super()._arrive(now)
        finally:
            self._is_there = False

    def _view(self, state: StateT, complaint: str) -> View:
        view = super()._view(state, complaint)  # type: ignore[safe-super]  # that of the environment beside it
        if self._seen_as == "html":
            return view._replace(observation=self.visit.html(state, complaint))
        if self._seen_as == "screenshot":
            with self._browsing:
                shot = self.visit.screenshot() if self._is_there else self.visit.preview(state)
            return view._replace(observation=decoded(shot, "the screenshot"))
        return view

    def _reveal(self, view: View, score: Score) -> Any:
        return view.observation


def require_site_browser(observation_mode: str, chromium: str | None, chromedriver: str | None) -> None:
    """Check that observations are of a known kind, and that the programs are installed.

    Raises:
        UnknownTask: The observation mode is none of `MODES`.
        ModuleNotFoundError: Selenium is not installed.
        BrowserNotFound: One of the programs is not installed.
    """
    require_known("observation_mode", observation_mode, MODES)
    require_selenium()
    find_chromium(chromium)
    find_chromedriver(chromedriver)

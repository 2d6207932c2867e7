"""The browsers of a test process: one Chromium for pages, one that Selenium drives, and a fresh context for each test.

Tests about starting, ending, limits and leftovers of a browser start their own.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pytest

from iad_envs.browser.devtools import CHROMIUM_VARIABLE, NAMES, Browser, find_chromium
from iad_envs.browser.selenium import CHROMEDRIVER_VARIABLE, SeleniumBrowser
from iad_envs.browser.site_env import SiteEnv
from iad_envs.sketch2code.renderer import Renderer, RendererLease

EnvT = TypeVar("EnvT", bound=SiteEnv[Any])


def without_chromium() -> str:
    """What pages lack here; "" for nothing."""
    if os.environ.get(CHROMIUM_VARIABLE) or any(map(shutil.which, NAMES)):
        return ""
    return "needs Chromium: apt-get install chromium fonts-liberation"


def missing() -> str:
    """What a browser environment lacks here; "" for nothing."""
    if find_spec("selenium") is None:
        return "needs Selenium: pip install -e '.[browser]'"
    if not (os.environ.get(CHROMEDRIVER_VARIABLE) or shutil.which("chromedriver")):
        return "needs chromedriver: apt-get install chromium-driver"
    return without_chromium()


class Browsers:
    """The browsers of a test process: each started for the first test that needs it, and again after one ended it."""

    def __init__(self) -> None:
        self._chromium: Browser | None = None
        self._selenium: SeleniumBrowser | None = None

    @property
    def chromium(self) -> Browser:
        """The Chromium for pages. Without one, the test is skipped."""
        if without_chromium():
            pytest.skip(without_chromium())
        if self._chromium is not None and not self._chromium.alive:
            self._chromium.close()
            self._chromium = None
        if self._chromium is None:
            self._chromium = Browser(find_chromium())
        return self._chromium

    @contextmanager
    def renderer(self, **options: Any) -> Iterator[Renderer]:
        """A renderer with tabs of its own in the Chromium for pages."""
        made = Renderer(**options)
        with self.with_tabs(made, made):
            yield made

    @contextmanager
    def leased(self, **options: Any) -> Iterator[Renderer]:
        """The renderer that environments with these options share, in the Chromium for pages."""
        lease = RendererLease(**options)
        with self.with_tabs(lease.renderer, lease):
            yield lease.renderer

    @contextmanager
    def with_tabs(self, renderer: Renderer, made: Any) -> Iterator[None]:
        """A renderer's tabs are in the Chromium for pages until `made`, which it belongs to, is closed."""
        try:
            renderer._browser = self.chromium
            yield
        finally:
            if renderer._browser is self._chromium:
                for _, tab in renderer._idle:
                    tab.close()
                renderer._idle.clear()
                renderer._browser = None
            made.close()

    def selenium(self, size: tuple[int, int] = (1280, 1280)) -> SeleniumBrowser:
        """The Chromium that Selenium drives, with one new tab of a size and without cookies. It may skip the test."""
        if missing():
            pytest.skip(missing())
        from selenium.common.exceptions import WebDriverException
        from urllib3.exceptions import HTTPError

        if self._selenium is not None:
            try:
                driver = self._selenium.driver
                old = driver.window_handles
                self._selenium.command("Network.clearBrowserCookies", {})
                new = self._selenium.new_tab()
                for handle in old:
                    driver.switch_to.window(handle)
                    driver.close()
                driver.switch_to.window(new)
                self._selenium.resize(size)
            except (WebDriverException, HTTPError, OSError):
                self._selenium.close()
                self._selenium = None
        if self._selenium is None:
            self._selenium = SeleniumBrowser(size=size)
        return self._selenium

    @contextmanager
    def lent(self, env: EnvT) -> Iterator[EnvT]:
        """An environment whose visit is in the Chromium that Selenium drives. The visit is closed."""
        visit = env.visit
        visit._browser = shared = self.selenium(visit.size)
        try:
            yield env
        finally:
            if visit._browser is shared:
                visit._browser = None
            visit.close()

    def close(self) -> None:
        for browser in (self._chromium, self._selenium):
            if browser is not None:
                browser.close()


def living(*, group: int = 0, mentioning: str = "") -> list[str]:
    """The command lines of processes of a group, or that mention a text; those that only wait to be reaped are dead."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            state, _, its_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            is_meant = (group and int(its_group) == group) or (mentioning and mentioning in command)
            if is_meant and state not in "ZX":
                found.append(command)
    return found

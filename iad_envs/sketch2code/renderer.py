"""Renders HTML to boxes and pictures with a pool of tabs in one browser.

If a page hangs, its tab is closed and the reason is reported. If the page crashes, the browser refuses a command or the
browser dies, the work is repeated once in a browser of its own. What fails there too is the page's fault. A page that
only shared its browser with a harmful one is not blamed. Pages are cached by content, so a reference is rendered once.
"""

import os
import threading
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import TypeVar

from iad_envs.browser.devtools import Browser, find_chromium
from iad_envs.browser.errors import PageTimeout, RenderError
from iad_envs.sketch2code.page import RenderedPage, RenderLimits
from iad_envs.sketch2code.tab import Tab

T = TypeVar("T")


def photographed(tab: Tab, page: RenderedPage) -> bytes:
    """Return a PNG of a loaded page: work for `Renderer.run`."""
    return tab.screenshot((page.width, page.height))


class Renderer:
    """Renders pages. Thread-safe. The browser is started for the first page.

    Args:
        chromium: Path or name of the browser. See `find_chromium`.
        scripts: Whether pages may run scripts, as in the published scorer.
        assets: Files available to every page, by name, for example `rick.jpg`.
        limits: Resource limits of a page.
        n_tabs: Number of pages rendered in parallel.

    Raises:
        BrowserNotFound: There is no Chromium.
    """

    def __init__(
        self,
        *,
        chromium: str | None = None,
        scripts: bool = False,
        assets: Mapping[str, bytes] | None = None,
        limits: RenderLimits | None = None,
        n_tabs: int = 2,
    ) -> None:
        if n_tabs < 1:
            raise ValueError(f"expected n_tabs of 1 or more, got {n_tabs}")
        self._executable = find_chromium(chromium)
        self._scripts = scripts
        self._assets = dict(assets or {})
        self.limits = limits or RenderLimits()
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(n_tabs)
        self._idle: list[tuple[Browser, Tab]] = []
        self._browser: Browser | None = None
        self._n_pages = 0
        self._pages: OrderedDict[str, RenderedPage] = OrderedDict()
        self._busy: dict[Browser, int] = {}
        self._patience = threading.local()

    @property
    def browser(self) -> Browser:
        """The running browser. It is started if necessary."""
        with self._lock:
            return self._running()

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Return a context in which this thread renders pages of the data, which cost an episode if they fail.

        One that takes too long, beside an agent's page or on a busy machine, is rendered again in a browser of its own,
        with ten times as much time.
        """
        self._patience.is_on = True
        try:
            yield
        finally:
            self._patience.is_on = False

    @property
    def _is_patient(self) -> bool:
        return getattr(self._patience, "is_on", False)

    def page(self, html: str) -> RenderedPage:
        """Return a rendered page, cached by content. If it can't be rendered, its `failure` is set.

        Raises:
            RenderError: No browser could be kept running. This is not the page's fault.
        """
        name = blake2b(html.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        with self._lock:
            known = self._pages.get(name)
            if known is not None and not (known.failure and self._is_patient):
                self._pages.move_to_end(name)
                return known
        page, _ = self.run(html, None)
        with self._lock:
            self._pages[name] = page
            if len(self._pages) > 4096:
                self._pages.popitem(last=False)
        return page

    def screenshot(self, html: str) -> bytes | None:
        """Return a PNG of the page, at least 1280 pixels wide, or None if it can't be rendered."""
        return self.run(html, photographed)[1]

    def run(self, html: str, work: Callable[[Tab, RenderedPage], T] | None) -> tuple[RenderedPage, T | None]:
        """Load a page, collect its boxes, and call `work` on it. Without work the page need not be drawn.

        If the browser can't do it, for example because the page can't be photographed, the result of `work` is None
        and the page's `failure` says why.

        Raises:
            RenderError: No browser could be kept running. This is not the page's fault.
        """
        size = len(html.encode("utf-8", "surrogatepass"))
        if size > self.limits.html_bytes:
            return self._failed(f"expected HTML of at most {self.limits.html_bytes} bytes, got {size}"), None
        # A lone surrogate is not a character, and no browser accepts it.
        html = html.encode("utf-8", "replace").decode()
        with self._turns:
            for last in (False, True):
                try:
                    browser, tab = self._take(alone=last)
                except RenderError:
                    if last:
                        raise
                    continue  # another page may have harmed the shared browser
                try:
                    tab.load(html, is_drawn=work is not None)
                    page = tab.collect()
                    result = None if page.failure or work is None else work(tab, page)
                except RenderError as error:
                    alive = self._drop(browser, tab)
                    if isinstance(error, PageTimeout) and ((alive and not self._is_patient) or last):
                        return self._failed(f"the page took too long: {error}"), None
                    # A tab or a browser may also fail for another reason: only a second failure counts as the page's.
                    if last:
                        return self._failed(f"the page could not be rendered: {error}"), None
                except BaseException:
                    self._drop(browser, tab)
                    raise
                else:
                    tab.clear()
                    with self._lock:
                        kept = browser is self._browser and tab.reusable
                        if kept:
                            self._idle.append((browser, tab))
                    if not kept:
                        tab.close()
                    self._release(browser)
                    return page, result
        raise AssertionError

    def close(self) -> None:
        """End the browser. Closing twice is harmless, and rendering again starts a new one."""
        with self._lock:
            self._idle.clear()
            browser, self._browser = self._browser, None
        if browser is not None:
            browser.close()

    def __enter__(self) -> "Renderer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failed(self, reason: str) -> RenderedPage:
        return RenderedPage({}, 0, 0, "", self.browser.version, reason)

    def _running(self) -> Browser:
        if self._browser is None or not self._browser.alive or self._n_pages >= self.limits.pages_per_browser:
            old, self._browser = self._browser, None
            self._idle.clear()
            self._n_pages = 0
            if old is not None and not self._busy.get(old):
                old.close()
            self._browser = Browser(self._executable)
        return self._browser

    def _take(self, *, alone: bool) -> tuple[Browser, Tab]:
        """Return a tab, of the shared browser or of one that nobody else uses and that ends with it."""
        own = Browser(self._executable) if alone else None
        with self._lock:
            browser = own or self._running()
            self._busy[browser] = self._busy.get(browser, 0) + 1
            if own is None:
                self._n_pages += 1
                if self._idle:
                    return self._idle.pop()
        try:
            limits = self.limits.times(10) if alone and self._is_patient else self.limits
            return browser, Tab(browser, scripts=self._scripts, assets=self._assets, limits=limits)
        except BaseException:
            self._release(browser)
            raise

    def _drop(self, browser: Browser, tab: Tab) -> bool:
        """Discard a tab. Return whether its browser still works."""
        tab.close()
        try:
            browser.send("Browser.getVersion", timeout_s=2.0)
            alive = True
        except RenderError:
            browser.close()
            alive = False
        self._release(browser)
        return alive

    def _release(self, browser: Browser) -> None:
        """Decrease a browser's number of users. A replaced browser is closed after its last user."""
        with self._lock:
            self._busy[browser] -= 1
            unused = not self._busy[browser] and browser is not self._browser
            if not self._busy[browser]:
                del self._busy[browser]
        if unused:
            browser.close()


_lock = threading.RLock()  # a lease may be garbage-collected, and thus released, while another is taken
_shared: dict[tuple[object, ...], Renderer] = {}
_n_leases: Counter[tuple[object, ...]] = Counter()


class RendererLease:
    """A lease on a renderer that all environments of a process with the same options share.

    Its browser ends when the last lease is released, by `close()` or by garbage collection. The arguments are those of
    `Renderer`.
    """

    def __init__(
        self, *, chromium: str | None = None, scripts: bool = False, assets: Mapping[str, bytes], n_tabs: int = 2
    ) -> None:
        digests = tuple(sorted((name, blake2b(body).hexdigest()) for name, body in assets.items()))
        # The key contains the process, because a forked child can't use its parent's pipes.
        key = (os.getpid(), chromium, scripts, digests, n_tabs)
        with _lock:
            if key not in _shared:
                _shared[key] = Renderer(chromium=chromium, scripts=scripts, assets=assets, n_tabs=n_tabs)
            self.renderer = _shared[key]
            _n_leases[key] += 1
        # Also runs when the interpreter ends, if the lease is still held.
        self.close = weakref.finalize(self, _give_back, key)
        """Release the lease. Releasing the last one ends the browser. Calling this twice is harmless."""


def _give_back(key: tuple[object, ...]) -> None:
    if key[0] != os.getpid():
        return  # a forked copy must not end its parent's browser
    with _lock:
        _n_leases[key] -= 1
        renderer = None if _n_leases[key] else _shared.pop(key)
    if renderer is not None:
        renderer.close()

"""A browser tab that loads a page from text, isolated from everything else.

The page gets an invented origin, so it has no access to this machine. All requests are intercepted: only the document
and the page's few assets are served, everything else is refused. The browser also resolves no host names. Scripts are
disabled by a content policy, because the browser's own switch would show the content of `noscript`.

Boxes need no picture, and drawing takes a third of the browser's time. So a tab without scripts is in a minimised
window, where nothing is drawn, except for screenshots and for pages whose layout depends on what was drawn.
"""

import base64
import json
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from iad_envs.browser.devtools import Browser
from iad_envs.browser.errors import BrowserGone, ProtocolError
from iad_envs.sketch2code.layout import KINDS, Box, page_boxes
from iad_envs.sketch2code.page import RenderedPage, RenderLimits

ORIGIN = "http://page.invalid"


class Tab:
    """A tab. Use it from one thread at a time, and discard it after an error.

    Args:
        browser: Browser in which the tab is opened.
        scripts: Whether pages may run scripts, as in the published scorer.
        assets: Files available to the page, by name.
        limits: Resource limits of a page.

    Attributes:
        session: Id of the tab in the DevTools protocol.
    """

    def __init__(self, browser: Browser, *, scripts: bool, assets: Mapping[str, bytes], limits: RenderLimits) -> None:
        self._browser = browser
        self._scripts = scripts
        self._assets = assets
        self._limits = limits
        self._collector = files(__package__).joinpath("collect.js").read_text(encoding="utf-8")
        self._document = ""
        self._body = b""
        self._clean = False
        self._clearing: Future[dict[str, Any]] | None = None
        self._world: int | None = None
        self._n_frames = 0
        self._mentioned: list[str] = []
        self._drawing = True
        # A separate context keeps process, cookies and cache apart from other tabs.
        self._context = browser.send("Target.createBrowserContext", {"disposeOnDetach": True})["browserContextId"]
        target = {"url": "about:blank", "browserContextId": self._context}
        self._target = browser.send("Target.createTarget", target)["targetId"]
        attached = browser.send("Target.attachToTarget", {"targetId": self._target, "flatten": True})
        self.session: str = attached["sessionId"]
        browser.listen(self.session, self._hear)
        viewport = {"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False}
        for method, params in (
            ("Page.enable", {}),
            ("Inspector.enable", {}),
            ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
            ("Emulation.setDeviceMetricsOverride", viewport),
        ):
            self._send(method, params)
        self._frame: str = self._send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        self._window: int | None = None
        with suppress(ProtocolError):  # a browser without windows draws every page
            self._window = browser.send("Browser.getWindowForTarget", {"targetId": self._target}).get("windowId")

    @property
    def reusable(self) -> bool:
        """Whether the tab can show another page. False with scripts, which may leave traces."""
        return not self._scripts

    def load(self, html: str, *, is_drawn: bool = False) -> None:
        """Load a page. Returns before its images and fonts are loaded.

        Args:
            html: The page.
            is_drawn: Whether the browser draws it now, as a screenshot will be taken.

        Raises:
            PageTimeout: Loading took too long.
            BrowserGone: The page crashed the tab's process.
        """
        self._mentioned = [f"{ORIGIN}/{name}" for name in self._assets if name in html]
        if self._scripts:
            self._arrive(self._navigate(html.encode()))
            return
        self.clear()
        if self._clearing is not None:
            clearing, self._clearing = self._clearing, None
            self._arrive(clearing)
        if self._world is None:
            # Made while there is no page: later it would wait until the page is drawn.
            self._make_world(timeout_s=self._limits.load_s)
        lower = html.lower()
        # Where the layout depends on what was drawn: what the first frame showed may change the second.
        self._n_frames = 2 if any(part in lower for part in ("content-visibility", "autofocus", "<marquee")) else 0
        self._draw(is_drawn or bool(self._n_frames))
        params = {"frameId": self._frame, "html": html}
        self._send("Page.setDocumentContent", params, timeout_s=self._limits.load_s)
        # The collector can't see what lingers in a shadow tree.
        self._clean = "shadowrootmode" not in lower

    def clear(self) -> None:
        """Begin to remove what the last page would leave to the next one. Does not wait: the next `load` does."""
        if not self._scripts and not self._clean and self._clearing is None:
            self._clearing = self._navigate(b"<!doctype html><title></title>")

    def collect(self) -> RenderedPage:
        """Collect the data of the loaded page that the scorer needs."""
        limits = self._limits
        next_frame = "new Promise(done => requestAnimationFrame(() => done()))"
        for _ in range(self._n_frames):
            self.evaluate(next_frame)
        collect = f"({self._collector})({limits.n_boxes}, {json.dumps(self._mentioned)})"
        found = json.loads(self.evaluate(collect))
        engine = self._browser.version
        if "too_many" in found:
            self._clean = False
            return RenderedPage(
                {}, 0, 0, "", engine, f"expected a page of at most {limits.n_boxes} components, got more"
            )
        # What stays in the document would change the look of the next page.
        self._clean = self._clean and not found["lingers"]
        width, height = found["width"], found["height"]
        if not (width and height):
            expected = f"expected a page with an area, got one of {width} by {height} pixels"
            return RenderedPage({}, width, height, found["title"], engine, expected)
        exact = {}
        for place in range(found["fragmented"]):  # elements that the script could not decide: their border boxes
            params = {"expression": f"globalThis.fragmented[{place}]", "contextId": self._world}
            element = self._send("Runtime.evaluate", params)["result"]["objectId"]
            quad = self._send("DOM.getBoxModel", {"objectId": element})["model"]["border"]
            xs, ys = quad[0::2], quad[1::2]
            exact[place] = Box(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))
        pixels = {
            kind: [exact.get(box[4], Box(*box[:4])) if len(box) > 4 else Box(*box) for box in found["kinds"][kind]]
            for kind in KINDS
        }
        return RenderedPage(page_boxes(pixels, width, height), width, height, found["title"], engine)

    def screenshot(self, size: tuple[int, int]) -> bytes:
        """Return a PNG of the document with `size` (width, height), cut off at the limit."""
        width, height = size
        limits = self._limits
        self._draw(True)
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, limits.screenshot_px), "scale": 1}
        params = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        return base64.b64decode(self._send("Page.captureScreenshot", params, timeout_s=limits.screenshot_s)["data"])

    def evaluate(self, script: str) -> Any:
        """Run a trusted script in the page and return its result."""
        timeout_s = self._limits.collect_s
        if self._world is None or self._scripts:  # a page with scripts may have replaced its document
            self._make_world(timeout_s=timeout_s)
        params = {"expression": script, "contextId": self._world, "awaitPromise": True, "returnByValue": True}
        answer = self._send("Runtime.evaluate", params, timeout_s=timeout_s)
        if "exceptionDetails" in answer:
            error_text = answer["exceptionDetails"].get("exception", {}).get("description", "no reason given")
            raise BrowserGone(f"expected the page to be measured, got an error in it: {error_text:.300}")
        return answer["result"].get("value")

    def close(self) -> None:
        """Close the tab and end its process, even if it is busy. Does not wait."""
        self._browser.listen(self.session, None)
        self._browser.post("Page.crash", session=self.session)
        self._browser.post("Target.disposeBrowserContext", {"browserContextId": self._context})
        self._browser.abandon(self.session, "the tab was closed")

    def _send(self, method: str, params: Mapping[str, Any] | None = None, *, timeout_s: float = 10.0) -> dict[str, Any]:
        return self._browser.send(method, params, session=self.session, timeout_s=timeout_s)

    def _draw(self, drawing: bool) -> None:
        """Show or minimise the tab's window. Does not wait."""
        if drawing != self._drawing and self._window is not None:
            self._drawing = drawing
            bounds = {"windowState": "normal" if drawing else "minimized"}
            self._browser.post("Browser.setWindowBounds", {"windowId": self._window, "bounds": bounds})

    def _make_world(self, *, timeout_s: float) -> None:
        world = {"frameId": self._frame, "worldName": "iad"}
        self._world = self._send("Page.createIsolatedWorld", world, timeout_s=timeout_s)["executionContextId"]

    def _navigate(self, body: bytes) -> "Future[dict[str, Any]]":
        self._body = body
        self._document = f"{ORIGIN}/"
        self._world = None  # it ends with the document
        return self._browser.post("Page.navigate", {"url": self._document}, session=self.session)

    def _arrive(self, navigation: "Future[dict[str, Any]]") -> None:
        answer = self._browser.answer_to("Page.navigate", navigation, timeout_s=self._limits.load_s)
        if answer.get("errorText"):
            raise BrowserGone(f"expected the page to be shown, got {answer['errorText']}")

    def _hear(self, event: str, params: dict[str, Any]) -> None:
        if event == "Page.javascriptDialogOpening":
            self._browser.post("Page.handleJavaScriptDialog", {"accept": False}, session=self.session)
        elif event == "Inspector.targetCrashed":
            self._browser.abandon(self.session, "the page's process crashed")
        if event != "Fetch.requestPaused":
            return
        url, kind = params["request"]["url"], params["resourceType"]
        name = urlsplit(url).path.lstrip("/")
        reply: dict[str, Any] = {"requestId": params["requestId"]}
        if url == self._document and kind == "Document":
            # Only on request: if a page reloads itself, it must not be replaced by the blank document.
            self._document = ""
            body, headers = self._body, {"Content-Type": "text/html; charset=utf-8"}
            if not self._scripts:
                forbidden = "script-src object-src frame-src worker-src connect-src manifest-src base-uri form-action"
                headers["Content-Security-Policy"] = "; ".join(f"{what} 'none'" for what in forbidden.split())
        elif url.startswith(f"{ORIGIN}/") and kind == "Image" and name in self._assets:
            suffix = name.rpartition(".")[2].lower()
            types = {"jpg": "jpeg", "jpeg": "jpeg", "png": "png", "gif": "gif", "svg": "svg+xml"}
            body, headers = self._assets[name], {"Content-Type": f"image/{types[suffix]}" if suffix in types else ""}
        else:
            # "Aborted" keeps the page. Another reason would replace it by the browser's error page.
            self._browser.post("Fetch.failRequest", {**reply, "errorReason": "Aborted"}, session=self.session)
            return
        reply["responseCode"] = 200
        reply["responseHeaders"] = [{"name": key, "value": value} for key, value in headers.items()]
        reply["body"] = base64.b64encode(body).decode()
        self._browser.post("Fetch.fulfillRequest", reply, session=self.session)

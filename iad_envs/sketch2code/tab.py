"""One tab that loads a page, from text, and can reach nothing else.

The page is put into a document of an invented origin, so nothing of this machine is near it. Every request comes here
first: the document and the page's few assets are answered, all else is refused; and the browser resolves no host name.
Scripts are off by policy, not by the switch that turns them off, which would show what is inside `noscript`.
"""

import base64
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from iad_envs.browser.devtools import Browser
from iad_envs.browser.errors import BrowserGone
from iad_envs.sketch2code.layout import KINDS, Box, page_boxes
from iad_envs.sketch2code.page import RenderedPage, RenderLimits

ORIGIN = "http://page.invalid"
VIEWPORT = (1280, 720)
POLICY = "; ".join(
    f"{what} 'none'"
    for what in (
        "script-src",
        "object-src",
        "frame-src",
        "worker-src",
        "connect-src",
        "manifest-src",
        "base-uri",
        "form-action",
    )
)
COLLECT = files(__package__).joinpath("collect.js").read_text(encoding="utf-8")
MEDIA_TYPES = {
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "svg": "image/svg+xml",
}


class Tab:
    """A tab. Used by one thread at a time; after an error it is of no more use.

    Args:
        browser: Where it is opened.
        scripts: Whether pages may run scripts, as the published scorer lets them.
        assets: Files beside the page, by name.
        limits: See `RenderLimits`.

    Attributes:
        session: Names the tab in the browser's protocol.
    """

    def __init__(self, browser: Browser, *, scripts: bool, assets: Mapping[str, bytes], limits: RenderLimits) -> None:
        self._browser = browser
        self._scripts = scripts
        self._assets = assets
        self._limits = limits
        self._document = ""
        self._body = b""
        self._clean = False
        # A context of its own keeps its process, cookies and cache apart from other tabs'.
        self._context = browser.send("Target.createBrowserContext", {"disposeOnDetach": True})["browserContextId"]
        target = {"url": "about:blank", "browserContextId": self._context}
        self._target = browser.send("Target.createTarget", target)["targetId"]
        attached = browser.send("Target.attachToTarget", {"targetId": self._target, "flatten": True})
        self.session: str = attached["sessionId"]
        browser.listen(self.session, self._hear)
        width, height = VIEWPORT
        for method, params in (
            ("Page.enable", {}),
            ("Inspector.enable", {}),
            ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
            (
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
            ),
        ):
            self._send(method, params)
        self._frame: str = self._send("Page.getFrameTree")["frameTree"]["frame"]["id"]

    @property
    def reusable(self) -> bool:
        """Whether it can show another page: a script may leave something behind in it."""
        return not self._scripts

    def load(self, html: str) -> None:
        """Show a page; returns before its images and fonts are there.

        Raises:
            PageTimeout: It took too long.
            BrowserGone: It took the tab's process down.
        """
        if self._scripts:
            self._navigate(html.encode())
            return
        if not self._clean:
            self._navigate(b"<!doctype html><title></title>")
            self._clean = True
        params = {"frameId": self._frame, "html": html}
        self._send("Page.setDocumentContent", params, timeout_s=self._limits.load_s)

    def collect(self) -> RenderedPage:
        """Return what the scorer needs to know of the page that was loaded."""
        limits = self._limits
        found = json.loads(self._evaluate(f"({COLLECT})({limits.n_boxes})", timeout_s=limits.collect_s))
        engine = self._browser.version
        if "too_many" in found:
            self._clean = False
            return RenderedPage(
                {}, 0, 0, "", engine, f"expected a page of at most {limits.n_boxes} components, got more"
            )
        # A document's own policy outlives it here, and would change how the next page looks.
        self._clean = self._clean and not found["own_policy"]
        exact = self._box_models(found["fragmented"])
        pixels = {
            kind: [exact.get(box[4], Box(*box[:4])) if len(box) > 4 else Box(*box) for box in found["kinds"][kind]]
            for kind in KINDS
        }
        width, height = found["width"], found["height"]
        return RenderedPage(page_boxes(pixels, width, height), width, height, found["title"], engine)

    def screenshot(self, size: tuple[int, int]) -> bytes:
        """Return a PNG of the document's `size` (width, height), cut off at the limit."""
        width, height = size
        limits = self._limits
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, limits.screenshot_px), "scale": 1}
        params = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        return base64.b64decode(self._send("Page.captureScreenshot", params, timeout_s=limits.screenshot_s)["data"])

    def evaluate(self, script: str) -> Any:
        """Return what a script of ours says of the page."""
        return self._evaluate(script, timeout_s=self._limits.collect_s)

    def close(self) -> None:
        """Close the tab and end its process, busy or not; does not wait."""
        self._browser.listen(self.session, None)
        self._browser.post("Page.crash", session=self.session)
        self._browser.post("Target.disposeBrowserContext", {"browserContextId": self._context})
        self._browser.abandon(self.session, "the tab was closed")

    def _send(self, method: str, params: Mapping[str, Any] | None = None, *, timeout_s: float = 10.0) -> dict[str, Any]:
        return self._browser.send(method, params, session=self.session, timeout_s=timeout_s)

    def _evaluate(self, expression: str, *, timeout_s: float) -> Any:
        world = self._send(
            "Page.createIsolatedWorld", {"frameId": self._frame, "worldName": "iad"}, timeout_s=timeout_s
        )
        self._world = world["executionContextId"]
        params = {
            "expression": expression,
            "contextId": self._world,
            "awaitPromise": True,
            "returnByValue": True,
        }
        answer = self._send("Runtime.evaluate", params, timeout_s=timeout_s)
        if "exceptionDetails" in answer:
            said = answer["exceptionDetails"].get("exception", {}).get("description", "no reason given")
            raise BrowserGone(f"expected the page to be measured, got an error in it: {said:.300}")
        return answer["result"].get("value")

    def _box_models(self, n: int) -> dict[int, Box]:
        """Return the border boxes of the elements that the collector was unsure of."""
        models = {}
        for place in range(n):
            params = {"expression": f"globalThis.fragmented[{place}]", "contextId": self._world}
            element = self._send("Runtime.evaluate", params)["result"]["objectId"]
            quad = self._send("DOM.getBoxModel", {"objectId": element})["model"]["border"]
            xs, ys = quad[0::2], quad[1::2]
            models[place] = Box(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))
        return models

    def _navigate(self, body: bytes) -> None:
        self._body = body
        self._document = f"{ORIGIN}/"
        answer = self._send("Page.navigate", {"url": self._document}, timeout_s=self._limits.load_s)
        if answer.get("errorText"):
            raise BrowserGone(f"expected the page to be shown, got {answer['errorText']}")

    def _hear(self, event: str, params: dict[str, Any]) -> None:
        if event == "Fetch.requestPaused":
            self._answer(params)
        elif event == "Page.javascriptDialogOpening":
            self._browser.post("Page.handleJavaScriptDialog", {"accept": False}, session=self.session)
        elif event == "Inspector.targetCrashed":
            self._browser.abandon(self.session, "the page's process crashed")

    def _answer(self, paused: dict[str, Any]) -> None:
        url, kind = paused["request"]["url"], paused["resourceType"]
        reply: dict[str, Any] = {"requestId": paused["requestId"]}
        if url == self._document and kind == "Document":
            # Only when we asked: a page that reloads itself must not become our blank document.
            self._document = ""
            headers = {"Content-Type": "text/html; charset=utf-8"}
            if not self._scripts:
                headers["Content-Security-Policy"] = POLICY
            self._fulfil(reply, self._body, headers)
            return
        asset = self._asset(url)
        if asset is not None and kind == "Image":
            name, body = asset
            self._fulfil(reply, body, {"Content-Type": MEDIA_TYPES.get(name.rpartition(".")[2].lower(), "")})
            return
        # Aborted leaves the page as it is; another reason would replace it with the browser's error page.
        reply["errorReason"] = "Aborted"
        self._browser.post("Fetch.failRequest", reply, session=self.session)

    def _asset(self, url: str) -> tuple[str, bytes] | None:
        name = urlsplit(url).path.lstrip("/")
        return (name, self._assets[name]) if url.startswith(f"{ORIGIN}/") and name in self._assets else None

    def _fulfil(self, reply: dict[str, Any], body: bytes, headers: Mapping[str, str]) -> None:
        reply["responseCode"] = 200
        reply["responseHeaders"] = [{"name": name, "value": value} for name, value in headers.items()]
        reply["body"] = base64.b64encode(body).decode()
        self._browser.post("Fetch.fulfillRequest", reply, session=self.session)

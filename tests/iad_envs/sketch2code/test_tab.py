"""A tab draws nothing unless it must. What it measures is as if it had drawn, and what it refuses stays refused."""

import base64
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from iad_envs.browser.devtools import Browser
from iad_envs.browser.errors import ProtocolError
from iad_envs.sketch2code.page import RenderedPage, RenderLimits
from iad_envs.sketch2code.tab import Tab
from tests.browser import Browsers
from tests.effort import some
from tests.iad_envs.sketch2code.sketch_pages import GIF, PAGE

MONOSPACED = next(Path("/usr/share/fonts").rglob("LiberationMono-Regular.ttf"), None)
FONT = f"data:font/ttf;base64,{base64.b64encode(MONOSPACED.read_bytes()).decode() if MONOSPACED else ''}"
PARAGRAPHS = "".join(f"<p>paragraph {number}</p>" for number in range(60))
PARTS = {
    "PARAGRAPHS": PARAGRAPHS, "DIVISIONS": f"<div>{PARAGRAPHS}</div>" * 5, "FONT": FONT,
    "MOVES": "@keyframes move { from { margin-left: 100px } to { margin-left: 500px } }",
}  # fmt: skip
FILE = tomllib.loads(Path(__file__).with_name("tab_pages.toml").read_text(encoding="utf-8"))


def whole(page: str) -> str:
    return re.sub("|".join(PARTS), lambda found: PARTS[found[0]], page)


PAGES = {
    "plain": PAGE.format(title="Tea", width=300),
    **{name: whole(one) for name, one in FILE["drawn_or_not"].items()},
}
LATE = {name: whole(one) for name, one in FILE["late"].items()}


class Drawing(Tab):
    """Draws every page, and measures it after some frames."""

    def _draw(self, drawing: bool) -> None:
        pass

    def collect(self) -> RenderedPage:
        for _ in range(3):
            self.evaluate("new Promise(done => requestAnimationFrame(() => done()))")
        return super().collect()


@pytest.fixture(scope="module")
def browser(browsers: Browsers) -> Browser:
    return browsers.chromium


def opened(kind: type[Tab], browser: Any) -> Any:
    return kind(browser, scripts=False, assets={"rick.jpg": GIF}, limits=RenderLimits())


def measured(html: str, browser: Any) -> RenderedPage:
    """Measure a page in a new tab, where nothing is cached. That costs a process."""
    tab = opened(Tab, browser)
    tab.load(html)
    page: RenderedPage = tab.collect()
    tab.close()
    return page


def test_pages_have_the_same_boxes_drawn_or_not_and_what_arrives_late_is_waited_for(browser: Browser) -> None:
    tab, drawing = opened(Tab, browser), opened(Drawing, browser)
    for name in (*PAGES, *some([*LATE], 2)):
        html = (PAGES | LATE)[name]
        for one in (tab, drawing) if name in PAGES else (drawing,):
            one.load(html)
        page, wanted = tab.collect() if name in PAGES else measured(html, browser), drawing.collect()
        assert page == wanted, name
        assert any(page.boxes.values()), name
    tab.close()
    drawing.close()


@pytest.mark.skipif(MONOSPACED is None, reason="no monospaced font is installed")
def test_a_font_in_the_page_is_used(browser: Browser) -> None:
    with_font, without = (measured(html, browser) for html in (LATE["font"], "<a>words</a>"))
    assert with_font.boxes["text_block"] != without.boxes["text_block"]


def test_only_what_needs_it_is_drawn(browser: Browser) -> None:
    tab, state = opened(Tab, browser), "document.visibilityState"
    for name, seen in (("plain", "hidden"), ("focus", "visible"), ("plain", "hidden")):
        tab.load(PAGES[name])
        page = tab.collect()
        assert tab.evaluate(state) == seen
    tab.load(PAGES["plain"], is_drawn=True)
    assert tab.evaluate(state) == "visible"
    tab.load(PAGES["plain"])
    assert tab.screenshot((page.width, page.height)).startswith(b"\x89PNG")
    tab.close()


def test_a_screenshot_is_the_same_whether_the_page_was_drawn_before(browser: Browser) -> None:
    shots = []
    for kind in (Tab, Drawing):
        tab = opened(kind, browser)
        for name in ("sticky", "plain"):
            tab.load(PAGES[name])
            page = tab.collect()
            shots.append(tab.screenshot((page.width, page.height)))
        tab.close()
    assert shots[:2] == shots[2:]


def test_a_browser_without_windows_draws(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    send = browser.send

    def without_windows(method: str, *given: Any, **options: Any) -> dict[str, Any]:
        if method == "Browser.getWindowForTarget":
            raise ProtocolError("the browser refused: 'Browser.getWindowForTarget' wasn't found")
        return send(method, *given, **options)

    monkeypatch.setattr(browser, "send", without_windows)
    tab = opened(Tab, browser)
    tab.load(PAGES["plain"])
    assert tab.collect().boxes["image"]
    assert tab.evaluate("document.visibilityState") == "visible"
    tab.close()

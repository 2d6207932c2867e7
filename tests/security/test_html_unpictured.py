"""A page that can't be photographed has failed with the reason; neither the run nor another page pays for it."""

from pathlib import Path
from typing import Any, Literal

import pytest

from iad_envs.browser.errors import BrowserGone
from iad_envs.sketch2code.blocks import text_blocks
from iad_envs.sketch2code.page import RenderedPage, RenderLimits
from iad_envs.sketch2code.renderer import Renderer, photographed
from iad_envs.sketch2code.tab import Tab
from iad_envs.sketch2code.visual import VisualScore, visual_score
from tests.browser import Browsers, living
from tests.iad_envs.browser.fake_chromium import HARMFUL, make_chromium
from tests.security.attacks import PAGES
from tests.waiting import until

GOOD = "<p>good</p>"
PATIENT = RenderLimits(load_s=30.0, collect_s=30.0, screenshot_s=30.0)
HASTY = PATIENT._replace(screenshot_s=0.1)
WITHOUT_A_SIZE = "<html style='display:none'><p>words</p>"


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        (WITHOUT_A_SIZE, "expected a page with an area, got one of 0 by 0 pixels"),
        pytest.param(PAGES["lingering"]["too large for a picture"], "the browser refused", marks=pytest.mark.slow),
    ],
)
def test_the_page_has_failed_and_the_next_one_has_not(html: str, reason: str, browsers: Browsers) -> None:
    with browsers.renderer(limits=PATIENT, n_tabs=1) as renderer:
        before = renderer.run(GOOD, None)[0]
        page, shot = renderer.run(html, photographed)
        assert shot is None
        assert reason in page.failure
        assert renderer.run(GOOD, None)[0] == before


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("refuses", "could not be rendered: the browser refused: Unable to capture screenshot"),
        ("hangs", "took too long: expected an answer to Page.captureScreenshot"),
        ("ends", "could not be rendered: the browser ended by itself"),
    ],
)
def test_whatever_the_browser_does_is_the_pages_failure(
    how: Literal["refuses", "hangs", "ends"], reason: str, tmp_path: Path
) -> None:
    with Renderer(chromium=make_chromium(tmp_path, how), limits=HASTY) as renderer:
        page, shot = renderer.run(HARMFUL, photographed)
        assert shot is None
        assert reason in page.failure
        assert not renderer.page(HARMFUL).failure
        assert not renderer.page(GOOD).failure
    assert until(lambda: not living(mentioning=str(tmp_path)))


def test_a_browser_that_never_starts_is_nobodys_failure(tmp_path: Path) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken.chmod(0o700)
    with Renderer(chromium=str(broken)) as renderer, pytest.raises(BrowserGone, match=r"expected .* to start"):
        renderer.page(GOOD)


def test_neither_a_page_beside_a_harmful_one_nor_another_tab_is_blamed(tmp_path: Path) -> None:
    tabs: list[Any] = []
    with Renderer(chromium=make_chromium(tmp_path, "ends"), n_tabs=2) as renderer:

        def beside(tab: Tab, page: RenderedPage) -> bytes:
            assert renderer.run(HARMFUL, photographed)[0].failure
            return photographed(tab, page)

        def fails(tab: Tab, page: RenderedPage) -> None:
            tabs.append(tab.session)
            raise ZeroDivisionError

        page, shot = renderer.run(GOOD, beside)
        assert not page.failure
        assert shot is not None
        with pytest.raises(ZeroDivisionError):
            renderer.run(GOOD, fails)
        assert renderer.run(GOOD, lambda tab, page: tab.session)[1] not in tabs


def test_the_visual_metrics_are_0_for_such_a_candidate_and_refuse_such_a_reference(tmp_path: Path) -> None:
    with Renderer(chromium=make_chromium(tmp_path, "refuses")) as renderer:
        assert text_blocks(renderer, HARMFUL)[0].failure
        assert visual_score(renderer, GOOD, HARMFUL) == VisualScore(0.0, 0.0, 0.0, 0.0)
        with pytest.raises(ValueError, match=r"expected a reference that can be photographed.*Unable to capture"):
            visual_score(renderer, HARMFUL, GOOD)

"""Nothing of a page reaches the next one in its tab: pictures of a sensitive page stay the same to the byte."""

from collections.abc import Iterator
from random import Random

import pytest

from iad_envs.sketch2code.page import RenderLimits
from iad_envs.sketch2code.renderer import Renderer, photographed
from tests.browser import Browsers
from tests.effort import some
from tests.iad_envs.sketch2code.sketch_pages import GIF
from tests.security.attacks import PAGES

LINGERING, SENSITIVE = PAGES["lingering"], PAGES["sensitive"]
PATIENT = RenderLimits(load_s=30.0, collect_s=30.0, screenshot_s=30.0)
ORDINARY = (
    "<!doctype html><html><head><meta charset=utf-8><meta http-equiv=X-UA-Compatible content='IE=edge'><title>t</title>"
    "<meta name=viewport content='width=device-width'><meta name=twitter:card content=x>"
    "<meta property=og:type content=x><meta name=theme-color content=red><link rel=icon href=x></head><body><p>words"
)


def picture(renderer: Renderer, html: str) -> bytes | None:
    return renderer.run(html, photographed)[1]


@pytest.fixture(scope="module")
def renderer(browsers: Browsers) -> Iterator[Renderer]:
    """With one tab, so that every page follows another in it."""
    with browsers.renderer(assets={"rick.jpg": GIF}, limits=PATIENT, n_tabs=1) as made:
        yield made


def test_no_page_reaches_the_next(renderer: Renderer) -> None:
    before = picture(renderer, SENSITIVE)
    assert before is not None
    names = list(LINGERING)
    Random(0).shuffle(names)
    changed = []
    for name in {*some(names, 8), *(name for name in names if "shadow" in name)}:
        renderer.run(LINGERING[name], lambda tab, page: None)  # which draws it
        if picture(renderer, SENSITIVE) != before:
            changed.append(name)
    assert changed == []


def test_pages_after_dark_ones_stay_light(renderer: Renderer) -> None:
    before = picture(renderer, ORDINARY)
    dark = [html for name, html in LINGERING.items() if name.startswith("dark")]
    assert len(dark) > 5
    for html in dark:
        renderer.run(html, lambda tab, page: None)
        assert picture(renderer, ORDINARY) == before, html


def test_no_script_reaches_the_next_page(browsers: Browsers) -> None:
    html = "<body><p>words</p>" + "".join(f"<script>{script}</script>" for script in PAGES["scripted"].values())
    with browsers.renderer(scripts=True, assets={"rick.jpg": GIF}, limits=PATIENT, n_tabs=1) as scripted:
        before = picture(scripted, SENSITIVE)
        assert before is not None
        scripted.run(html, lambda tab, page: None)
        assert picture(scripted, SENSITIVE) == before


def test_only_a_page_that_lingers_costs_a_new_document(renderer: Renderer) -> None:
    def document(html: str) -> float:
        started: float | None = renderer.run(html, lambda tab, page: tab.evaluate("performance.timeOrigin"))[1]
        assert started is not None
        return started

    first = document(ORDINARY)
    assert document(ORDINARY) == document(LINGERING["dark by meta"]) == first
    assert document(ORDINARY) > first

"""Measures IAD/Sketch2Code-v0: speed compared with the published scorer, and memory.

It uses the real pages if IAD_REAL_DATA names a folder with `sketch2code/`, and the bundled pages otherwise. `--full`
uses more pages.
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from reference import Reference
from support.bundled import bundled_tasks
from support.figures import FULL, figure, timed

import iad_envs  # noqa: F401 (registers)
from iad_envs.browser.devtools import Browser, find_chromium
from iad_envs.data import data_folder
from iad_envs.sketch2code.layout import KINDS, Box, page_boxes, score_layout
from iad_envs.sketch2code.page import RenderLimits, score_pages
from iad_envs.sketch2code.renderer import Renderer
from iad_envs.sketch2code.tab import Tab
from iad_envs.sketch2code.tasks import load_assets, load_tasks

N_PAIRS = 20
SELECTORS = {
    "video": "video",
    "image": "img",
    "text_block": "p, span, a, strong, h1, h2, h3, h4, h5, h6, li, th, td, label, code, pre, div",
    "form_table": "form, table, div.form",
    "button": "button, input[type=button], input[type=submit], [role=button]",
    "nav_bar": "nav, [role=navigation], .navbar, .nav, .navigation, .menu, #menu, #nav, #navigation, #navbar",
    "divider": "hr, [class*=separator], [class*=divider], #separator, #divider, [role=separator]",
}
IS_VISIBLE = """function() {
  const box = this.getBoundingClientRect();
  return this.checkVisibility() && getComputedStyle(this).visibility === "visible" && box.width > 0 && box.height > 0;
}"""
HAS_OWN_TEXT = """function() {
  return this.textContent.trim() && (this.localName !== "div" ||
    [...this.childNodes].some(node => node.nodeType === 3 && node.data.trim()));
}"""


def published_boxes(html: str, assets: Mapping[str, bytes]) -> Mapping[str, Sequence[Box]]:
    """Return a page's boxes as the published scorer gets them: with a new browser and one call per element."""
    browser = Browser(find_chromium())
    try:
        tab = Tab(browser, scripts=True, assets=assets, limits=RenderLimits())
        tab.load(html)
        width, height = tab.evaluate(
            "new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done)).then("
            "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight])"
        )
        tab.screenshot((width, height))
        pixels = {kind: elements(browser, tab.session, kind) for kind in KINDS}
        return page_boxes(pixels, width, height)
    finally:
        browser.close()


def elements(browser: Browser, session: str, kind: str) -> list[Box]:
    def ask(method: str, **params: Any) -> dict[str, Any]:
        return browser.send(method, params, session=session)

    found = []
    root = ask("DOM.getDocument", depth=0)["root"]["nodeId"]
    for node in ask("DOM.querySelectorAll", nodeId=root, selector=SELECTORS[kind])["nodeIds"]:
        element = ask("DOM.resolveNode", nodeId=node)["object"]["objectId"]
        questions = (HAS_OWN_TEXT, IS_VISIBLE) if kind == "text_block" else (IS_VISIBLE,)
        answers = (
            ask("Runtime.callFunctionOn", objectId=element, functionDeclaration=question, returnByValue=True)
            for question in questions
        )
        if all(answer["result"]["value"] for answer in answers):
            quad = ask("DOM.getBoxModel", objectId=element)["model"]["border"]
            xs, ys = quad[0::2], quad[1::2]
            found.append(Box(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)))
    return found


def pairs(pages: list[str], assets: Mapping[str, bytes]) -> None:
    """Print the time of scoring two pages, as published and here, and how far the scores are apart."""
    published, ours, ratios, off = [], [], [], []
    with Renderer(assets=assets) as renderer, ThreadPoolExecutor(2) as pool:
        list(pool.map(renderer.page, pages[-2:]))  # starts the browser and its tabs before the measurement
        for place in range(N_PAIRS):
            one, other = pages[place % len(pages)], pages[(place * 7 + 3) % len(pages)]
            new = [f"{html}<!-- pair {place} -->" for html in (one, other)]  # a page of an earlier pair is cached
            start = perf_counter()
            theirs = [published_boxes(html, assets) for html in (one, other)]
            slow = perf_counter() - start
            start = perf_counter()
            score = score_pages(*pool.map(renderer.page, new))
            fast = perf_counter() - start
            published.append(slow)
            ours.append(fast)
            ratios.append(slow / fast)
            off.append(abs(score_layout(*theirs).layout - score.layout))
    figure("pair_ms", 1000 * median(ours), "ms", n=N_PAIRS, baseline=1000 * median(published))
    figure("pair_ratio", median(ratios), "x", n=N_PAIRS, target=50, better="higher")
    figure("pair_difference", max(off), "score", n=N_PAIRS, target=1e-6)


def speed(pages: list[str], assets: Mapping[str, bytes], reference: Reference) -> None:
    times, rates = [], []
    with Renderer(assets=assets) as renderer, ThreadPoolExecutor(2) as pool:
        references = [renderer.page(html) for html in pages]
        for place, html in enumerate(pages):
            if place % max(1, len(pages) // 5) == 0:
                reference.sample()
            # A comment makes the page a new one, so nothing is cached.
            new = f"{html}<!-- candidate -->"
            times.append(timed(lambda: score_pages(references[place - 1], renderer.page(new))))  # noqa: B023
        for _ in range(3):
            reference.sample()
            taken = timed(lambda: list(pool.map(lambda html: renderer.run(html, None), pages)))
            rates.append(len(pages) / taken)
    reference.figure("candidate_ms", 1000 * median(times), "ms", n=len(times), target=60)
    reference.figure("pages_per_s", median(rates), "pages/s", n=3 * len(pages), target=30)


def main() -> None:
    real = os.environ.get("IAD_REAL_DATA")
    folder = data_folder("sketch2code", Path(real) / "sketch2code" if real else None)
    sources = list(dict.fromkeys(task.page for task in load_tasks(folder).values()))
    pages = [source.read_bytes().decode("utf-8", "replace") for source in sources]
    assets = load_assets(folder)
    pairs(pages, assets)
    reference = Reference()
    speed(pages, assets, reference)
    reference.report()
    if FULL:
        bundled_tasks("IAD/Sketch2Code-v0", "sketch2code", None)


if __name__ == "__main__":
    main()

"""Measures IAD/Sketch2Code-v0: speed compared with the published scorer, memory, and the proxy verifier's quality.

It uses the real pages if IAD_REAL_DATA names a folder with `sketch2code/`, and the bundled pages otherwise. `--full`
uses more pages.
"""

import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean, median
from typing import Any

import gymnasium as gym
import numpy as np
from reference import Reference
from support.bundled import bundled_tasks
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_envs.browser.devtools import Browser, find_chromium
from iad_envs.data import data_folder
from iad_envs.sketch2code.layout import KINDS, Box, page_boxes, score_layout
from iad_envs.sketch2code.page import RenderLimits, score_pages
from iad_envs.sketch2code.policy.verifier import Sketch2CodeVerifier
from iad_envs.sketch2code.renderer import Renderer
from iad_envs.sketch2code.tab import Tab
from iad_envs.sketch2code.tasks import load_assets, load_tasks
from iad_policy.types import Candidate, State

FULL = "--full" in sys.argv
N_PAIRS = 20
N_PAGES = 2_000 if FULL else 300
N_TASKS = 40 if FULL else 8
IDLE_S = 0.1
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
TEXT = "function() { return this.textContent.trim() }"
HAS_OWN_TEXT = """function() {
  return this.localName !== "div" || [...this.childNodes].some(node => node.nodeType === 3 && node.data.trim());
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

    def call(element: str, function: str) -> Any:
        answer = ask("Runtime.callFunctionOn", objectId=element, functionDeclaration=function, returnByValue=True)
        return answer["result"]["value"]

    root = ask("DOM.getDocument", depth=0)["root"]["nodeId"]
    found = []
    for node in ask("DOM.querySelectorAll", nodeId=root, selector=SELECTORS[kind])["nodeIds"]:
        element = ask("DOM.resolveNode", nodeId=node)["object"]["objectId"]
        if kind == "text_block" and not (call(element, HAS_OWN_TEXT) and call(element, TEXT)):
            continue
        if call(element, IS_VISIBLE):
            quad = ask("DOM.getBoxModel", objectId=element)["model"]["border"]
            xs, ys = quad[0::2], quad[1::2]
            found.append(Box(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)))
    return found


def timed(work: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def pairs(pages: list[str], assets: Mapping[str, bytes]) -> None:
    chosen = [(pages[place % len(pages)], pages[(place * 7 + 3) % len(pages)]) for place in range(N_PAIRS)]
    published, ours, ratios, off = [], [], [], []
    with (
        Renderer(scripts=True, assets=assets) as exact,
        Renderer(assets=assets) as renderer,
        ThreadPoolExecutor(2) as pool,
    ):
        list(pool.map(renderer.page, pages[-2:]))  # starts the browser and its tabs before the measurement
        for place, (one, other) in enumerate(chosen):
            new = [f"{html}<!-- pair {place} -->" for html in (one, other)]  # a page of an earlier pair is cached
            slow, theirs = timed(lambda: [published_boxes(html, assets) for html in (one, other)])  # noqa: B023
            fast, score = timed(lambda: score_pages(*pool.map(renderer.page, new)))  # noqa: B023
            same = score_pages(exact.page(one), exact.page(other)).layout
            published.append(slow)
            ours.append(fast)
            ratios.append(slow / fast)
            off.append(max(abs(score_layout(*theirs).layout - value) for value in (score.layout, same)))
    figure("pair_ms", 1000 * median(ours), "ms", n=N_PAIRS, baseline=1000 * median(published))
    figure("pair_ratio", median(ratios), "x", n=N_PAIRS, target=50, better="higher")
    figure("pair_difference", max(off), "score", n=N_PAIRS, target=1e-6)


def split(pages: list[str], assets: Mapping[str, bytes]) -> None:
    """Print where the time of a pair goes: for the published scorer the start of a browser, for ours a page's parts.

    The browser parses the page while it loads, and lays it out when it is asked for the boxes. Neither can be left out,
    so they are the least that a page takes. What we compute from the boxes is the rest.
    """
    starts = []
    for _ in range(3):
        start, browser = timed(lambda: Browser(find_chromium()))
        end, _ = timed(browser.close)
        starts.append(start + end)
    parts: dict[str, list[float]] = {"page_load_ms": [], "page_boxes_ms": [], "score_ms": []}
    browser = Browser(find_chromium())
    try:
        tab = Tab(browser, scripts=False, assets=assets, limits=RenderLimits())
        for html in pages:
            parts["page_load_ms"].append(timed(lambda: tab.load(html))[0])  # noqa: B023
            taken, page = timed(tab.collect)
            parts["page_boxes_ms"].append(taken)
            parts["score_ms"].append(timed(lambda: score_pages(page, page))[0])  # noqa: B023
            tab.clear()
            time.sleep(IDLE_S)  # between two candidates an agent takes longer
    finally:
        browser.close()
    figure("published_browser_ms", 1000 * median(starts), "ms", n=len(starts))
    for name, times in parts.items():
        figure(name, 1000 * median(times), "ms", n=len(times))


def speed(pages: list[str], assets: Mapping[str, bytes], reference: Reference) -> None:
    with Renderer(assets=assets) as renderer:
        references = [renderer.page(html) for html in pages]
        times = []
        for place, html in enumerate(pages):
            if place % max(1, len(pages) // 5) == 0:
                reference.sample()
            # A comment makes the page a new one, so nothing is cached.
            candidate = f"{html}<!-- candidate -->"
            taken, _ = timed(lambda: score_pages(references[place - 1], renderer.page(candidate)))  # noqa: B023
            times.append(taken)
        reference.figure("candidate_ms", 1000 * median(times), "ms", n=len(times), target=60)
        shots = [timed(lambda: renderer.screenshot(html))[0] for html in pages[:10]]  # noqa: B023
        figure("screenshot_ms", 1000 * median(shots), "ms", n=len(shots))
        with ThreadPoolExecutor(2) as pool:
            rates = []
            for _ in range(3):
                reference.sample()
                taken, _ = timed(lambda: list(pool.map(lambda html: renderer.run(html, None), pages)))
                rates.append(len(pages) / taken)
        reference.figure("pages_per_s", median(rates), "pages/s", n=3 * len(pages), target=30)


def memory(pages: list[str], assets: Mapping[str, bytes]) -> None:
    with Renderer(assets=assets, limits=RenderLimits(pages_per_browser=N_PAGES + 1_000)) as renderer:
        for html in pages:
            renderer.run(html, None)
        before = held_mb(renderer.browser.process_group)
        for place in range(N_PAGES):
            renderer.run(pages[place % len(pages)], None)
        after = held_mb(renderer.browser.process_group)
    figure("memory_mb", after, "MB", n=N_PAGES)
    figure("memory_growth_mb", after - before, "MB", n=N_PAGES, target=100)


def held_mb(group: int) -> float:
    """Return the memory of a process group, where shared memory counts once."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[2]) == group:
                lines = (folder / "smaps_rollup").read_text().splitlines()
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return total / 1024


def distorted(boxes: Mapping[str, Sequence[Sequence[float]]], level: float, rng: random.Random) -> str:
    """Return a page with the reference's components moved, resized and left out, more so at higher levels."""
    tags = {
        "image": '<img src="rick.jpg" style="{}">',
        "video": '<video style="{}"></video>',
        "form_table": '<form style="{}"></form>',
        "nav_bar": '<nav style="{}"></nav>',
        "divider": '<hr style="margin:0;{}">',
        "button": '<button style="{}"></button>',
        "text_block": '<p style="margin:0;overflow:hidden;{}">words</p>',
    }
    parts = []
    for kind, of_kind in boxes.items():
        for x, y, w, h in of_kind:
            if rng.random() < level / 2:
                continue
            x, y = (1280 * (x + rng.gauss(0, 0.08 * level)), 1600 * (y + rng.gauss(0, 0.08 * level)))
            w, h = (1280 * w * max(0.2, rng.gauss(1, 0.6 * level)), 1600 * h * max(0.2, rng.gauss(1, 0.6 * level)))
            style = f"position:absolute;left:{x:.0f}px;top:{y:.0f}px;width:{w:.0f}px;height:{h:.0f}px"
            parts.append(tags[kind].format(style))
    body = "".join(parts)
    return f'<!DOCTYPE html><html><body style="margin:0;height:1600px;position:relative">{body}</body></html>'


def proxy(env: Any) -> None:
    """Print how well the proxy verifier ranks candidates from the sketch alone."""
    rng = random.Random(0)
    correlations, times = [], []
    task_ids = env.task_ids
    for task_id in task_ids[:: max(1, len(task_ids) // N_TASKS)][:N_TASKS]:
        observation, info = env.reset(options={"task_id": task_id})
        token, state = env.snapshot(), State(observation, info)
        boxes = env.oracle(token)["reference"]["page"]["boxes"]
        scores, layouts = [], []
        for level in (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0):
            outcome = env.simulate(token, distorted(boxes, level, rng))
            preview = State(outcome.observation, outcome.info, done=outcome.done)
            taken, (verdict,) = timed(lambda: Sketch2CodeVerifier().verify(state, [Candidate("", preview=preview)]))  # noqa: B023
            times.append(taken)
            scores.append(verdict.score)
            layouts.append(env.oracle(outcome.token)["reward_parts"]["layout"])
        ranks = [np.argsort(np.argsort(values)) for values in (scores, layouts)]
        correlations.append(float(np.corrcoef(*ranks)[0, 1]))
    figure("proxy_ms", 1000 * median(times), "ms", n=len(times))
    figure("proxy_rank_correlation", fmean(correlations), "rho", n=len(correlations), better="higher")


def main() -> None:
    real = os.environ.get("IAD_REAL_DATA")
    folder = data_folder("sketch2code", Path(real) / "sketch2code" if real else None)
    sources = list(dict.fromkeys(task.page for task in load_tasks(folder).values()))
    pages = [source.read_bytes().decode("utf-8", "replace") for source in sources]
    assets = load_assets(folder)
    pairs(pages, assets)
    split(pages, assets)
    reference = Reference()
    speed(pages, assets, reference)
    reference.report()
    memory(pages, assets)
    env = gym.make("IAD/Sketch2Code-v0", data_dir=folder, split=None)
    proxy(env.unwrapped)
    env.close()
    if "--full" in sys.argv[1:]:
        bundled_tasks("IAD/Sketch2Code-v0", "sketch2code", "tracer")


if __name__ == "__main__":
    main()

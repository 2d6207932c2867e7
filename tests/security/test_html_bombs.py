"""A page that harms the browser, or can't be photographed, scores 0 and says why; no other page pays for it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest

from iad_envs.browser.devtools import find_chromium
from iad_envs.browser.errors import BrowserGone
from iad_envs.sketch2code.blocks import text_blocks
from iad_envs.sketch2code.page import RenderedPage, RenderLimits, score_pages
from iad_envs.sketch2code.renderer import Renderer, photographed
from iad_envs.sketch2code.tab import Tab
from iad_envs.sketch2code.visual import VisualScore, visual_score
from tests.browser import Browsers, living, without_chromium
from tests.iad_envs.browser.fake_chromium import HARMFUL, make_chromium
from tests.security.attacks import PAGES
from tests.waiting import until

GOOD = (
    "<!doctype html><body><h1>Title</h1><p>Some words.</p><img src='x' width=200 height=100><noscript>hidden</noscript>"
)
FAST = RenderLimits(load_s=1.5, collect_s=1.5)
PATIENT = RenderLimits(load_s=30.0, collect_s=30.0, screenshot_s=30.0)
"""With time enough on a busy machine."""
BOMBS, SCRIPT_BOMBS = PAGES["bombs"], PAGES["script_bombs"]
HARMLESS = {**PAGES["harmless"], "half a surrogate pair": "<p>\ud83d words</p>"}


@pytest.fixture(scope="module")
def renderer(browsers: Browsers) -> Iterator[Renderer]:
    with browsers.renderer(limits=FAST) as made:
        yield made


@pytest.fixture(scope="module")
def patient(browsers: Browsers) -> Iterator[Renderer]:
    with browsers.renderer(limits=PATIENT) as made:
        yield made


@pytest.fixture(scope="module")
def scripted(browsers: Browsers) -> Iterator[Renderer]:
    with browsers.renderer(scripts=True, limits=FAST) as made:
        yield made


@pytest.fixture(scope="module")
def good(patient: Renderer) -> RenderedPage:
    return patient.page(GOOD)


def is_unharmed(renderer: Renderer, good: RenderedPage) -> bool:
    return renderer.run(GOOD, None)[0] == good


@pytest.mark.parametrize(
    ("bomb", "reason"),
    [
        ("an svg that uses itself a million times", "too long"),
        ("more components than allowed", "components"),
        ("5 MB of HTML", "bytes"),
        ("an endless loop", "too long"),
        pytest.param("200,000 elements", "", marks=pytest.mark.slow),
        pytest.param("a memory bomb", "", marks=pytest.mark.slow),
    ],
)
def test_a_bomb_scores_0_with_the_reason(
    bomb: str, reason: str, renderer: Renderer, patient: Renderer, scripted: Renderer, good: RenderedPage
) -> None:
    bombed = patient if reason == "components" else renderer if bomb in BOMBS else scripted
    page = bombed.page((BOMBS | SCRIPT_BOMBS)[bomb])
    assert page.failure
    assert reason in page.failure
    assert score_pages(good, page).layout == 0.0
    assert is_unharmed(bombed, good)


def test_a_page_that_crashes_fails_alone_and_threads_share_the_tabs(renderer: Renderer, good: RenderedPage) -> None:
    def crash(tab: Tab, page: RenderedPage) -> None:
        tab._browser.post("Page.crash", session=tab.session)
        tab.evaluate("new Promise(() => {})")

    assert "the page's process crashed" in renderer.run(GOOD, crash)[0].failure
    assert is_unharmed(renderer, good)
    with ThreadPoolExecutor(5) as pool:
        results = [pool.submit(is_unharmed, renderer, good) for _ in range(4)]
        bomb = pool.submit(renderer.page, "<!-- beside -->" + BOMBS["an svg that uses itself a million times"])
        assert all(one.result() for one in results)
        assert bomb.result().failure


@pytest.mark.slow
def test_a_page_of_the_data_is_given_more_time_and_lazy_images_are_there_too(browsers: Browsers) -> None:
    html = "<p>words</p><script>const end = Date.now() + 700; while (Date.now() < end);</script>"
    with browsers.renderer(scripts=True, limits=RenderLimits(load_s=0.3, collect_s=0.3)) as hasty:
        assert hasty.page(html).failure
        with hasty.patiently():
            assert not hasty.page(html).failure
        assert hasty.page(html + " ").failure
    image = "<!doctype html><div style='height:9000px'></div><img {} src='rick.svg'>"
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='300' height='200'/>"
    with browsers.renderer(assets={"rick.svg": svg}) as renderer:
        lazy, eager = (renderer.page(image.format(how)) for how in ("loading=lazy", ""))
    assert lazy.height > 9200
    assert lazy.boxes == eager.boxes


def test_odd_pages_are_rendered(patient: Renderer, good: RenderedPage) -> None:
    for name, html in HARMLESS.items():
        assert not patient.page(html).failure, name
        assert is_unharmed(patient, good), name


def test_the_screenshot_of_a_very_high_page_is_cut_off_and_names_of_elements_hide_nothing(renderer: Renderer) -> None:
    shot = renderer.screenshot("<div style='height:99999999px'>words</div>") or b""
    assert int.from_bytes(shot[20:24], "big") == FAST.screenshot_px
    names = "querySelectorAll readyState fonts getAnimations documentElement title getBoundingClientRect getClientRects"
    clobbers = "".join(f"<{tag} name={name} id={name}>{{}}" for tag in ("img", "input") for name in names.split())
    html = f"<!doctype html><form style='height:50px'>{clobbers}</form><p>words</p>"
    named = renderer.page(html)
    plain = renderer.page(html.replace(" name=", " data-name=").replace(" id=", " data-id="))
    assert not named.failure
    assert named.boxes == plain.boxes


def test_a_page_with_scripts_leaves_nothing_behind_cannot_lie_and_is_not_stopped_by_dialogs_and_reloads(
    renderer: Renderer, scripted: Renderer, good: RenderedPage
) -> None:
    looks = "<p id=p></p><script>p.textContent = (localStorage.x || 'nothing') + document.cookie + window.name</script>"
    scripted.page("<script>localStorage.x = 'something'; document.cookie = 'a=b'; window.name = 'n'</script>")
    assert scripted.run(looks, lambda tab, page: tab.evaluate("document.body.innerText"))[1] == "nothing"
    lie = "Element.prototype.getBoundingClientRect = () => ({x: 0, y: 0, width: 1, height: 1});"
    lie += "document.querySelectorAll = () => []; JSON.stringify = () => '{}';"
    html = "<!doctype html><p style='width:300px'>words</p><script>{}</script>"
    assert scripted.page(html.format(lie)).boxes == scripted.page(html.format("")).boxes
    assert not scripted.page("<script>alert(1); confirm(2); prompt(3)</script><p>words</p>").failure
    scripted.page("<p>words</p><script>onload = () => location.reload()</script>")
    assert is_unharmed(scripted, good)
    html = "<!doctype html><p>words</p><noscript><p>more words</p></noscript>"
    assert len(renderer.page(html).boxes["text_block"]) == 1
    assert renderer.page(html).boxes == scripted.page(html).boxes


def test_a_browser_is_replaced_if_it_was_killed_and_after_so_many_pages_and_none_is_left(tmp_path: Path) -> None:
    own = Renderer(chromium=make_chromium(tmp_path, "refuses"), limits=RenderLimits(pages_per_browser=3))
    seen, browsers = [own.run(GOOD, None)[0]], [own.browser]
    os.killpg(own.browser.process_group, signal.SIGKILL)
    for _ in range(4):
        seen.append(own.run(GOOD, None)[0])
        browsers.append(own.browser)
    assert seen == seen[:1] * 5
    assert not seen[0].failure
    assert len(set(browsers)) == 3
    assert [browser.alive for browser in dict.fromkeys(browsers)] == [False, False, True]
    own.close()
    own.close()
    assert until(lambda: not any(living(group=browser.process_group) for browser in browsers))


KILLED = """
import os
from iad_envs.sketch2code.renderer import Renderer
renderer = Renderer()
assert not renderer.page('<p>words</p>').failure
print(renderer.browser.process_group, renderer.browser._profile, flush=True)
os.kill(os.getpid(), 9)
"""


def test_nothing_runs_after_the_parent_was_killed_and_a_long_temporary_folder_is_not_too_long() -> None:
    if without_chromium():
        pytest.skip(without_chromium())
    with TemporaryDirectory() as folder:
        long = Path(folder) / ("long-" * 20)
        long.mkdir()
        environment = {**os.environ, "TMPDIR": str(long), "IAD_CHROMIUM": find_chromium()}
        words = [sys.executable, "-c", KILLED]
        parent = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert parent.stdout, parent.stderr
    group, profile = parent.stdout.split()
    assert until(lambda: not living(group=int(group)) and not Path(profile).exists())


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("<html style='display:none'><p>words</p>", "expected a page with an area, got one of 0 by 0 pixels"),
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
    with Renderer(chromium=make_chromium(tmp_path, how), limits=PATIENT._replace(screenshot_s=0.1)) as renderer:
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

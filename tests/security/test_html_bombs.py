"""A page that harms the browser scores 0 and says why; the next page is scored as if it had never been there."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from iad_envs.browser.errors import BrowserNotFound
from iad_envs.sketch2code.page import RenderedPage, RenderLimits, score_pages
from iad_envs.sketch2code.renderer import Renderer

GOOD = (
    "<!doctype html><body><h1>Title</h1><p>Some words.</p><img src='x' width=200 height=100><noscript>hidden</noscript>"
)
FAST = RenderLimits(load_s=2.0, collect_s=2.0)
SVG_BOMB = (
    '<svg width="100" height="100"><defs><g id="g0"><rect width="9" height="9"/></g>'
    + "".join(
        f'<g id="g{level + 1}">' + "".join(f'<use href="#g{level}" x="{x}"/>' for x in range(10)) + "</g>"
        for level in range(6)
    )
    + '</defs><use href="#g6"/></svg>'
)
BOMBS = {
    "an svg that uses itself a million times": SVG_BOMB,
    "200,000 elements": "<div>" + "<p>x</p>" * 200_000,
    "more components than allowed": "<p>x</p>" * 21_000,
    "5 MB of HTML": "x" * 5_000_000,
}
SCRIPT_BOMBS = {
    "an endless loop": "<script>for (;;) {}</script>",
    "a memory bomb": "<script>const all = []; for (;;) all.push(new Array(1e6).fill(Math.random()))</script>",
}
HARMLESS = {
    "nested tables": "<table><tr><td>" * 400 + "words",
    "deeply nested elements": "<div>" * 2_000 + "words",
    "200 frames": "<iframe srcdoc='<p>words</p>'></iframe>" * 200 + "<p>words</p>",
    "a page 33 million pixels high": "<div style='height:99999999px'>words</div>",
    "an image of 30,000 by 30,000": "<img width=30000 height=30000 src=x>",
    "blur filters": "<div style='filter:blur(400px)'><p>words</p></div>" * 50,
    "a megabyte of text": "<p>" + "words " * 170_000,
    "an endless loop where scripts are off": "<script>for (;;) {}</script><p>words</p>",
    "half a surrogate pair": "<p>\ud83d words</p>",
    "a null": "<p>wor\x00ds</p>",
}


@pytest.fixture(scope="module")
def renderer(chromium: str) -> Iterator[Renderer]:
    with Renderer(chromium=chromium, limits=FAST) as made:
        yield made


@pytest.fixture(scope="module")
def patient(chromium: str) -> Iterator[Renderer]:
    """With time enough on a busy machine."""
    with Renderer(chromium=chromium, limits=RenderLimits(load_s=30.0, collect_s=30.0)) as made:
        yield made


@pytest.fixture(scope="module")
def scripted(chromium: str) -> Iterator[Renderer]:
    with Renderer(chromium=chromium, scripts=True, limits=FAST) as made:
        yield made


@pytest.fixture(scope="module")
def good(patient: Renderer) -> RenderedPage:
    return patient.page(GOOD)


def is_unharmed(renderer: Renderer, good: RenderedPage) -> bool:
    return renderer.run(GOOD, None)[0] == good


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_scores_0_with_the_reason(bomb: str, renderer: Renderer, good: RenderedPage) -> None:
    page = renderer.page(BOMBS[bomb])
    assert page.failure
    assert score_pages(good, page).layout == 0.0
    assert is_unharmed(renderer, good)


@pytest.mark.parametrize("bomb", SCRIPT_BOMBS)
def test_a_script_that_never_ends_scores_0_with_the_reason(bomb: str, scripted: Renderer, good: RenderedPage) -> None:
    page = scripted.page(SCRIPT_BOMBS[bomb])
    assert page.failure
    assert is_unharmed(scripted, good)


@pytest.mark.parametrize("page", HARMLESS)
def test_odd_pages_are_rendered(page: str, patient: Renderer, good: RenderedPage) -> None:
    assert not patient.page(HARMLESS[page]).failure
    assert is_unharmed(patient, good)


def test_the_screenshot_of_a_very_high_page_is_cut_off(renderer: Renderer) -> None:
    shot = renderer.screenshot("<div style='height:99999999px'>words</div>")
    assert shot is not None
    assert int.from_bytes(shot[20:24], "big") == FAST.screenshot_px


def test_lazy_images_are_there_too(chromium: str) -> None:
    image = "<!doctype html><div style='height:9000px'></div><img {} src='rick.svg'>"
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='300' height='200'/>"
    with Renderer(chromium=chromium, assets={"rick.svg": svg}) as renderer:
        lazy, eager = (renderer.page(image.format(how)) for how in ("loading=lazy", ""))
    assert lazy.height > 9200
    assert lazy.boxes == eager.boxes


def test_scripts_leave_nothing_behind_for_the_next(chromium: str) -> None:
    looks = (
        "<p id=p></p><script>p.textContent = (localStorage.x || 'nothing') + document.cookie + (window.name || '')"
        "</script>"
    )
    leaves = "<script>localStorage.x = 'something'; document.cookie = 'a=b'; window.name = 'n'</script>"
    with Renderer(chromium=chromium, scripts=True, n_tabs=1) as renderer:
        renderer.page(leaves)
        _, text = renderer.run(looks, lambda tab, page: tab.evaluate("document.body.innerText"))
    assert text == "nothing"


def test_a_page_cannot_lie_about_its_boxes(scripted: Renderer) -> None:
    lie = "Element.prototype.getBoundingClientRect = () => ({x: 0, y: 0, width: 1, height: 1});"
    lie += "document.querySelectorAll = () => []; JSON.stringify = () => '{}';"
    html = "<!doctype html><p style='width:300px'>words</p><script>{}</script>"
    assert scripted.page(html.format(lie)).boxes == scripted.page(html.format("")).boxes


def test_names_of_elements_hide_nothing_from_the_collector(renderer: Renderer) -> None:
    names = "querySelectorAll readyState fonts getAnimations documentElement title getBoundingClientRect getClientRects"
    clobbers = "".join(f"<{tag} name={name} id={name}>{{}}" for tag in ("img", "input") for name in names.split())
    html = f"<!doctype html><form style='height:50px'>{clobbers}</form><p>words</p>"
    named = renderer.page(html)
    plain = renderer.page(html.replace(" name=", " data-name=").replace(" id=", " data-id="))
    assert not named.failure
    assert named.boxes == plain.boxes


def test_dialogs_and_reloads_do_not_stop_a_page(scripted: Renderer, good: RenderedPage) -> None:
    assert not scripted.page("<script>alert(1); confirm(2); prompt(3)</script><p>words</p>").failure
    assert is_unharmed(scripted, good)
    scripted.page("<p>words</p><script>onload = () => location.reload()</script>")
    assert is_unharmed(scripted, good)


def test_noscript_stays_hidden_where_scripts_are_off(renderer: Renderer, scripted: Renderer) -> None:
    html = "<!doctype html><p>words</p><noscript><p>more words</p></noscript>"
    assert len(renderer.page(html).boxes["text_block"]) == 1
    assert renderer.page(html).boxes == scripted.page(html).boxes


def test_a_browser_killed_in_the_middle_is_replaced(chromium: str, good: RenderedPage) -> None:
    with Renderer(chromium=chromium) as renderer:
        assert is_unharmed(renderer, good)
        first = renderer.browser
        os.killpg(first.process_group, signal.SIGKILL)
        assert is_unharmed(renderer, good)
        assert renderer.browser is not first


def test_a_browser_is_replaced_after_so_many_pages(chromium: str, good: RenderedPage) -> None:
    with Renderer(chromium=chromium, limits=RenderLimits(pages_per_browser=3)) as renderer:
        browsers = set()
        for _ in range(7):
            assert is_unharmed(renderer, good)
            browsers.add(renderer.browser)
        assert len(browsers) == 3
        assert [browser.alive for browser in browsers].count(True) == 1


def test_several_threads_share_the_tabs(renderer: Renderer, good: RenderedPage) -> None:
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(is_unharmed(renderer, good))) for _ in range(8)]
    for thread in threads:
        thread.start()
    bomb = renderer.page("<!-- beside -->" + SVG_BOMB)
    for thread in threads:
        thread.join()
    assert results == [True] * 8
    assert bomb.failure


def test_nothing_runs_after_close(chromium: str) -> None:
    renderer = Renderer(chromium=chromium)
    renderer.page(GOOD)
    group = renderer.browser.process_group
    renderer.close()
    renderer.close()
    assert not running(group)


def test_nothing_runs_after_the_parent_was_killed(chromium: str) -> None:
    script = (
        "import os, sys\n"
        "from iad_envs.sketch2code.renderer import Renderer\n"
        "renderer = Renderer()\n"
        "renderer.page('<p>words</p>')\n"
        "print(renderer.browser.process_group, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", script]
    with TemporaryDirectory() as folder:  # a short path: pytest's own may be too long for a socket
        environment = {**os.environ, "TMPDIR": folder}
        parent = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert parent.stdout, parent.stderr
        group = int(parent.stdout)
        ended = threading.Event()
        for _ in range(100):
            if not running(group) and not list(Path(folder).iterdir()):
                break
            ended.wait(0.1)
        assert not running(group)
        assert not list(Path(folder).iterdir())


def test_a_long_temporary_folder_is_not_too_long(chromium: str, good: RenderedPage) -> None:
    script = (
        "from iad_envs.sketch2code.renderer import Renderer\nwith Renderer() as r: print(r.page('<p>x</p>').failure)"
    )
    with TemporaryDirectory() as folder:
        long = Path(folder) / ("long-" * 20)
        long.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "TMPDIR": str(long)},
        )
    assert done.stdout == "\n", done.stderr


def test_without_a_browser_one_sentence_says_what_to_install() -> None:
    with pytest.raises(BrowserNotFound, match="apt-get install chromium"):
        Renderer(chromium="/nowhere/chromium")


def running(group: int) -> list[int]:
    """The processes of a group that are not dead and merely uncollected."""
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of_group) == group and state != "Z":
            alive.append(int(stat.parent.name))
    return alive

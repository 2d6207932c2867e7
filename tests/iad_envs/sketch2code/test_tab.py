"""A tab draws nothing unless it must, and measures as if it had; text blocks of a page, and of its file."""

import base64
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.browser.devtools import Browser
from iad_envs.browser.errors import ProtocolError
from iad_envs.sketch2code.blocks import OTHER_COLOUR, UnreadableFile, coloured, read_file
from iad_envs.sketch2code.page import RenderedPage, RenderLimits
from iad_envs.sketch2code.renderer import Renderer
from iad_envs.sketch2code.tab import Tab
from iad_envs.sketch2code.visual import VisualScore, candidate_blocks, visual_score
from tests.browser import Browsers
from tests.effort import some
from tests.iad_envs.sketch2code.sketch_pages import GIF, PAGE, make_folder

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


PAGES = {name: whole(one) for name, one in FILE["drawn_or_not"].items()}
PAGES["plain"] = PAGE.format(title="Tea", width=300)
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


def test_only_what_needs_it_is_drawn_and_a_screenshot_is_the_same_either_way(browser: Browser) -> None:
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


WORDS = "<h1>Tea and coffee</h1><p>Some words about both of them.</p>"
PLAIN = f"<html><body>{WORDS}</body></html>"
BUILT = f"<html><body><script>document.body.innerHTML = '{WORDS}'</script></body></html>"
CHANGED = f"<html><body>{WORDS}<script>document.querySelector('h1').textContent = 'Cake'</script></body></html>"
STYLED = (
    "<html><style>a {{ color: blue; transition: {} }} div {{ position: absolute; top: 0; width: 200px; height: 40px; "
    "background-color: white }}</style><body><a>A link</a><div></div><figure><figcaption>Below</figcaption></figure>"
    "</body></html>"
)
ALL, NOTHING = VisualScore(1.0, 1.0, 1.0, 1.0), VisualScore(0.0, 0.0, 0.0, 0.0)


def test_colours_are_seen_at_once_and_under_boxes_as_published(plain: Renderer) -> None:
    """A style may change colours slowly. Boxes are made transparent, and a caption has a colour of its own."""
    for published in (False, True):
        blocks = candidate_blocks(plain, STYLED.format("color 9s"), published=published)[1]
        assert sorted(block.text for block in blocks) == ["a link", "below"]
    assert visual_score(plain, PLAIN, "", published=True) == NOTHING


@pytest.fixture(scope="module")
def plain(browsers: Browsers) -> Iterator[Renderer]:
    with browsers.renderer() as made:
        yield made


def test_a_page_built_by_a_script_scores_1_but_published_by_its_file(browsers: Browsers, tmp_path: Path) -> None:
    """The pixels are the script's."""
    folder = make_folder(tmp_path / "sketch2code")
    (folder / "1.html").write_text(PLAIN, encoding="utf-8")
    env = gym.make("IAD/Sketch2Code-v0", data_dir=folder, visual=True, scripts=True, as_published=True)
    with browsers.leased(scripts=True, assets={"rick.jpg": GIF}) as renderer:
        assert visual_score(renderer, PLAIN, BUILT).parts() == pytest.approx(ALL.parts())
        env.reset(options={"task_id": "1_0"})
        parts = env.step(CHANGED)[4]["reward_parts"]
        env.close()
    assert (parts["block_match"], parts["layout"] > 0) == (pytest.approx(1.0), True)


def texts(html: str) -> list[tuple[str, int]]:
    colours = coloured(html, 0)[1]
    assert colours is not None
    return list(zip(colours.texts, colours.numbers, strict=True))


def test_texts_of_the_files_body_have_the_last_colour_around_them_on_a_clear_background() -> None:
    html = "<html><head><title>no</title></head><body>bare<p>a<!-- no --><b>b</b><i> c </i></p><p> \n</p></body></html>"
    assert texts(html) == [("bare", OTHER_COLOUR), ("a", 4095), ("b", 4094), ("c", 4095)]
    assert texts("<p>no body</p>") == []
    script = "document.body.innerHTML = '<p>made</p>'"
    assert texts(f"<body><script>{script}</script></body>") == [(script, OTHER_COLOUR)]
    for styles, number in (
        (("color: red", "color: RED", "color: hsl(1, 2%, 3%)", "color: #123", "color: #123456"), OTHER_COLOUR),
        (("border-color: white",), OTHER_COLOUR), (("color: rgb(10, 10, 10)",), 0),
        (("color: #FAFAFA", "color: rgb(10, 10, 10); border-color: inherit", "color: inherit", "color:"), 4095),
        (("color: rgba(1, 2, 3, .5)", "margin: 0", "background-color: red"), 4095),
    ):  # fmt: skip
        for style in styles:
            assert texts(f'<body><p><strong style="{style}">x</strong></p></body>') == [("x", number)], style
    html = '<body><p style="color: red; background: blue; color-scheme: dark">x</p><em>y</em></body>'
    for shift, colour in ((0, "#FAFAFA"), (50, "#2C2C2C")):
        _, p, em = read_file(coloured(html, shift)[0]).find_all(True)
        clear = "background-color: rgba(255, 255, 255, 0.0) !important"
        set_to = ["background: blue", clear, f"color: {colour} !important", "opacity: 1.0 !important"]
        assert [one.strip() for one in p["style"].split(";")] == set_to
        assert em["style"] == clear


def test_files_of_any_kind_are_read_or_have_no_blocks(plain: Renderer) -> None:
    html = "<div>" * 10_000 + "deep"
    assert str(read_file(html)) == html + "</div>" * 10_000
    assert coloured(f"<body>{html}", 0) == (f"<body>{html}", None)  # more elements than colours
    assert str(read_file("a.html\r\n<?xml?>")) == "a.html\n<?xml?>"  # nothing warns
    with pytest.raises(UnreadableFile, match=r"html\.parser"):
        read_file("<![x[y]]>words")
    assert str(read_file("<p>" + "a < b " * 100)).count("&lt;") == 100
    with pytest.raises(UnreadableFile, match="whose tags end, got one with over 100 that don't"):
        read_file("<p>" + "<a " * 101)
    assert candidate_blocks(plain, "<![x[y]]>words", published=True)[1] == ()

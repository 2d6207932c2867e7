"""No page reaches the network, a file, or the next page in its tab.

Each route to the network is first shown to work, without protection, against a local server. Pictures of a sensitive
page stay the same to the byte.
"""

import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random

import pytest

from iad_envs.browser.devtools import Browser, find_chromium
from iad_envs.sketch2code.page import RenderLimits
from iad_envs.sketch2code.renderer import Renderer, photographed
from tests.browser import Browsers, without_chromium
from tests.effort import some
from tests.iad_envs.sketch2code.sketch_pages import GIF
from tests.security.attacks import PAGES
from tests.waiting import until

ROUTES, LEAVING, LINGERING, SENSITIVE = (PAGES[name] for name in ("routes", "leaving", "lingering", "sensitive"))
TOGETHER: list[list[str]] = [[*ROUTES], *([route] for route in LEAVING)]
"""The routes of each page: whoever leaves one does it alone."""


@pytest.fixture(scope="module", params=["scripts off", "scripts on"])
def renderer(request: pytest.FixtureRequest, browsers: Browsers) -> Iterator[Renderer]:
    with browsers.renderer(scripts=request.param == "scripts on") as made:
        yield made


class Witness(ThreadingHTTPServer):
    """A local server: serves one page at `/`, and knows who asked for `/leak/...`."""

    daemon_threads = True
    page, asked = "", set[str]()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def was_asked(self, name: str, *, within_s: float) -> bool:
        return until(lambda: f"/leak/{name}" in self.asked, within_s)


class Handler(BaseHTTPRequestHandler):
    server: Witness

    def do_GET(self) -> None:
        self.server.asked.add(self.path.partition("?")[0])
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.page.encode() if self.path == "/" else b"")

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def witness() -> Iterator[Witness]:
    with Witness(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def unprotected() -> Iterator[Browser]:
    if without_chromium():
        pytest.skip(without_chromium())
    browser = Browser(find_chromium(), flags=())
    yield browser
    browser.close()


def page_with(routes: Sequence[str], witness: Witness, prefix: str) -> str:
    return "".join(
        (ROUTES | LEAVING)[route].replace("{url}", f"{witness.origin}/leak/{prefix}-{route}") for route in routes
    )


@pytest.mark.parametrize("routes", [routes for routes in TOGETHER if routes != ["window_open"]], ids=len)
def test_the_routes_work_without_protection(routes: list[str], unprotected: Browser, witness: Witness) -> None:
    witness.page = page_with(routes, witness, "open")
    target = unprotected.send("Target.createTarget", {"url": witness.origin})
    unprotected.send("Target.activateTarget", {"targetId": target["targetId"]})
    assert [route for route in routes if not witness.was_asked(f"open-{route}", within_s=15)] == []


def test_the_routes_are_closed(renderer: Renderer, witness: Witness) -> None:
    for routes in TOGETHER:
        html = f"<!doctype html><body><p>here</p>{page_with(routes, witness, 'closed')}"
        page, text = renderer.run(html, lambda tab, page: tab.evaluate("document.body.innerText"))
        assert not page.failure
        assert "here" in (text or ""), routes
    # Unprotected ones are seen within 0.1 s.
    assert not [name for name in (*ROUTES, *LEAVING) if witness.was_asked(f"closed-{name}", within_s=0.02)]


def test_no_local_file_is_shown(renderer: Renderer, tmp_path: Path) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"><rect width="200" height="100"/></svg>'
    (tmp_path / "secret.svg").write_text(svg)
    html = (
        '<!doctype html><img src="file://{0}" style="display:block"><iframe src="file://{0}"></iframe>'
        '<object data="file://{0}"></object><style>@import url("file://{0}");</style><p>words</p>'
    )
    (page, shot), (_, blank) = (
        renderer.run(html.format(tmp_path / name), photographed) for name in ("secret.svg", "missing")
    )
    assert not page.failure
    assert shot == blank


def test_a_script_can_read_no_local_file(browsers: Browsers, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret words")
    html = (
        f'<p id="p">nothing</p><script>fetch("file://{secret}").then(r => r.text())'
        ".then(t => p.textContent = t, e => p.textContent = 'refused')</script>"
    )
    with browsers.renderer(scripts=True) as renderer:
        script = "new Promise(r => setTimeout(() => r(document.body.innerText), 100))"
        _, text = renderer.run(html, lambda tab, page: tab.evaluate(script))
    assert text is not None
    assert "refused" in text


PATIENT = RenderLimits(load_s=30.0, collect_s=30.0, screenshot_s=30.0)
ORDINARY = (
    "<!doctype html><html><head><meta charset=utf-8><meta http-equiv=X-UA-Compatible content='IE=edge'><title>t</title>"
    "<meta name=viewport content='width=device-width'><meta name=twitter:card content=x>"
    "<meta property=og:type content=x><meta name=theme-color content=red><link rel=icon href=x></head><body><p>words"
)


def picture(renderer: Renderer, html: str) -> bytes | None:
    return renderer.run(html, photographed)[1]


@pytest.fixture(scope="module")
def one_tab(browsers: Browsers) -> Iterator[Renderer]:
    """With one tab, so that every page follows another in it."""
    with browsers.renderer(assets={"rick.jpg": GIF}, limits=PATIENT, n_tabs=1) as made:
        yield made


@pytest.mark.slow
def test_no_page_reaches_the_next_and_only_one_that_lingers_costs_a_new_document(one_tab: Renderer) -> None:
    before = {html: picture(one_tab, html) for html in (SENSITIVE, ORDINARY)}
    assert None not in before.values()
    names = list(LINGERING)
    Random(0).shuffle(names)
    dark = [name for name in names if name.startswith("dark")]
    assert len(dark) > 5
    changed = []
    for name in {*some(names, 8), *dark, *(name for name in names if "shadow" in name)}:
        for html in (SENSITIVE, ORDINARY) if name in dark else (SENSITIVE,):
            one_tab.run(LINGERING[name], lambda tab, page: None)  # which draws it
            if picture(one_tab, html) != before[html]:
                changed.append(name)
    assert changed == []

    def document(html: str) -> float:
        started: float | None = one_tab.run(html, lambda tab, page: tab.evaluate("performance.timeOrigin"))[1]
        assert started is not None
        return started

    first = document(ORDINARY)
    assert document(ORDINARY) == document(LINGERING["dark by meta"]) == first
    assert document(ORDINARY) > first


def test_no_script_reaches_the_next_page(browsers: Browsers) -> None:
    html = "<body><p>words</p>" + "".join(f"<script>{script}</script>" for script in PAGES["scripted"].values())
    with browsers.renderer(scripts=True, assets={"rick.jpg": GIF}, limits=PATIENT, n_tabs=1) as scripted:
        before = picture(scripted, SENSITIVE)
        assert before is not None
        scripted.run(html, lambda tab, page: None)
        assert picture(scripted, SENSITIVE) == before

"""No page reaches the network: each route is first shown to work, without protection, against a local server."""

import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from iad_envs.browser.devtools import Browser, find_chromium
from iad_envs.sketch2code.renderer import Renderer, photographed
from tests.browser import Browsers, without_chromium
from tests.security.attacks import PAGES

ROUTES, LEAVING = PAGES["routes"], PAGES["leaving"]
TOGETHER: list[list[str]] = [[*ROUTES], *([route] for route in LEAVING)]
"""The routes of each page: whoever leaves one does it alone."""


@pytest.fixture(scope="module", params=["scripts off", "scripts on"])
def renderer(request: pytest.FixtureRequest, browsers: Browsers) -> Iterator[Renderer]:
    with browsers.renderer(scripts=request.param == "scripts on") as made:
        yield made


class Witness(ThreadingHTTPServer):
    """A local server: serves one page at `/`, and knows who asked for `/leak/...`."""

    daemon_threads = True

    def __init__(self) -> None:
        self.page, self.asked, self.changed = "", set[str](), threading.Condition()
        witness = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with witness.changed:
                    witness.asked.add(self.path.partition("?")[0])
                    witness.changed.notify_all()
                body = witness.page.encode() if self.path == "/" else b""
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def was_asked(self, name: str, *, within_s: float) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: f"/leak/{name}" in self.asked, within_s)


@pytest.fixture(scope="module")
def witness() -> Iterator[Witness]:
    with Witness() as made:
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

"""No page reaches the network: each route is first shown to work, without protection, against a local server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from iad_envs.browser.devtools import Browser
from iad_envs.sketch2code.renderer import Renderer, photographed
from tests.browser import Browsers
from tests.security.html_pages import LEAVING, ROUTES
from tests.security.html_witness import Witness


@pytest.fixture(scope="module", params=["scripts off", "scripts on"])
def renderer(request: pytest.FixtureRequest, browsers: Browsers) -> Iterator[Renderer]:
    with browsers.renderer(scripts=request.param == "scripts on") as made:
        yield made


def visit(browser: Browser, url: str) -> None:
    target = browser.send("Target.createTarget", {"url": url})
    browser.send("Target.activateTarget", {"targetId": target["targetId"]})


@pytest.mark.parametrize("route", [route for route in (*ROUTES, *LEAVING) if route != "window_open"])
def test_the_route_works_without_protection(route: str, unprotected: Browser, witness: Witness) -> None:
    name = f"unprotected-{route}"
    witness.page = (ROUTES | LEAVING)[route].format(url=witness.url(name))
    visit(unprotected, witness.origin)
    assert witness.was_asked(name, within_s=15)


def test_the_routes_are_closed(renderer: Renderer, witness: Witness) -> None:
    for route, html in (ROUTES | LEAVING).items():
        html = f"<!doctype html><body><p>here</p>{html.format(url=witness.url(route))}"
        page, text = renderer.run(html, lambda tab, page: tab.evaluate("document.body.innerText"))
        assert not page.failure
        assert "here" in (text or ""), route
    # Unprotected ones are seen within 0.1 s.
    assert not [route for route in (*ROUTES, *LEAVING) if witness.was_asked(route, within_s=0.15)]


def test_no_local_file_is_shown(renderer: Renderer, tmp_path: Path) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"><rect width="200" height="100"/></svg>'
    (tmp_path / "secret.svg").write_text(svg)
    for html in (
        '<img src="file://{path}" style="display:block">',
        '<iframe src="file://{path}"></iframe>',
        '<object data="file://{path}"></object>',
        '<style>@import url("file://{path}");</style><p>words</p>',
    ):
        (page, shot), (_, blank) = (
            renderer.run(f"<!doctype html>{html.format(path=tmp_path / name)}", photographed)
            for name in ("secret.svg", "missing")
        )
        assert not page.failure
        assert shot == blank, html


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

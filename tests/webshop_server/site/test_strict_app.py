"""What sites share works for a site that is not the shop."""

import pytest
from flask import render_template
from flask.testing import FlaskClient

from tests.webshop_server.site.site_pages import read_page
from tests.webshop_server.site.two_rooms import create_app
from webshop_server.site.sessions import Sessions
from webshop_server.site.strict_app import HEADERS


@pytest.fixture
def client() -> FlaskClient:
    return create_app(Sessions()).test_client()


def test_a_page_stands_in_the_frame_with_the_names_of_its_site(client: FlaskClient) -> None:
    text = client.get("/me/hall").text
    page = read_page(text)
    assert (page.text, page.clicks) == ("hall [SEP] garden", {"garden": "/me/garden"})
    assert "<title>hall - Two rooms</title>" in text
    assert "<span>Two rooms</span>" in text
    assert "Nobody lives here." in text
    assert "shop" not in text.lower()
    sheets = [tag[1]["href"] for tag in page.tags if tag[1].get("rel") == "stylesheet"]
    assert sheets == ["/frame/frame.css"]
    assert client.get(sheets[0], buffered=True).mimetype == "text/css"


@pytest.mark.parametrize(
    ("path", "said", "home"),
    [
        ("/me/hall", "", ""),
        ("/frame/frame.css", "", ""),
        ("/me/cellar", "Expected hall or garden, got &#39;cellar&#39;", "/me"),
        ("/m.e/cellar", "Expected hall or garden", "/"),
        ("/a/b/c/d", "Nothing is at this address.", "/"),
        ("/frame/frame.html", "Nothing is at this address.", "/"),
    ],
)
def test_every_answer_has_the_strict_headers_and_an_error_leads_back(
    client: FlaskClient, path: str, said: str, home: str
) -> None:
    answer = client.get(path, buffered=True)
    assert answer.status_code == (404 if said else 200)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert ("max-age=86400" if path.endswith(".css") else "no-store") in answer.headers["Cache-Control"]
    assert "Set-Cookie" not in answer.headers
    if said:
        assert said in answer.text
        assert f'<a class="button" href="{home}">Go to the hall</a>' in answer.text
        assert "<title>There is no such page - Two rooms</title>" in answer.text
        read_page(answer.text)
    answer = client.post("/you/garden", data=b"x")
    assert (answer.status_code, "Two rooms" in answer.text) == (405, True)


def test_half_a_surrogate_pair_can_be_shown() -> None:
    app = create_app(Sessions())
    with app.app_context():
        shown = render_template("room.html", room="\ud800", other="hall", link="/", home="/")
        complained = render_template("room.html", room="hall", other="garden", link="/", home="/", complaint="\udfff!")
    assert "<h1 data-seen>?</h1>" in shown
    assert '<p class="complaint" role="alert">?!</p>' in complained

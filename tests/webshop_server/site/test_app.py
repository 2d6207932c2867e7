"""The site: its pages are the text environment's, whatever is asked of it."""

import random
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, unquote

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.webshop_server.site.site_pages import SeenPage, read_page
from tests.webshop_server.small_shop import ANNOTATIONS, RECORDS, SharedWords, record, write_folder
from webshop_server.catalog import Catalog, load_catalog
from webshop_server.engine import Shop, ShopState
from webshop_server.pages import render_text
from webshop_server.site.addresses import escaped, path_of, unescaped
from webshop_server.site.app import Site, create_app
from webshop_server.site.sessions import Sessions
from webshop_server.storefront import ShopTask

TASKS = [ShopTask(f"t{n}", "test", "", 1.0, f"Find me thing {n} & <more>") for n in range(4)]
AWKWARD = record(
    "B000ODD&01", 'Odd <b>"name"</b> & {{ 7 * 7 }} ’s', full_description="Line one\n<script>alert(1)</script>",
    small_description=["<img src=x onerror=alert(1)>", "", " plain "],
    customization_options={
        "Co/lor & more": [{"value": "Red/Blue"}, {"value": "..."}, {"value": "a%2Fb"}],
        "size": [{"value": "one"}, {"value": '"two"'}, {"value": "description"}], "other size": [{"value": "one"}],
    },
)  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    catalog: Catalog = load_catalog(write_folder(tmp_path_factory.mktemp("odd"), [*RECORDS, AWKWARD], ANNOTATIONS))
    return Shop(catalog, SharedWords(catalog), page_size=5)


@pytest.fixture
def site(shop: Shop) -> Site:
    return Site(shop, TASKS)


@pytest.fixture
def client(site: Site) -> FlaskClient:
    return create_app(site).test_client()


def seen(client: FlaskClient, path: str) -> SeenPage:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return read_page(answer.text)


def search(client: FlaskClient, session: str, query: str) -> str:
    if client.post(f"/{session}").status_code == 404:
        seen(client, f"/{session}")
    answer = client.post(f"/{session}", data={"search_query": query})
    assert answer.status_code == 303, answer.text
    return str(answer.location)


def shoe(client: FlaskClient) -> str:
    return seen(client, search(client, "me", "acme sneakers")).clicks["b000shoe01"]


def test_every_page_is_the_text_environments_leads_where_the_engine_leads_and_sessions_do_not_meet(site: Site) -> None:
    app, shop = create_app(site), site.shop

    def visit(number: int) -> None:
        client, session, rng = app.test_client(), f"s{number}", random.Random(number)
        page = seen(client, f"/{session}")
        state = shop.start(page.text.split(" [SEP] ")[2])
        for _ in range(25):
            assert page.text == render_text(shop.page(state))
            links = {name: path_of(session, after) for name, after in shop.links(state).items()}
            assert page.clicks == links | ({"search": f"/{session}"} if state.kind == "index" else {})
            names = [name for name in shop.clickables(state) if name not in ("search", "buy now")]
            if not names or rng.random() < 0.15:
                query = rng.choice(["socks women", "odd name", "vase/../x", "a [b] c", "nothing found 100%"])
                path, state = search(client, session, query), shop.search_for(state, query).state
            else:
                name = rng.choice(names)
                path, state = page.clicks[name], shop.act(state, f"click[{name}]").state
            assert path == path_of(session, state)
            page = seen(client, path)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, range(8)))


def test_the_page_marks_what_was_seen_and_chosen_and_buying_needs_a_form(client: FlaskClient, site: Site) -> None:
    path, chosen = search(client, "me", "acme sneakers"), seen(client, shoe(client)).clicks["navy blue"]
    marked = [tag["data-click"] for _, tag in seen(client, chosen).tags if tag.get("aria-current")]
    cards = [attributes["class"] for tag, attributes in seen(client, path).tags if tag == "li"]
    assert (marked, cards.count("card visited")) == (["navy blue"], 1)
    seen(client, "/me")
    assert "card visited" not in client.get(path).text
    item = shoe(client)
    done = seen(client, seen(client, item).clicks["navy blue"]).clicks["buy now"]
    assert client.get(done).status_code == 404
    bought = client.post(done)
    assert (bought.status_code, bought.location) == (303, done)
    state = site.sessions.get("me")
    assert state is not None
    assert (state.kind, state.asin, state.options) == ("done", "B000SHOE01", (("color", "navy blue"),))
    assert seen(client, done).text == "Thank you for shopping with us!"
    for path in ("/me", item, "/search_results/me/socks/1"):
        assert client.get(path).location == done
    for path, form in (("/me", {"search_query": "socks"}), ("/done/me/B000VASE01/%257B%257D", {})):
        assert client.post(path, data=form).location == done


def test_a_session_keeps_its_instruction_and_a_fixed_one_has_the_nth(client: FlaskClient, site: Site) -> None:
    first, second = client.get("/").location, client.get("/").location
    assert first != second
    assert "Find me thing" in seen(client, first).text
    assert "Find me thing 2" in seen(client, "/x_fixed_2").text
    assert client.get("/fixed_4").status_code == 404
    drawn = seen(client, "/abc").text
    site.sessions.put("abc", ShopState("something else"))
    assert "something else" in seen(client, "/abc").text
    assert seen(create_app(Site(site.shop, TASKS)).test_client(), "/abc").text == drawn
    weighted = [task._replace(weight=float(place == 3)) for place, task in enumerate(TASKS)]
    for tasks, n in ((TASKS, len(TASKS)), (weighted, 1)):
        told = {Site(site.shop, tasks).instruction(f"visit{number}") for number in range(60)}
        assert (len(told), TASKS[3].instruction in told) == (n, True)
    with pytest.raises(ValueError, match="at least one task"):
        Site(site.shop, [])


SHOE = "/item_page/me/B000SHOE01/socks/1/"
BAD_PAGES = [f"/search_results/me/socks/{page}" for page in ("-1", "one", "1e3", "٣", "9" * 5000)]
BAD_PATHS = {
    **dict.fromkeys(BAD_PAGES, "1 or more"),
    "/search_results/me/socks/0": "1 or more, got &#39;0&#39;",
    f"/search_results/me/{'x' * 100_000}/1": "query of 1 to 4096 characters",
    "/search_results/nobody/socks/1": "session that was begun",
    **{f"/item_page/me/{asin}/socks/1/%257B%257D": "id of a product" for asin in ("B000NOPE00", "b000shoe01")},
    "/item_page/me/B000SHOE01/socks/0/%257B%257D": "1 or more",
    **{SHOE + options: "options" for options in ("nonsense", "%255B%255D", escaped("[" * 50_000))},
    **{SHOE + escaped(f'{{"color": {one}}}'): "option of product" for one in ('"pink"', '["navy blue"]')},
    **{f"/item_sub_page/me/B000SHOE01/socks/1/{tab}/%257B%257D": "a tab" for tab in ("Secrets", "Attributes")},
    "/done/me/B000SHOE01/%257B%257D": "has bought something",
    "/picture/B000NOPE00.svg": "id of a product",
    **dict.fromkeys(("/me.html", f"/{'x' * 65}"), "session of letters"),
    **dict.fromkeys(("/nothing/here", "/api/shop"), "Nothing is at this address"),
}


def test_a_bad_address_or_query_is_a_page_that_says_why(client: FlaskClient, site: Site) -> None:
    seen(client, "/me")
    for path, said in BAD_PATHS.items():
        answer = client.get(path)
        assert (answer.status_code, said in answer.text) == (404, True), path[:50]
        assert len(answer.text) < 5000
        read_page(answer.text)
    page = seen(client, "/search_results/me/socks/1000000000")  # far beyond the results
    assert "Page 1000000000 (Total results: 20)" in page.text
    assert set(page.clicks) == {"back to search", "< prev", "next >"}
    # Half a surrogate pair, and what is no UTF-8.
    for part in (escaped(chr(0xD800)), "%25FF%25FE"):
        assert client.get(f"/search_results/me/{part}/1").status_code == 200
    with client.application.app_context():
        shown = site.html("me", ShopState("\ud800"), complaint="\udfff!")
    assert '<p class="complaint" role="alert">?!</p>' in shown
    seen(client, "/me")
    bought = "/done/me/B000SHOE01/%257B%257D"
    for path, home in ((bought, "/me"), ("/me.html", "/"), ("/nothing/here", "/"), ("/frame/frame.html", "/")):
        answer = client.get(path)
        assert (answer.status_code, "<title>There is no such page - WebShop</title>" in answer.text) == (404, True)
        assert f'<a class="button" href="{home}">Go to the search</a>' in answer.text
    seen(client, "/me")
    for query, said in (("x" * 100_000, "at most 4096"), ("", "words"), (None, "words")):
        answer = client.post("/me", data={} if query is None else {"search_query": query})
        assert (answer.status_code, said in answer.text, len(answer.text) < 5000) == (400, True, True)
    assert client.post("/me", data=b"search_query=" + b"x" * (5 << 20)).status_code == 413
    for method in (client.put, client.delete, client.patch):
        answer = method("/me")
        assert answer.status_code == 405
        read_page(answer.text)


def test_the_rules_of_a_shop_hold_on_its_site_and_a_freed_session_is_told_how_to_go_on(shop: Shop) -> None:
    strict = Shop(shop.catalog, shop.search, max_pages=2, page_size=5, search_anywhere=False)
    client = create_app(Site(strict, TASKS)).test_client()
    seen(client, "/me")
    assert "search_query" not in client.get(search(client, "me", "socks")).text
    again = client.post("/me", data={"search_query": "vase"})
    assert (again.status_code, "first page only" in again.text) == (400, True)
    assert "next >" not in seen(client, "/search_results/me/socks/2").clicks
    assert client.get("/search_results/me/socks/3").status_code == 404
    assert client.get("/health").json == {"status": "ok", "products": len(shop.catalog), "sessions": 1}
    now = [0.0]
    client = create_app(Site(shop, TASKS, Sessions(idle_s=60, clock=lambda: now[0]))).test_client()
    instruction, path = seen(client, "/me").text, search(client, "me", "socks")
    now[0] = 59.0
    seen(client, path)
    now[0] = 120.0
    answer = client.get(path)
    assert (answer.status_code, 'href="/me"' in answer.text) == (404, True)
    assert seen(client, "/me").text == instruction


def test_script_in_a_query_or_a_product_is_shown_as_text(client: FlaskClient) -> None:
    query = '"><script>alert(1)</script>'
    answer = client.get(search(client, "me", query))
    assert ("<script" in answer.text, "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text) == (False, True)
    (box,) = [tag for _, tag in read_page(answer.text).tags if tag.get("name") == "search_query"]
    assert box["value"] == query
    item = seen(client, search(client, "me", "odd name")).clicks["b000odd&01"]
    page = seen(client, item)
    for path in (item, page.clicks["description"], page.clicks["features"], page.clicks["red | blue"]):
        text = client.get(path).text
        assert not {tag for tag, _ in seen(client, path).tags} & {"script", "b", "style"}
        assert "{{ 7" in text or "49" not in text
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


def all_pages(client: FlaskClient) -> Iterator[Any]:
    item = shoe(client)
    links = seen(client, item).clicks
    named = (links[name] for name in ("description", "features", "reviews", "navy blue"))
    for path in ("/me", search(client, "me", "acme"), item, *named):
        yield client.get(path)
    yield client.post(links["buy now"])
    files = ("/health", "/picture/B000SHOE01.svg", "/static/shop.css", "/frame/frame.css")
    for path in (links["buy now"], "/nothing/here", *files):
        yield client.get(path, buffered=True)


def is_usable_without_seeing_it_or_a_mouse(tags: Sequence[tuple[str, dict[str, str]]]) -> None:
    named = {name: [attributes for tag, attributes in tags if tag == name] for name in ("img", "h1", "label", "input")}
    assert all(attributes.get("alt") is not None for attributes in named["img"])
    assert len(named["h1"]) == 1
    assert {one["id"] for one in named["input"]} <= {one.get("for") for one in named["label"]}
    assert all(tag in ("a", "button") for tag, attributes in tags if "data-click" in attributes)
    assert not any("tabindex" in attributes for _, attributes in tags)
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_every_answer_has_a_strict_policy_and_no_page_has_a_script_or_a_style_of_its_own(client: FlaskClient) -> None:
    for answer in all_pages(client):
        policy = answer.headers["Content-Security-Policy"]
        assert [word in policy for word in ("default-src 'none'", "unsafe", "script-src")] == [True, False, False]
        named = [answer.headers.get(name) for name in ("X-Content-Type-Options", "Referrer-Policy", "Set-Cookie")]
        assert named == ["nosniff", "no-referrer", None]
        if answer.mimetype == "text/html" and answer.status_code == 200:
            tags = read_page(answer.text).tags
            is_usable_without_seeing_it_or_a_mouse(tags)
            for tag, attributes in tags:
                assert tag not in ("script", "style", "iframe", "object")
                assert "style" not in attributes
                target = attributes.get("src") or attributes.get("href") or "/"
                assert re.match(r"/(?!/)|#main", str(target)), f"{tag} loads from elsewhere: {target}"


def test_no_gold_reaches_a_page(tmp_path: Any) -> None:
    """The goal's product, attributes, options and price limit are words that stand nowhere else."""
    target = record("B0TARGET01", "Unfindable", customization_options={"hue": [{"value": "secrethue"}]})
    hidden = {"B0TARGET01": {"attributes": ["goldattribute"], "instruction_attributes": ["goldwish"]}}
    catalog = load_catalog(write_folder(tmp_path, [*RECORDS, target], {**ANNOTATIONS, **hidden}))
    task = ShopTask("the-task", "test", "hard", 7.75, "Buy it")
    client = create_app(Site(Shop(catalog, SharedWords(catalog)), [task])).test_client()
    for answer in all_pages(client):
        answer.headers.remove("ETag")  # a file's time, in which any number may stand
        shown = f"{answer.text} {answer.headers}".lower()
        for word in (
            "b0target01", "goldattribute", "goldwish", "secrethue", "reward", "score", "progress", "goal", "the-task",
            "7.75", "rubber sole", "arch support",
        ):  # fmt: skip
            assert word not in shown


@given(st.text())
def test_any_text_survives_an_address(text: str) -> None:
    part = escaped(text)
    assert re.fullmatch(r"[A-Za-z0-9_~%+-]*", part)
    assert unescaped(unquote(part)) == text


PATHS = st.lists(st.text(max_size=20), max_size=7).map("/".join)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1, max_size=40), PATHS, st.sampled_from(["GET", "POST", "HEAD"]))
def test_no_query_and_no_address_breaks_it(client: FlaskClient, query: str, path: str, method: str) -> None:
    seen(client, "/me")
    assert seen(client, search(client, "me", query)).text.startswith("Instruction:")
    prefix = ("", "search_results/me/", "item_page/me/", "item_sub_page/me/", "done/me/", "picture/")[len(path) % 6]
    # As a server hands it on: the test client would take some of these for addresses of other hosts.
    raw = f"/{prefix}{path}".encode().decode("latin-1")
    answer = client.open("/", method=method, environ_overrides={"PATH_INFO": raw, "REQUEST_URI": quote(raw)})
    assert answer.status_code < 500

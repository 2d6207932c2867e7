"""The booking site: its pages are the text environment's, no GET changes anything, and nobody else can act."""

import random
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from hypothesis import settings

from iad_envs.booking.actions import read_action
from iad_envs.booking.addresses import path_of
from iad_envs.booking.engine import BookingEngine
from iad_envs.booking.env import BookingEnv
from iad_envs.booking.pages import kind_of, page_of
from iad_envs.booking.site.app import BookingSite, address_of, create_app
from iad_envs.booking.state import BookingState, Exchanged, Guest
from tests.iad_envs.booking.site.http_visitor import HttpPage, HttpVisitor
from tests.iad_envs.booking.site.small_world import PERSON, ROOM, SLUG, everything, made, start, states
from tests.iad_envs.booking.site_walks import choose
from webshop_server.site.server import Server
from webshop_server.site.strict_app import HEADERS

INJECTIONS = (
    *('"><script>alert(1)</script>', "' onfocus='alert(1)", "{{ 7 * 7 }}{% raw %}", "<!-- & -->", "</form><b>&lt;"),
    *("日本語 🦉 \u202e", "${7*7} %s %(x)s", "javascript:alert(1)", "--></style>", "a\\'b`c"),
)

KINDS = {"home", "results", "restaurant", "seating", "details", "confirmation", "mine", "cancel"}


@pytest.fixture(scope="module")
def engine() -> BookingEngine:
    return BookingEnv().engine


@pytest.fixture
def site(engine: BookingEngine) -> BookingSite:
    """A site on which everybody begins in the same state, and somebody wants a table at 8:30 PM."""
    return made(engine)


@pytest.fixture
def client(site: BookingSite) -> FlaskClient:
    return create_app(site).test_client()


@pytest.fixture
def me(client: FlaskClient) -> HttpVisitor:
    visitor = HttpVisitor(client, "me")
    visitor.home()
    return visitor


def at_details(me: HttpVisitor) -> HttpVisitor:
    """Hold a table and choose a seating where one is to be chosen."""
    page = me.get(f"/{me.session}{ROOM}")
    page = me.click(next(name for name in page.clickable if name.startswith("slot-")))
    for seat in [name for name in page.clickable if name.startswith("seat-")][:1]:
        me.click(seat)
    assert "complete" in me.page.clickable
    return me


def walk(engine: BookingEngine, visitor: HttpVisitor, site: BookingSite, text: BookingEnv, *, seed: int) -> set[str]:
    """Take the same random actions over HTTP and in the text environment, and return the kinds of pages that were seen.

    What is no request, as typing, is put into the session by whoever is the world's clock: here as in the browser.
    """
    rng, seen = random.Random(seed), set()
    info = text.reset(seed=seed)[1]
    button, action, done = "", "", False
    while True:
        state: BookingState = text.snapshot()._moment.state
        if button:
            page = visitor.click(button)
            assert site.sessions.get(visitor.session) == state, (seed, action)
        else:
            site.sessions.put(visitor.session, state)
            page = visitor.get(address_of(visitor.session, state.place))
        seen.add(kind_of(state))
        wanted = page_of(engine.world, state)
        assert (visitor.path, page.said("title")) == (f"/{visitor.session}{wanted.path}", [wanted.title])
        assert page.said("line") == [" ".join(line.split()) for line in wanted.lines]
        assert page.said("notice") == ([state.notice] if state.notice else [])
        assert page.elements == sorted((one.id, one.label, one.value) for one in wanted.elements)
        if done:
            return seen
        action = choose(info, rng)
        read = read_action(action)
        kind = {one["id"]: one["kind"] for one in info["page"]["elements"]}.get(read.target, "")
        _, _, terminated, truncated, info = text.step(action)
        done, is_valid = terminated or truncated, not info["invalid_action"]
        button = read.target if is_valid and read.verb == "CLICK" and kind in ("link", "button") else ""
        if read.verb == "SUBMIT" and is_valid:
            form = next(tag for tag in page.root.iter("form") if tag.get("id") == "page")
            button = next(form.iter("button")).attrib["data-click"]  # Enter presses the first one


def test_a_visitor_without_a_browser_and_the_text_environment_agree_on_random_episodes(engine: BookingEngine) -> None:
    site, text = BookingSite(engine, ()), BookingEnv()
    client, seen = create_app(site).test_client(), set[str]()
    for seed in range(settings.default.max_examples):
        seen |= walk(engine, HttpVisitor(client, f"walk{seed}"), site, text, seed=seed)
    assert seen == KINDS


def test_no_get_or_head_of_any_address_changes_anything(site: BookingSite, client: FlaskClient) -> None:
    kept = [state for _, state in states(site.engine)]
    assert {kind_of(state) for state in kept} >= KINDS
    for number, state in enumerate(kept):
        site.sessions.put(f"s{number}", state)
    before = everything(site.sessions)
    paths = {path_of(state.place) for state in kept}
    paths |= {"/confirmed/1", "/confirmed/7", "/mine/cancel", "/hold", "/complete"}
    for number in range(len(kept)):
        some = sorted(paths)[number % 12 :: 12]
        found = {f"/s{number}{path}{more}" for path in some for more in ("", "?do=complete", "&do=cancel-yes")}
        page = HttpPage(client.get(address_of(f"s{number}", kept[number].place)).text)
        found |= {tag.attrib["href"] for tag in page.having("href")}
        more = f"?do=complete&token={site.token(f's{number}')}"
        found |= {f"{tag.attrib['action']}{more}" for tag in page.having("action")}
        for ask in (client.get, client.head):
            assert all(ask(path, buffered=True).status_code in (200, 302, 404) for path in found - {"#main"})
    client.get("/somebody_new/mine")
    after = everything(site.sessions)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


def test_without_the_sessions_token_nothing_happens(me: HttpVisitor, site: BookingSite) -> None:
    at_details(me)
    before = everything(site.sessions)
    _, form = me.page.form_of("complete")
    for token in (None, "", "x" * 64, "é", site.token("other"), made(site.engine).token("me")):
        sent = {**form, **{name.replace("_", "-"): value for name, value in PERSON.items()}, "token": token}
        for path in (me.path, "/me/", "/me/mine/cancel", "/me/nothing"):
            answer = me.client.post(path, data={name: value for name, value in sent.items() if value is not None})
            assert (answer.status_code, "open the page again" in answer.text) == (403, True)
    assert everything(site.sessions) == before
    me.click("complete", **PERSON)
    assert site.state_of("me").booked


def test_a_table_is_booked_by_forms_alone_for_one_session(me: HttpVisitor, site: BookingSite) -> None:
    me.click("go", q="bistro fennel", city="port-alder")
    me.click(f"r-{SLUG}")
    me.click("find", date="2026-03-10", time="20:15", party="7")
    assert me.path == f"/me{ROOM}"
    me.click("slot-2030")
    me.click("seat-bar")
    you = HttpVisitor(me.client, "you")
    you.home()
    assert [me.client.get(path).status_code for path in ("/you/hold", "/me/confirmed/1")] == [404, 404]
    page = me.click("complete", **PERSON, note="By the wall")
    assert (me.path, page.clickable) == ("/me/confirmed/1", {})
    assert page.said("line")[-1] == "Note: By the wall"
    after = site.state_of("me")
    (booked,) = after.booked
    assert (booked.table.slug, booked.table.minute, booked.party) == (SLUG, 20 * 60 + 30, 7)
    assert booked.guest == Guest(*PERSON.values(), "By the wall")
    for path in ("/me/", "/me/mine", f"/me{ROOM}", "/me/hold"):
        pressed = me.client.post(path, data={"token": site.token("me"), "do": "home"})
        assert (pressed.status_code, pressed.location, me.client.get(path).location) == (303, *["/me/confirmed/1"] * 2)
    assert site.state_of("me") == after
    assert me.client.get("/you/confirmed/1").status_code == 404
    assert "Lovell" not in me.client.get("/you/mine").text + me.client.get("/you/confirmed/1").text


@pytest.mark.parametrize("said", INJECTIONS)
def test_what_is_typed_comes_back_as_text(me: HttpVisitor, site: BookingSite, said: str) -> None:
    plain = " ".join(said.split())
    assert me.click("go", q=said).values["q"] == plain
    check_tags(me.page)
    details = dict.fromkeys(("first_name", "last_name", "phone", "email", "note"), said)
    page = at_details(me).click("complete", **details)
    assert [value for _, _, value in page.elements if value] == [said] * 5
    check_tags(page)
    page = me.click("complete", **{**details, "phone": f"555-0123{said}", "email": "a@b.org"})
    assert page.said("line")[-1] == f"Note: {plain}"
    check_tags(page)
    shown = start(site.engine, instruction=said)._replace(notice=said, asked=(Exchanged(said, said),))
    site.sessions.put("me", shown)
    page = me.get("/me/")
    assert page.said("notice") == [plain]
    assert said in "".join(page.root.itertext())
    check_tags(page)
    for path in (f"/me/{quote(said, safe='')}", f"/me/r/{quote(said, safe='')}", f"/me/search?city={quote(said)}"):
        answer = me.client.get(path)
        assert answer.status_code == 404
        check_tags(HttpPage(answer.text))


def check_tags(page: HttpPage) -> None:
    """Nothing on a page comes from outside or runs."""
    for tag in page.root.iter():
        assert tag.tag not in ("script", "style", "iframe", "b", "object")
        assert not any(name.startswith("on") or name == "style" for name in tag.attrib)
        target = tag.get("src") or tag.get("href") or tag.get("action") or "/"
        assert target.startswith(("/", "#"))
        assert not target.startswith("//")
    text = "".join(page.root.itertext())
    assert "49" not in text or "7 * 7" in text


def test_every_answer_has_strict_headers_and_is_not_kept(me: HttpVisitor, client: FlaskClient) -> None:
    files = (f"/picture/{SLUG}.svg", "/static/booking.css", "/static/seat-bar.svg", "/frame/frame.css")
    pages = {"/": 302, "/me/": 200, "/me/hold": 404, "/health": 200, "/picture/nowhere.svg": 404}
    coded = [(client.get(path, buffered=True), code) for path, code in (pages | dict.fromkeys(files, 200)).items()]
    coded += [(client.head("/me/mine"), 200), (client.post("/me/"), 403), (client.put("/me/"), 405)]
    coded += [(client.post("/me/", data={"q": "x" * (1 << 17)}), 413), (me.send("go", city="nowhere"), 400)]
    coded += [(me.send("mine"), 303)]
    for answer, code in coded:
        assert answer.status_code == code
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert "Set-Cookie" not in answer.headers
        is_file = answer.request.path.startswith(("/static", "/frame", "/picture")) and answer.status_code == 200
        assert answer.headers["Cache-Control"].endswith("max-age=86400" if is_file else "no-store")


def test_a_form_that_is_sent_twice_acts_once(me: HttpVisitor, site: BookingSite) -> None:
    """A double click on a time that somebody else waits for would otherwise give the table up."""
    me.get(f"/me{ROOM}")
    assert {me.send("slot-2030").location for _ in range(2)} == {"/me/hold"}
    hold = site.state_of("me").hold
    assert hold is not None
    assert (hold.table.minute, site.state_of("me").steps) == (20 * 60 + 30, 1)
    me.get("/me/hold")
    me.click("seat-bar")
    # With other values it is another form.
    assert me.send("complete", first_name="Ada").location == "/me/hold"
    assert {me.send("complete", **PERSON).location for _ in range(2)} == {"/me/confirmed/1"}
    assert len(site.state_of("me").booked) == 1


def test_what_is_not_there_is_refused_and_a_click_after_going_back_counts(me: HttpVisitor, site: BookingSite) -> None:
    before, token = site.state_of("me"), site.token("me")
    for button in ("slot-0300", "complete", "cancel-yes", "", "nonsense", "go"):
        answer = me.client.post(f"/me{ROOM}", data={"token": token, "do": button})
        assert (answer.status_code, "the page has changed" in answer.text) == (409, True)
    for path in ("/me/hold", "/me/mine/cancel", "/me/confirmed/1", "/me/nothing"):
        assert me.client.post(path, data={"token": token, "do": "home"}).status_code == 404
    assert site.state_of("me") == before
    me.get(f"/me{ROOM}")
    me.click("slot-2030")
    me.get(f"/me{ROOM}")
    assert me.click("slot-2045").said("notice")[0].startswith("Your earlier hold was released")
    after = site.state_of("me")
    assert after.hold is not None
    assert (after.steps, after.hold.table.minute) == (2, 20 * 60 + 45)
    page = me.get(f"/me{ROOM}")
    assert ("slot-2030" in page.clickable, page.said("notice")) == (False, [])


@pytest.mark.parametrize(("field", "values", "said"), [
    ("date", ("2026-02-30", "2027-01-01"), "a date from 2026-03-02"), ("time", ("25:00",), "a time, such as 19:00"),
    ("party", ("9", "-1", "x" * 5000), "a party of 1 to 8"), ("first_name", ("x" * 501,), "at most 500 characters"),
    ("note", ("one\ntwo", "one\x00two", "\x1b[31m"), "without control characters"),
])  # fmt: skip
def test_what_can_be_in_no_field_is_said_and_changes_nothing(
    me: HttpVisitor, site: BookingSite, field: str, values: tuple[str, ...], said: str
) -> None:
    is_wish = field in ("date", "time", "party")
    button, other = ("find", {"date": "2026-04-01", "time": "18:00", "party": "2"}) if is_wish else ("complete", PERSON)
    me.get(f"/me{ROOM}")
    before = site.state_of(me.session) if is_wish else site.state_of(at_details(me).session)
    for value in values:
        answer = me.send(button, **{**other, field: value})
        assert (answer.status_code, said in answer.text, len(answer.text) < 20_000) == (400, True, True)
        assert site.state_of("me") == before
        kept = HttpPage(answer.text).values
        assert not is_wish or kept["date"] == ("2026-03-10" if field == "date" else "2026-04-01")
    assert me.send(button, **other).status_code == 303


def test_words_are_read_as_by_the_engine(me: HttpVisitor, site: BookingSite) -> None:
    me.click("go", q="bistro", city="norwick", date="never", first_name="x" * 999, steps="99", hold="1", scene="gold")
    typed = site.state_of("other")._replace(typed=(("q", "bistro"), ("city", "norwick")))
    assert site.state_of("me") == site.engine.act(typed, "CLICK [go]").state
    me.get(f"/me{ROOM}")
    me.click("find", date="June 17", time="7 pm", party="4 people")
    assert me.path == f"/me/r/{SLUG}?date=2026-06-17&time=19:00&party=4"
    page = me.click("find", date="", party="")
    assert (page.said("notice"), page.values["date"]) == (["Fill in: date, party."], "")


def test_other_addresses_are_pages_that_say_why_and_none_leads_to_another_host(engine: BookingEngine) -> None:
    client = create_app(made(engine)).test_client()
    for path in (
        *("/me//evil.example", "/me/%2f%2fevil.example", "/me/%5C%5Cevil.example", "/me/\\evil.example"),
        *("/me/r/..%2f..%2fmine", "/me/r/../mine", "/me/r/nowhere"),
        *(f"/me/r/{SLUG}?party=9", f"/me/r/{SLUG}?date=never"),
        *("/me/search?q=x&city=nowhere", "/me/search?page=0", "/me/search?page=100", "/me/mine?x=1", "/me/confirmed/0"),
        *("/me/search?q=a%00b", f"/me/search?q={'x' * 501}", "/m.e/mine", f"/{'x' * 65}/", "/x_fixed_1/", "/me/mine/"),
    ):
        answer = client.get(path)
        assert (answer.status_code, len(answer.text) < 3000) == (404, True), path
        HttpPage(answer.text)

    def ask(path: str) -> str:
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            return line.makefile("rb").read().decode()

    with Server(create_app(made(engine))) as server:
        for path in ("//evil.example", "//evil.example/me", "/me//evil.example/", "/me/..//mine", "/\\e.g"):
            head = ask(path)
            moved = re.search(r"\r\nLocation: http://localhost(/[^/\r]+/)\r\n", head)
            assert ("Location:" in head) == bool(moved), path
            assert (ask(moved[1]) if moved else head).startswith("HTTP/1.1 404 "), path


def test_a_page_is_the_same_when_it_is_opened_again_but_for_what_was_said_elsewhere(me: HttpVisitor) -> None:
    for query in ("a/b", "a\\b", "..", "a..b", "%2f%2f", "💺" * 400, "a+b&c=d#e?f"):
        assert me.click("go", q=query).values["q"] == query
    said = at_details(me).click("complete", first_name="Ada").said("notice")
    assert me.get("/me/").said("notice") == []
    assert me.get("/me/hold").said("notice") == said == ["Fill in: last name, phone, email."]
    assert me.page.values["first-name"] == "Ada"


def test_a_newcomer_gets_a_session_and_a_numbered_one_its_task(engine: BookingEngine) -> None:
    starts = [start(engine, instruction=f"Task {number}") for number in range(5)]
    site = BookingSite(engine, starts)
    client = create_app(site).test_client()
    first, second = client.get("/").location, client.get("/").location
    assert first != second
    assert "Task" in client.get(first).text
    assert "Task 3" in client.get("/x_fixed_3/").text
    mine, theirs = (client.get("/fixed_3/").location for _ in range(2))  # anybody may open it
    assert mine != theirs
    assert "Task 3" in client.get(mine).text
    assert site.token("fixed_3") not in client.get("/fixed_3/", follow_redirects=True).text
    assert client.get("/fixed_5/").status_code == 404
    assert client.get("/abc").location.endswith("/abc/")
    assert len({site.state_of(f"visit{number}").scene.instruction for number in range(60)}) == 5
    assert site.state_of("abc") == BookingSite(engine, starts).state_of("abc")
    assert create_app(BookingSite(engine, ())).test_client().get("/abc/").status_code == 404


def test_visitors_are_apart_and_clicks_of_one_come_in_turn(site: BookingSite) -> None:
    app, token = create_app(site), site.token("me")

    def visit(number: int) -> str:
        me = HttpVisitor(app.test_client(), f"visitor{number}")
        me.home()
        return at_details(me).click("complete", **{**PERSON, "first_name": f"Number{number}"}).said("line")[1]

    def click(number: int) -> int:
        return app.test_client().post("/me/", data={"token": token, "do": "go", "step": str(number)}).status_code

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(visit, range(16))) == [f"Name: Number{number} Lovell" for number in range(16)]
        assert set(pool.map(click, range(32))) == {303}
    assert site.state_of("me").steps == 32
    assert app.test_client().get("/health").json == {"status": "ok", "restaurants": 240, "sessions": 17}

"""The booking site: its pages are the text environment's, no GET changes anything, and nobody else can act."""

import random
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from hypothesis import settings

from iad_envs.booking.actions import read_action
from iad_envs.booking.addresses import path_of
from iad_envs.booking.engine import BookingEngine
from iad_envs.booking.env import BookingEnv
from iad_envs.booking.pages import kind_of, page_of, render_text
from iad_envs.booking.scoring import gold_actions
from iad_envs.booking.site.app import BookingSite, address_of, create_app
from iad_envs.booking.state import BookingState, Exchanged, Guest
from tests.iad_envs.booking.site.http_visitor import HttpPage, HttpVisitor
from tests.iad_envs.booking.site.small_world import (
    PERSON,
    ROOM,
    SLUG,
    bundled,
    everything,
    made,
    rival,
    start,
)
from tests.iad_envs.booking.site_walks import choose
from webshop_server.site.server import Server
from webshop_server.site.strict_app import HEADERS

INJECTIONS = (
    *('"><script>alert(1)</script>', "' onfocus='alert(1)", "{{ 7 * 7 }}{% raw %}", "<!-- & -->", "</form><b>&lt;"),
    *("日本語 🦉 \u202e", "${7*7} %s %(x)s", "javascript:alert(1)", "--></style>", "a\\'b`c"),
)


@pytest.fixture(scope="module")
def engine() -> BookingEngine:
    return bundled()


@pytest.fixture
def site(engine: BookingEngine) -> BookingSite:
    return made(engine)


@pytest.fixture
def client(site: BookingSite) -> FlaskClient:
    return create_app(site).test_client()


@pytest.fixture
def me(client: FlaskClient) -> HttpVisitor:
    visitor = HttpVisitor(client, "me")
    visitor.home()
    return visitor


def state_of(site: BookingSite, session: str = "me") -> BookingState:
    return site.state_of(session)


def at_details(me: HttpVisitor) -> HttpVisitor:
    """Hold a table and choose a seating where one is to be chosen."""
    me.get(f"/{me.session}{ROOM}")
    slot = next(name for name in me.page.clickable if name.startswith("slot-"))
    page = me.click(slot)
    seats = [name for name in page.clickable if name.startswith("seat-")]
    if seats:
        me.click(seats[0])
    assert "complete" in me.page.clickable
    return me


def test_a_table_is_booked_by_forms_alone(me: HttpVisitor, site: BookingSite) -> None:
    page = me.click("go", q="bistro fennel", city="port-alder")
    assert page.said("title") == ["Restaurants"]
    page = me.click(f"r-{SLUG}")
    page = me.click("find", date="2026-03-10", time="20:15", party="7")
    assert me.path == f"/me{ROOM}"
    page = me.click("slot-2030")
    assert page.said("title") == ["Seating"]
    page = me.click("seat-bar")
    assert "It is held for 9 more actions." in page.said("line")[0]
    page = me.click("complete", **PERSON, note="By the wall")
    assert (me.path, page.clickable) == ("/me/confirmed/1", {})
    (booked,) = state_of(site).booked
    assert (booked.table.slug, booked.table.minute, booked.party) == (SLUG, 20 * 60 + 30, 7)
    assert booked.guest == Guest("Ada", "Lovell", "555-0123", "ada@example.org", "By the wall")
    details = ["Name: Ada Lovell", "Phone: 555-0123", "Email: ada@example.org", "Note: By the wall"]
    assert page.said("line")[1:] == details


def walk(engine: BookingEngine, visitor: HttpVisitor, site: BookingSite, text: BookingEnv, *, seed: int) -> set[str]:
    """Take the same random actions over HTTP and in the text environment, and return the kinds of pages that were seen.

    What is no request, as typing, is put into the session by whoever is the world's clock: here as in the browser.
    """
    rng, seen = random.Random(seed), set()
    observation, info = text.reset(seed=seed)
    state: BookingState = text.snapshot()._moment.state
    site.sessions.put(visitor.session, state)
    page = visitor.get(address_of(visitor.session, state.place))
    done = False
    while not done:
        seen.add(kind_of(state))
        assert observation.startswith(render_text(engine.world, state, page_of(engine.world, state)).partition("\n")[0])
        assert_same(engine, state, page, visitor)
        action = choose(info, rng)
        read = read_action(action)
        kind = {one["id"]: one["kind"] for one in info["page"]["elements"]}.get(read.target, "")
        observation, _, terminated, truncated, info = text.step(action)
        state, done = text.snapshot()._moment.state, terminated or truncated
        button = "" if info["invalid_action"] or read.verb != "CLICK" or kind not in ("link", "button") else read.target
        if read.verb == "SUBMIT" and not info["invalid_action"]:
            button = next(name for name, tag in page.clickable.items() if tag.parent and is_default(page, name))
        if button:
            page = visitor.click(button)
            assert site.sessions.get(visitor.session) == state, (seed, action)
        else:
            site.sessions.put(visitor.session, state)
            page = visitor.get(address_of(visitor.session, state.place))
    assert_same(engine, state, page, visitor)
    return seen | {kind_of(state)}


def is_default(page: HttpPage, button: str) -> bool:
    """Whether Enter in a field presses this button: the first one of the form."""
    form = next(tag for tag in page.root.all(name="form") if tag.attributes.get("id") == "page")
    return next(form.all(name="button")) is page.clickable[button]


def assert_same(engine: BookingEngine, state: BookingState, page: HttpPage, visitor: HttpVisitor) -> None:
    wanted = page_of(engine.world, state)
    assert visitor.path == f"/{visitor.session}{wanted.path}"
    assert page.said("title") == [wanted.title]
    assert page.said("line") == [" ".join(line.split()) for line in wanted.lines]
    assert page.said("notice") == ([state.notice] if state.notice else [])
    assert page.elements == sorted((one.id, one.label, one.value) for one in wanted.elements)


def test_a_visitor_without_a_browser_and_the_text_environment_agree_on_random_episodes(engine: BookingEngine) -> None:
    site = BookingSite(engine, ())
    client, text = create_app(site).test_client(), BookingEnv()
    seen: set[str] = set()
    for seed in range(2 * settings.default.max_examples):
        seen |= walk(engine, HttpVisitor(client, f"walk{seed}"), site, text, seed=seed)
    assert seen == {"home", "results", "restaurant", "seating", "details", "confirmation", "mine", "cancel"}


def states(engine: BookingEngine) -> Iterator[BookingState]:
    """States of every kind of page, notices and answers of the user included."""
    env = BookingEnv()
    for kind in ("hidden_seating", "move", "second_page"):
        task = next(task for task in env._tasks.values() if kind in task.kinds)
        state = engine.start(task.scene, task.city, task.reservations)
        for action in gold_actions(engine, task):
            yield state
            state = engine.act(state, action).state
        yield state
    yield start(engine)._replace(notice="Something was said.", asked=(Exchanged("What?", "That."), Exchanged("Now?")))


def test_no_get_or_head_of_any_address_changes_anything(engine: BookingEngine) -> None:
    site = made(engine)
    client = create_app(site).test_client()
    kept = list(states(engine))
    for number, state in enumerate(kept):
        site.sessions.put(f"s{number}", state)
    before = everything(site.sessions)
    paths = {path_of(state.place) for state in kept}
    paths |= {"/confirmed/1", "/confirmed/7", "/mine/cancel", "/hold", "/complete"}
    for number in range(len(kept)):
        some = sorted(paths)[number % 6 :: 6]
        found = {f"/s{number}{path}{more}" for path in some for more in ("", "?do=complete", "&do=cancel-yes")}
        page = client.get(address_of(f"s{number}", kept[number].place)).text
        found |= {str(tag.attributes["href"]) for tag in HttpPage(page).root.all("href")}
        for tag in HttpPage(page).root.all("action"):
            found.add(f"{tag.attributes['action']}?do=complete&token={site.token(f's{number}')}")
        for path in sorted(found - {"#main"}):
            for ask in (client.get, client.head):
                assert ask(path, buffered=True).status_code in (200, 302, 404), path
    assert {kind_of(state) for state in kept} >= {"home", "results", "restaurant", "seating", "details", "confirmation"}
    after = everything(site.sessions)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    client.get("/somebody_new/mine")
    assert "somebody_new" not in everything(site.sessions)


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
    assert state_of(site).booked


def test_a_table_and_a_confirmation_are_nobody_elses(me: HttpVisitor, site: BookingSite, client: FlaskClient) -> None:
    at_details(me)
    you = HttpVisitor(client, "you")
    you.home()
    assert client.get("/you/hold").status_code == 404
    assert client.get("/me/confirmed/1").status_code == 404
    me.click("complete", **PERSON)
    answer = client.get("/you/confirmed/1")
    assert answer.status_code == 404
    assert "Lovell" not in answer.text
    assert "Lovell" not in client.get("/you/mine").text
    assert not state_of(site, "you").reservations


@pytest.mark.parametrize("said", INJECTIONS)
def test_what_is_typed_comes_back_as_text(me: HttpVisitor, site: BookingSite, said: str) -> None:
    me.click("go", q=said)
    assert {name: value for name, _, value in me.page.elements}["q"] == " ".join(said.split())
    check_tags(me)
    at_details(me)
    page = me.click("complete", first_name=said, last_name=said, phone=said, email=said, note=said)
    values = {name: value for name, _, value in page.elements}
    assert [values[name] for name in ("first-name", "last-name", "phone", "email", "note")] == [said] * 5
    check_tags(me)
    page = me.click("complete", first_name=said, last_name=said, phone=f"555-0123{said}", email="a@b.org", note=said)
    assert page.said("line")[-1] == " ".join(f"Note: {said}".split())
    check_tags(me)
    shown = start(site.engine, instruction=said)._replace(notice=said, asked=(Exchanged(said, said),))
    site.sessions.put("me", shown)
    page = me.get("/me/")
    assert page.said("notice") == [" ".join(said.split())]
    assert said in page.root.text
    check_tags(me)
    for path in (f"/me/{quote(said, safe='')}", f"/me/r/{quote(said, safe='')}", f"/me/search?city={quote(said)}"):
        answer = me.client.get(path)
        assert answer.status_code == 404
        check_tags(HttpVisitor(me.client, "me"), answer.text)


def check_tags(visitor: HttpVisitor, html: str = "") -> None:
    """Nothing on a page comes from outside or runs."""
    page = HttpPage(html) if html else visitor.page
    for tag in page.root.all(name="", attribute=""):
        assert tag.name not in ("script", "style", "iframe", "b", "object")
        assert not any(name.startswith("on") or name == "style" for name in tag.attributes)
        target = tag.attributes.get("src") or tag.attributes.get("href") or tag.attributes.get("action") or "/"
        assert target.startswith(("/", "#"))
        assert not target.startswith("//")
    assert "49" not in page.root.text or "7 * 7" in page.root.text


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


def test_a_form_that_is_sent_twice_acts_once(engine: BookingEngine) -> None:
    """A double click on a time that somebody else waits for would otherwise give the table up."""
    site = made(engine, start(engine, rival(20 * 60 + 30, 20)))
    me = HttpVisitor(create_app(site).test_client(), "me")
    me.get(f"/me{ROOM}")
    first, second = me.send("slot-2030"), me.send("slot-2030")
    assert first.location == second.location == "/me/hold"
    hold = state_of(site).hold
    assert hold is not None
    assert (hold.table.minute, state_of(site).steps) == (20 * 60 + 30, 1)
    page = me.get("/me/hold")
    seats = [name for name in page.clickable if name.startswith("seat-")]
    if seats:
        me.click(seats[0])
    twice = [me.send("complete", **PERSON) for _ in range(2)]
    assert [answer.location for answer in twice] == ["/me/confirmed/1"] * 2
    assert len(state_of(site).booked) == 1


def test_a_click_after_going_back_is_an_action_like_any_other(engine: BookingEngine) -> None:
    site = made(engine, start(engine, rival(20 * 60 + 30, 20)))
    me = HttpVisitor(create_app(site).test_client(), "me")
    me.get(f"/me{ROOM}")
    me.click("slot-2030")
    me.get(f"/me{ROOM}")
    assert state_of(site).steps == 1
    page = me.click("slot-2045")
    hold = state_of(site).hold
    assert hold is not None
    assert hold.table.minute == 20 * 60 + 45
    assert page.said("notice")[0].startswith("Your earlier hold was released")
    me.get(f"/me{ROOM}")
    assert "slot-2030" not in me.page.clickable
    assert me.page.said("notice") == []


def test_what_a_page_no_longer_has_is_refused_and_costs_nothing(me: HttpVisitor, site: BookingSite) -> None:
    me.get(f"/me{ROOM}")
    before = state_of(site)
    for button in ("slot-0300", "complete", "cancel-yes", "", "nonsense", "go"):
        answer = me.client.post(f"/me{ROOM}", data={"token": site.token("me"), "do": button})
        assert answer.status_code == 409
        assert "the page has changed" in answer.text
        assert state_of(site) == before
    for path in ("/me/hold", "/me/mine/cancel", "/me/confirmed/1", "/me/nothing"):
        answer = me.client.post(path, data={"token": site.token("me"), "do": "home"})
        assert answer.status_code == 404
    assert state_of(site) == before


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        *(({"date": date}, "a date from 2026-03-02") for date in ("2026-02-30", "2027-01-01")),
        ({"time": "25:00"}, "a time, such as 19:00"),
        *(({"party": party}, "a party of 1 to 8") for party in ("9", "-1", "x" * 5000)),
        ({"first_name": "x" * 501}, "at most 500 characters"),
        *(({"note": note}, "without control characters") for note in ("one\ntwo", "one\x00two", "\x1b[31m")),
    ],
)
def test_what_can_be_in_no_field_is_said_and_changes_nothing(
    me: HttpVisitor, site: BookingSite, typed: dict[str, str], said: str
) -> None:
    is_wish = not {"first_name", "note"} & typed.keys()
    button, other = ("find", {"date": "2026-04-01", "time": "18:00", "party": "2"}) if is_wish else ("complete", PERSON)
    if is_wish:
        me.get(f"/me{ROOM}")
    else:
        at_details(me)
    before = state_of(site)
    answer = me.send(button, **{**other, **typed})
    assert (answer.status_code, said in answer.text, len(answer.text) < 20_000) == (400, True, True)
    assert state_of(site) == before
    kept = {name: value for name, _, value in HttpPage(answer.text).elements}
    assert not is_wish or kept["date"] == ("2026-03-10" if "date" in typed else "2026-04-01")
    assert me.send(button, **other).status_code == 303


def test_words_are_read_as_the_engine_reads_them_and_empty_fields_are_said(me: HttpVisitor, site: BookingSite) -> None:
    me.get(f"/me{ROOM}")
    page = me.click("find", date="June 17", time="7 pm", party="4 people")
    assert me.path == f"/me/r/{SLUG}?date=2026-06-17&time=19:00&party=4"
    page = me.click("find", date="", party="")
    assert page.said("notice") == ["Fill in: date, party."]
    assert {name: value for name, _, value in page.elements}["date"] == ""


def test_fields_that_are_not_on_the_page_are_ignored(me: HttpVisitor, site: BookingSite) -> None:
    me.click("go", q="bistro", city="norwick", date="never", first_name="x" * 999, steps="99", hold="1", scene="gold")
    typed = start(site.engine)._replace(typed=(("q", "bistro"), ("city", "norwick")))
    assert state_of(site) == site.engine.act(typed, "CLICK [go]").state


def test_what_is_typed_is_in_no_address_but_for_what_is_searched(me: HttpVisitor) -> None:
    at_details(me)
    # twice from the same page: with other values it is another form
    paths = [me.send("complete", first_name="Ada").location, me.send("complete", **PERSON).location]
    assert paths == ["/me/hold", "/me/confirmed/1"]


@pytest.mark.parametrize(
    "path",
    [
        *("/me//evil.example", "/me/%2f%2fevil.example", "/me/%5C%5Cevil.example", "/me/\\evil.example"),
        *("/me/r/..%2f..%2fmine", "/me/r/../mine", "/me/r/nowhere"),
        *(f"/me/r/{SLUG}?party=9", f"/me/r/{SLUG}?date=never"),
        *("/me/search?q=x&city=nowhere", "/me/search?page=0", "/me/search?page=100", "/me/mine?x=1", "/me/confirmed/0"),
        *("/me/search?q=a%00b", f"/me/search?q={'x' * 501}", "/m.e/mine", f"/{'x' * 65}/", "/x_fixed_1/", "/me/mine/"),
    ],
)
def test_other_addresses_are_pages_that_say_why(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert len(answer.text) < 3000
    HttpPage(answer.text)


def test_no_address_leads_to_another_host(engine: BookingEngine) -> None:
    def ask(path: str) -> str:
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            return line.makefile("rb").read().decode()

    with Server(create_app(made(engine))) as server:
        for path in ("//evil.example", "//evil.example/me", "/me//evil.example/", "/me/..//mine", "/\\e.g"):
            answer = ask(path)
            moved = re.search(r"\r\nLocation: http://localhost(/[^/\r]+/)\r\n", answer)
            assert ("Location:" in answer) == bool(moved), path
            assert (ask(moved[1]) if moved else answer).startswith("HTTP/1.1 404 "), path


@pytest.mark.parametrize("query", ["a/b", "a\\b", "..", "a..b", "%2f%2f", "💺" * 400, "a+b&c=d#e?f"])
def test_whatever_was_searched_for_has_an_address_that_can_be_opened_again(me: HttpVisitor, query: str) -> None:
    page = me.click("go", q=query)
    assert {name: value for name, _, value in page.elements}["q"] == query


def test_a_newcomer_gets_a_session_and_a_numbered_one_its_task(engine: BookingEngine) -> None:
    site = BookingSite(engine, [start(engine, instruction=f"Task {number}") for number in range(5)])
    client = create_app(site).test_client()
    first, second = client.get("/").location, client.get("/").location
    assert first != second
    assert "Task" in client.get(first).text
    assert "Task 3" in client.get("/x_fixed_3/").text
    assert client.get("/fixed_5/").status_code == 404
    assert client.get("/abc").location.endswith("/abc/")
    drawn = {site.state_of(f"visit{number}").scene.instruction for number in range(60)}
    assert len(drawn) == 5
    assert site.state_of("abc") == BookingSite(engine, site._starts).state_of("abc")
    nobodys = create_app(BookingSite(engine, ())).test_client()
    assert nobodys.get("/abc/").status_code == 404


def test_after_the_end_there_is_only_the_confirmation(me: HttpVisitor, site: BookingSite) -> None:
    at_details(me)
    me.click("complete", **PERSON)
    after = state_of(site)
    for path in ("/me/", "/me/mine", f"/me{ROOM}", "/me/hold"):
        assert me.client.get(path).location == "/me/confirmed/1"
        answer = me.client.post(path, data={"token": site.token("me"), "do": "home"})
        assert (answer.status_code, answer.location) == (303, "/me/confirmed/1")
    assert state_of(site) == after


def test_a_page_seen_again_says_nothing_of_what_was_said_elsewhere(me: HttpVisitor, site: BookingSite) -> None:
    at_details(me)
    page = me.click("complete", first_name="Ada")
    assert page.said("notice") == ["Fill in: last name, phone, email."]
    assert me.get("/me/").said("notice") == []
    assert me.get("/me/hold").said("notice") == ["Fill in: last name, phone, email."]
    assert {name: value for name, _, value in me.page.elements}["first-name"] == "Ada"


def test_enter_presses_the_button_that_the_engine_submits(engine: BookingEngine) -> None:
    site = made(engine)
    visitor = HttpVisitor(create_app(site).test_client(), "me")
    for state in states(engine):
        fields = [one.id for one in page_of(engine.world, state).elements if one.kind == "field"]
        if fields:
            site.sessions.put("me", state)
            page = visitor.get(address_of("me", state.place))
            (default,) = [name for name in page.clickable if is_default(page, name)]
            submitted = engine.act(state, f"SUBMIT [{fields[0]}]").state
            assert submitted == engine.press(state, default).state


def test_many_visitors_at_once_keep_their_sessions_apart(engine: BookingEngine) -> None:
    site = made(engine)
    app = create_app(site)

    def visit(number: int) -> str:
        me = HttpVisitor(app.test_client(), f"visitor{number}")
        me.home()
        at_details(me)
        me.click("complete", **{**PERSON, "first_name": f"Number{number}"})
        return me.page.said("line")[1]

    with ThreadPoolExecutor(16) as pool:
        names = list(pool.map(visit, range(16)))
    assert names == [f"Name: Number{number} Lovell" for number in range(16)]
    assert len(everything(site.sessions)) == 16


def test_clicks_of_one_session_at_once_are_one_after_the_other(engine: BookingEngine) -> None:
    site = made(engine)
    app = create_app(site)
    token = site.token("me")

    def click(number: int) -> Any:
        return app.test_client().post("/me/", data={"token": token, "do": "go", "step": str(number)}).status_code

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(click, range(32))) == {303}
    assert state_of(site).steps == 32


def test_health_says_how_many_there_are(client: FlaskClient, me: HttpVisitor) -> None:
    me.click("go")
    assert client.get("/health").json == {"status": "ok", "restaurants": 240, "sessions": 1}

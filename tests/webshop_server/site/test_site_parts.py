"""What sites are made of: sessions, pictures, and the hosts that they answer."""

import asyncio
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.webshop_server.small_shop import RECORDS, record, write_folder
from webshop_server.catalog import Product, load_catalog
from webshop_server.site.hosts import OwnHostsAsgi
from webshop_server.site.pictures import _drawings, picture, shape_of
from webshop_server.site.sessions import SESSION_ID, Sessions


def test_a_session_is_freed_when_it_was_idle_for_too_long_and_kept_while_it_is_used() -> None:
    now = [0.0]
    sessions: Sessions[str] = Sessions(idle_s=100, clock=lambda: now[0])
    sessions.put("idle", "there")
    sessions.put("used", "here")
    for now[0] in (60.0, 120.0, 180.0):
        assert sessions.get("used") == "here"
    assert sessions.get("idle") is None
    assert len(sessions) == 1
    now[0] = 281.0
    assert len(sessions) == 0


def test_over_the_limit_the_longest_unused_is_freed() -> None:
    sessions: Sessions[str] = Sessions(max_sessions=3)
    for name in "abc":
        sessions.put(name, "buy")
    sessions.get("a")
    sessions.put("d", "buy")
    assert [name for name in "abcd" if sessions.get(name)] == ["a", "c", "d"]
    for number in range(1000):
        sessions.put(str(number), "buy")
    assert (len(sessions), sessions.get("999"), sessions.get("990")) == (3, "buy", None)


def test_limits_that_keep_nothing_are_refused_and_names_need_no_escape_in_an_address() -> None:
    for limits in ({"idle_s": 0}, {"max_sessions": 0}, {"idle_s": float("nan")}):
        with pytest.raises(ValueError, match="1 or more"):
            Sessions(**limits)  # type: ignore[arg-type]
    assert all(SESSION_ID.fullmatch(name) for name in ("a", "me_2-x", "x" * 64))
    assert not any(SESSION_ID.fullmatch(name) for name in ("", "a b", "a/b", "a.b", "é", "x" * 65))


def products(tmp_path: Path, **fields: str) -> list[Product]:
    return list(load_catalog(write_folder(tmp_path, [record("B000THING1", "Thing", **fields), *RECORDS])))


def test_every_drawing_is_a_picture_that_loads_nothing_and_every_word_and_category_leads_to_one() -> None:
    drawings = _drawings()
    places = {"d", "x", "y", "rx", "ry", "cx", "cy", "r", "width", "height"}
    strokes = {"fill", "stroke", "stroke-width", "stroke-linecap", "stroke-dasharray"}
    for shape, body in drawings["shapes"].items():
        body = body.replace("MAIN", "#000").replace("DARK", "#000").replace("LIGHT", "#000")
        tree = ElementTree.fromstring(f"<g>{body}</g>")
        assert {element.tag for element in tree.iter()} <= {"g", "path", "rect", "circle"}, shape
        assert {name for element in tree.iter() for name in element.attrib} <= places | strokes, shape
    assert {shape for _, shape in drawings["words"]} | set(drawings["categories"].values()) <= set(drawings["shapes"])
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in (*drawings["colours"].values(), *drawings["tints"]))
    assert set(drawings["own_colours"]) <= set(drawings["colours"])


def test_a_picture_is_the_same_every_time_and_takes_the_chosen_colour(tmp_path: Path) -> None:
    one, other = products(tmp_path)[0], products(tmp_path)[0]
    assert picture(one) == picture(other)
    red = _drawings()["colours"]["red"]
    assert red in picture(one, "dark red")
    assert picture(one, '"><script>') == picture(one)
    assert len({picture(product) for product in products(tmp_path)}) > 12
    for fields, shape in (
        ({"query": "hdmi cables"}, "cable"),
        ({"query": "something new", "category": "grocery"}, "pouch"),
        ({"query": "something new", "category": "unheard of"}, "box"),
    ):
        assert shape_of(products(tmp_path, **fields)[0]) == shape


HERE = "127.0.0.1:3000"
OWN = [
    {},  # only HTTP/1.0 can do without
    *({"host": host} for host in (HERE, "localhost", "[::1]:3000")),
    *({"host": HERE, "origin": origin} for origin in (f"http://{HERE}", "http://localhost:5173")),
]
OTHERS = [
    *({"host": host} for host in ("shop.example:3000", "127.0.0.1.shop.example", "192.0.2.1:3000")),
    *({"host": HERE, "origin": origin} for origin in ("http://shop.example", "null", "http://127.0.0.1@shop.example")),
]


def asked(kind: str, headers: dict[str, str], bound: str = "127.0.0.1") -> list[dict[str, Any]]:
    """What the application, or what stands before it, sends."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def greeting(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "greeting", "scope": scope["type"]})

    scope = {"type": kind, "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
    asyncio.run(OwnHostsAsgi(greeting, bound)(scope, receive, send))  # type: ignore[arg-type]
    return sent


def test_requests_to_this_machine_are_passed_on() -> None:
    for kind in ("http", "websocket"):
        for headers in OWN:
            assert asked(kind, headers) == [{"type": "greeting", "scope": kind}]
    assert asked("lifespan", OTHERS[0]) == [{"type": "greeting", "scope": "lifespan"}]  # the start of a server
    assert asked("http", {"host": "192.0.2.1:3000"}, bound="0.0.0.0") == [{"type": "greeting", "scope": "http"}]


@pytest.mark.parametrize("headers", OTHERS)
def test_requests_to_another_host_or_from_another_site_are_refused(headers: dict[str, str]) -> None:
    start, body = asked("http", headers)
    assert start["status"] == 403
    assert int(dict(start["headers"])[b"content-length"]) == len(body["body"])
    header, given = list(headers.items())[-1]
    assert f"the header {header.title()} with an address of this machine, got {given!r}" in body["body"].decode()
    assert asked("websocket", headers) == [{"type": "websocket.close", "code": 1008}]  # before it is open

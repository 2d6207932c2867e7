"""The JSON API: closed to others, the same as the local shop, and unimpressed by nonsense."""

from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webshop_server.engine import ShopState
from webshop_server.remote.api import create_api
from webshop_server.remote.wire import state_to_json
from webshop_server.site.app import Site, create_app
from webshop_server.storefront import LocalStorefront

TOKEN = "a token that nobody guesses"
KNOWS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def client(front: LocalStorefront) -> FlaskClient:
    api = create_api(front, token=TOKEN, data={"name": "small", "digest": "0"})
    return create_app(Site(front.shop, front.tasks), api=api).test_client()


def ask(client: FlaskClient, name: str, **question: Any) -> Any:
    shop = client.get("/api/shop", headers=KNOWS).get_json()["shop"]
    return client.post(f"/api/{name}", json={"shop": shop, **question}, headers=KNOWS)


@pytest.mark.parametrize(
    "given",
    [None, "", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer ü"],
)
def test_nobody_gets_in_without_the_token(client: FlaskClient, given: str | None) -> None:
    headers = {"Cookie": f"token={TOKEN}"} if given is None else {"Authorization": given}
    for answer in (
        client.get("/api/shop", headers=headers),
        client.get(f"/api/shop?token={TOKEN}", headers=headers),
        client.post("/api/reference", json={"task_id": "synthetic-0"}, headers=headers),
    ):
        assert answer.status_code == 401
        assert "Authorization: Bearer" in answer.get_json()["error"]
        assert TOKEN not in answer.text


def test_a_token_that_is_no_secret_is_refused(front: LocalStorefront) -> None:
    with pytest.raises(ValueError, match="16 characters or more, got 5"):
        create_api(front, token="short", data={})


def test_only_what_scores_tells_gold(client: FlaskClient, front: LocalStorefront) -> None:
    state = state_to_json(ShopState("buy"))
    for name in ("act", "look"):
        said = ask(client, name, state=state, action="search[acme]", mode="text").text.lower()
        assert not any(word in said for word in ("reward", "progress", "rubber sole", "price_upper"))
    listed = client.get("/api/shop", headers=KNOWS).text
    assert not any(f'"{task.task_id}' in listed and "B000SHOE01" in listed for task in front.tasks)


def test_a_shop_with_other_rules_or_data_is_another_shop(front: LocalStorefront, client: FlaskClient) -> None:
    other = create_api(front, token=TOKEN, data={"name": "other", "digest": "1"})
    elsewhere = create_app(Site(front.shop, front.tasks), api=other).test_client()
    shop = client.get("/api/shop", headers=KNOWS).get_json()["shop"]
    answer = elsewhere.post("/api/look", json={"shop": shop}, headers=KNOWS)
    assert answer.status_code == 409
    assert "other data or rules" in answer.get_json()["error"]


START: list[Any] = ["buy", "index", "", 0, "", [], []]


MOON = ["buy", "results", "x", 1, "moon", [], []]
MALFORMED: list[tuple[str, dict[str, Any], str]] = [
    ("act", {}, "list of 7 fields"),
    ("act", {"state": START[:6], "action": "x", "mode": "text"}, "list of 7 fields"),
    ("act", {"state": START, "mode": "text"}, "a text 'action'"),
    ("act", {"state": START, "action": "x", "mode": "html"}, "a mode, one of text"),
    ("act", {"state": MOON, "action": "x", "mode": "text"}, "the id of a product"),
    ("look", {"state": ["buy", "moon", "", 0, "", [], []], "mode": "text"}, "a kind of page"),
    ("look", {"state": ["buy", "index", "", 0, "moon", [], []], "mode": "text"}, "the id of a product"),
    ("look", {"state": ["buy", "results", "x" * 5000, 1, "", [], []], "mode": "text"}, "a kind of page"),
    ("look", {"state": ["buy", "item", "", 1, "B000NOPE00", [], []], "mode": "text"}, "id of a product"),
    ("look", {"state": ["buy", "item", "", 1, "", [], []], "mode": "text"}, "id of a product"),
    ("look", {"state": ["buy", "item", "", 1, "B000SHOE01", [["color", "pink"]], []], "mode": "text"}, "option of"),
    ("look", {"state": ["buy", "results", "", 1, "", [["color"]], []], "mode": "text"}, "pairs of texts"),
    ("look", {"state": START, "mode": "text", "score": "high"}, "'score' as a number"),
    ("assess", {"state": START, "task_id": "nope", "before": [0, 0, 0, 0], "progress_mode": "off"}, "id of a task"),
    ("assess", {"state": START, "task_id": "synthetic-0", "before": [0], "progress_mode": "off"}, "4 numbers"),
    ("assess", {"state": START, "task_id": "synthetic-0", "before": [0, 0, 0, 0]}, "a progress_mode"),
    ("reference", {"task_id": 7}, "a text 'task_id'"),
]


def test_a_malformed_question_is_told_what_was_expected(client: FlaskClient) -> None:
    for name, question, said in MALFORMED:
        answer = ask(client, name, **question)
        assert (answer.status_code, said in answer.get_json()["error"]) == (400, True), (name, question)


DEEP = (b"[" * 100_000, b'{"shop":' * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"state":' + b"[" * 900 + b"]" * 900)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b"\xff", *DEEP], ids=lambda body: repr(body[:8]))
def test_what_is_no_question_at_all_is_refused(client: FlaskClient, body: bytes) -> None:
    client.application.testing = False  # so that an error is an answer, as it is in a server
    for name in ("act", "reference"):
        answer = client.post(f"/api/{name}", data=body, headers=KNOWS | {"Content-Type": "application/json"})
        told = "expected" in answer.get_json()["error"] or body not in DEEP[:3]
        assert (answer.status_code, told) == (400, True)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
texts = st.sampled_from(["", "index", "results", "item", "done", "features", "B000SHOE01", "x"]) | json_values
states = st.tuples(texts, texts, texts, st.integers() | json_values, texts, json_values, json_values).map(list)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["act", "look", "assess", "reference"]),
    states | json_values,
    st.sampled_from(["search[x]", "click[buy now]", "click[back to search]", ""]),
)
def test_no_state_breaks_the_server(client: FlaskClient, name: str, state: Any, action: str) -> None:
    others = {"task_id": "synthetic-0", "before": [0, 0, 0, 0], "progress_mode": "maximum"}
    answer = ask(client, name, state=state, action=action, mode="text_rich", **others)
    assert answer.status_code in (200, 400)

"""The shop's JSON API for environments. Clients need a token.

The API is stateless. Every request carries its shop state, so requests can be repeated, and any number of workers and
servers with the same data can share the load. Progress and rewards leave the server only through this API.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, abort, jsonify, request
from werkzeug.exceptions import HTTPException

from webshop_server.engine import MAX_RESULTS, ShopState
from webshop_server.pages import RENDERERS
from webshop_server.remote.wire import (
    VERSION,
    WireError,
    progress_from_json,
    require_shown,
    state_from_json,
    state_to_json,
)
from webshop_server.storefront import PROGRESS_MODES, LocalStorefront

Question = Mapping[str, Any]


def create_api(front: LocalStorefront, *, token: str, data: Mapping[str, str]) -> Blueprint:
    """Return the API as a blueprint of `create_app`.

    Args:
        front: The shop.
        token: The secret that clients must send.
        data: Identifies the shop's data, for example `name` and `digest`. It is sent to clients.

    Raises:
        ValueError: The token is too short to be a secret.
    """
    if len(token) < 16:
        raise ValueError(f"expected a token of 16 characters or more, got {len(token)}; leave it out to get one")
    shop = front.shop
    rules = (shop.page_size, MAX_RESULTS, shop.max_pages, shop.show_attributes, shop.special_queries)
    named = json.dumps([VERSION, dict(data), *rules, shop.search_anywhere, shop.search.name], sort_keys=True)
    etag = hashlib.blake2b(named.encode(), digest_size=8).hexdigest()
    about = {"version": VERSION, "shop": etag, "data": dict(data), "tasks": [list(task) for task in front.tasks]}
    api = Blueprint("api", __name__, url_prefix="/api")
    deep = "expected a JSON object of a few levels, got one that is nested too deeply; use the client of this version"
    api.register_error_handler(WireError, lambda error: (jsonify(error=str(error)), 400))
    api.register_error_handler(RecursionError, lambda error: (jsonify(error=deep), 400))
    api.register_error_handler(HTTPException, lambda error: (jsonify(error=error.description or ""), error.code or 500))

    @api.before_request
    def require_token() -> None:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        is_known = hmac.compare_digest(given.strip().encode(), token.encode())
        if not is_known or scheme.lower() != "bearer":
            abort(401, "expected the header 'Authorization: Bearer <token>' with this server's token, got another")

    def asked() -> Question:
        question = request.get_json()
        if not isinstance(question, dict):
            raise WireError("expected a JSON object, got another value; use the client of this version")
        if question.get("shop") != etag:
            abort(
                409,
                "expected the shop that was opened, got one with other data or rules; create the environment again",
            )
        return question

    def state_of(question: Question) -> ShopState:
        state = state_from_json(question.get("state"))
        require_shown(shop, state)
        return state

    def task_of(question: Question) -> str:
        task_id = _text(question, "task_id")
        try:
            return front.task(task_id).task_id
        except KeyError:
            raise WireError(f"expected the id of a task, got {task_id!r:.60}; see /api/shop for the ids") from None

    @api.get("/shop")
    def opened() -> Response:
        return jsonify(about)

    @api.post("/act")
    def act() -> Response:
        question = asked()
        state = state_of(question)
        after, invalid = front.act(state, _text(question, "action"), _mode(question))
        view = front.view(after, _mode(question))
        return jsonify(state=state_to_json(after), invalid=invalid, sight=view._asdict())

    @api.post("/look")
    def look() -> Response:
        question = asked()
        score = question.get("score")
        if score is not None and not isinstance(score, int | float):
            raise WireError("expected 'score' as a number, got another value; leave it out")
        return jsonify(front.view(state_of(question), _mode(question), score)._asdict())

    @api.post("/assess")
    def assess() -> Response:
        question = asked()
        mode = question.get("progress_mode")
        if mode not in PROGRESS_MODES:
            raise WireError(f"expected a progress_mode, one of {', '.join(PROGRESS_MODES)}, got {mode!r:.40}; use one")
        before = progress_from_json(question.get("before"))
        found = front.assess(task_of(question), state_of(question), before, mode)
        return jsonify(progress=list(found.progress), reward=found.reward, parts=found.parts)

    @api.post("/reference")
    def reference() -> Response:
        return jsonify(front.reference(task_of(asked())))

    return api


def _text(question: Question, key: str) -> str:
    value = question.get(key)
    if not isinstance(value, str):
        raise WireError(f"expected a text {key!r}, got {value!r:.40}; use the client of this version")
    return value


def _mode(question: Question) -> str:
    mode = _text(question, "mode")
    if mode not in RENDERERS:
        raise WireError(f"expected a mode, one of {', '.join(RENDERERS)}, got {mode!r:.40}; use one of these")
    return mode

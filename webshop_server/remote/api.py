"""The shop's JSON API for environments. Clients need a token.

The API is stateless. Every request carries its shop state, so requests can be repeated, and any number of workers and
servers with the same data can share the load. Progress and rewards leave the server only through this API.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any

from flask import Blueprint, Response, abort, jsonify, request
from werkzeug.exceptions import HTTPException

from webshop_server.pages import RENDERERS
from webshop_server.remote.wire import (
    VERSION,
    WireError,
    progress_from_json,
    require_shown,
    state_from_json,
    state_to_json,
    view_to_json,
)
from webshop_server.storefront import PROGRESS_MODES, LocalStorefront

MIN_TOKEN_LENGTH = 16
TOO_DEEP = "expected a JSON object of a few levels, got one that is nested too deeply; use the client of this version"
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
    if len(token) < MIN_TOKEN_LENGTH:
        raise ValueError(
            f"expected a token of {MIN_TOKEN_LENGTH} characters or more, got {len(token)}; leave it out to get one"
        )
    endpoints = _Endpoints(front, token, data)
    api = Blueprint("api", __name__, url_prefix="/api")
    api.before_request(endpoints.require_token)
    api.register_error_handler(WireError, lambda error: _error(str(error), 400))
    api.register_error_handler(RecursionError, lambda error: _error(TOO_DEEP, 400))
    api.register_error_handler(HTTPException, lambda error: _error(error.description or "", error.code or 500))
    api.add_url_rule("/shop", view_func=endpoints.shop, methods=["GET"])
    for name, answer in (
        ("act", endpoints.act),
        ("look", endpoints.view),
        ("assess", endpoints.assess),
        ("reference", endpoints.reference),
    ):
        api.add_url_rule(f"/{name}", name, endpoints.answering(answer), methods=["POST"])
    return api


class _Endpoints:
    def __init__(self, front: LocalStorefront, token: str, data: Mapping[str, str]) -> None:
        self._front = front
        self._token = token.encode()
        shop = front.shop
        rules = (shop.page_size, shop.max_results, shop.max_pages, shop.show_attributes, shop.special_queries)
        named = json.dumps([VERSION, dict(data), *rules, shop.search_anywhere, shop.search.name], sort_keys=True)
        self._etag = hashlib.blake2b(named.encode(), digest_size=8).hexdigest()
        self._about = {
            "version": VERSION,
            "shop": self._etag,
            "data": dict(data),
            "tasks": [list(task) for task in front.tasks],
        }

    def require_token(self) -> None:
        """Refuse a request without the token, in constant time."""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        is_known = hmac.compare_digest(given.strip().encode(), self._token)
        if not is_known or scheme.lower() != "bearer":
            abort(401, "expected the header 'Authorization: Bearer <token>' with this server's token, got another")

    def shop(self) -> Response:
        """Return the shop's data, rules and tasks."""
        return jsonify(self._about)

    def answering(self, answer: Callable[[Question], Any]) -> Callable[[], Response]:
        """Return the view function of a question: JSON object in, JSON object out."""

        def respond() -> Response:
            question = request.get_json()
            if not isinstance(question, dict):
                raise WireError("expected a JSON object, got another value; use the client of this version")
            if question.get("shop") != self._etag:
                abort(
                    409,
                    "expected the shop that was opened, got one with other data or rules; create the environment again",
                )
            return jsonify(answer(question))

        return respond

    def act(self, question: Question) -> Any:
        """Return the state after an action, and its view."""
        state = self._state(question)
        after, invalid = self._front.act(state, _text(question, "action"), _mode(question))
        view = self._front.view(after, _mode(question))
        return {"state": state_to_json(after), "invalid": invalid, "sight": view_to_json(view)}

    def view(self, question: Question) -> Any:
        """Return the view of a state."""
        score = question.get("score")
        if score is not None and not isinstance(score, int | float):
            raise WireError("expected 'score' as a number, got another value; leave it out")
        return view_to_json(self._front.view(self._state(question), _mode(question), score))

    def assess(self, question: Question) -> Any:
        """Return the gold assessment of a state."""
        mode = question.get("progress_mode")
        if mode not in PROGRESS_MODES:
            raise WireError(f"expected a progress_mode, one of {', '.join(PROGRESS_MODES)}, got {mode!r:.40}; use one")
        before = progress_from_json(question.get("before"))
        found = self._front.assess(self._task(question), self._state(question), before, mode)
        return {"progress": list(found.progress), "reward": found.reward, "parts": found.parts}

    def reference(self, question: Question) -> Any:
        """Return the gold product."""
        return self._front.reference(self._task(question))

    def _state(self, question: Question) -> Any:
        state = state_from_json(question.get("state"))
        require_shown(self._front.shop, state)
        return state

    def _task(self, question: Question) -> str:
        task_id = _text(question, "task_id")
        try:
            return self._front.task(task_id).task_id
        except KeyError:
            raise WireError(f"expected the id of a task, got {task_id!r:.60}; see /api/shop for the ids") from None


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


def _error(reason: str, status: int) -> tuple[Response, int]:
    return jsonify(error=reason), status

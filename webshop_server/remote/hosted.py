"""Client for a shop on a server, with the interface of a local shop.

Requests carry their state and change nothing on the server, so a failed request is sent again. The answer to an action
includes the view of the new state. A simulation is therefore one request, a score one more, and restoring a state none.
"""

import http.client
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any
from urllib.parse import SplitResult, urlsplit

from webshop_server.engine import ShopState, ShopStep
from webshop_server.progress import Progress
from webshop_server.remote.wire import (
    VERSION,
    assessment_from_json,
    state_from_json,
    state_to_json,
    view_from_json,
)
from webshop_server.storefront import Assessment, ProgressMode, ShopTask, ShopView

TOKEN_VARIABLE = "IAD_SHOP_TOKEN"


class ShopUnavailable(ConnectionError):
    """The server of a hosted shop failed. This is an infrastructure failure, never an invalid action.

    Attributes:
        kind: The kind of failure: `connection`, `auth` or `server`.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class _HttpConnection:
    """The connection of one thread in one process. It is closed when the object is garbage-collected."""

    def __init__(self, parts: SplitResult) -> None:
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.connection = kind(parts.netloc, timeout=60.0)
        self.process = os.getpid()

    def __del__(self) -> None:
        self.connection.close()


class HostedStorefront:
    """A shop on a server. Any number of threads may use it, each with its own connection.

    Args:
        server: URL of the server, for example `http://127.0.0.1:3000`.
        token: Token of the server.

    Attributes:
        server: URL of the server.
        data: Identifies the shop's data by `name` and `digest`.
        tasks: All tasks, in order.

    Raises:
        ShopUnavailable: The server can't be reached, or it refuses the token.
    """

    def __init__(self, server: str, token: str) -> None:
        parts = urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"expected a server such as http://127.0.0.1:3000, got {server!r}; name one")
        self.server = server
        self._parts = parts
        self._token = token
        self._threads = threading.local()
        self._lock = threading.Lock()
        self._views: OrderedDict[tuple[ShopState, str], ShopView] = OrderedDict()
        about = self._ask("shop")
        if about.get("version") != VERSION:
            given = f"{about.get('version')} from {server}"
            raise ShopUnavailable(f"expected a shop of version {VERSION}, got {given}; use the same iad", kind="server")
        self.data: Mapping[str, str] = about["data"]
        self._shop: str = about["shop"]
        self.tasks: Sequence[ShopTask] = tuple(ShopTask(*task) for task in about["tasks"])

    def act(self, state: ShopState, action: str, mode: str) -> ShopStep:
        """Return the state after an action. Its view is cached for `view`."""
        answer = self._ask("act", state=state_to_json(state), action=action, mode=mode)
        after = state_from_json(answer["state"])
        self._remember((after, mode), view_from_json(answer["sight"]))
        return ShopStep(after, answer["invalid"])

    def view(self, state: ShopState, mode: str, score: float | None = None) -> ShopView:
        """Return the view of a state."""
        if score is not None:
            return view_from_json(self._ask("look", state=state_to_json(state), mode=mode, score=score))
        with self._lock:
            known = self._views.get((state, mode))
        if known is None:
            known = view_from_json(self._ask("look", state=state_to_json(state), mode=mode))
            self._remember((state, mode), known)
        return known._replace(page=deepcopy(known.page))  # the caller may change it

    def assess(self, task_id: str, state: ShopState, before: Progress, mode: ProgressMode) -> Assessment:
        """Return the gold assessment of a state."""
        question = {"task_id": task_id, "state": state_to_json(state), "before": list(before), "progress_mode": mode}
        return assessment_from_json(self._ask("assess", **question))

    def reference(self, task_id: str) -> dict[str, Any]:
        """Return the gold product."""
        return self._ask("reference", task_id=task_id)

    def close(self) -> None:
        """Close this thread's connection. The next request opens a new one."""
        self._threads.connection = None

    def _remember(self, key: tuple[ShopState, str], view: ShopView) -> None:
        with self._lock:
            self._views[key] = view
            self._views.move_to_end(key)
            if len(self._views) > 8192:
                self._views.popitem(last=False)

    def _ask(self, name: str, **question: Any) -> dict[str, Any]:
        """Send a request, and send it again if the connection breaks."""
        body = json.dumps({"shop": self._shop, **question}).encode() if question else None
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        path = f"{self._parts.path.rstrip('/')}/api/{name}"
        for is_last in (False, False, True):
            try:
                link: _HttpConnection | None = getattr(self._threads, "connection", None)
                if link is None or link.process != os.getpid():  # a forked child must not use its parent's connection
                    link = self._threads.connection = _HttpConnection(self._parts)
                link.connection.request("GET" if body is None else "POST", path, body, headers)
                response = link.connection.getresponse()
                status, said = response.status, response.read()
                break
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if is_last:
                    raise ShopUnavailable(
                        f"expected an answer of the shop at {self.server}, got {error!r}; start it: iad serve --api",
                        kind="connection",
                    ) from None
        answer: Any = None
        with suppress(ValueError):
            answer = json.loads(said)
        if status == 200 and isinstance(answer, dict):
            return answer
        if status in (401, 403):
            raise ShopUnavailable(
                f"expected the token of the shop at {self.server}, got another; pass token= or set {TOKEN_VARIABLE}",
                kind="auth",
            )
        given = (answer.get("error", "") if isinstance(answer, dict) else "") or f"status {status}"
        fix = "start it with `iad serve --api`" if status == 404 else "see its log"
        raise ShopUnavailable(
            f"expected an answer of the shop at {self.server} to /api/{name}, got: {given}; {fix}", kind="server"
        )

"""A shop on a server: the same as a local one, asked over HTTP.

Questions carry their state and change nothing, so one that broke is asked again. What is seen after an action comes
with the action's answer: a simulation is one question, a score one more, and restoring a moment none.
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
TIMEOUT_S = 60.0
TRIES = 3
SIGHTS_KEPT = 8192


class ShopUnavailable(ConnectionError):
    """The server of a hosted shop does not answer as one: an infrastructure failure, never a wrong action.

    Attributes:
        kind: `connection`, `auth` or `server`.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class _HttpConnection:
    """A connection of one thread of one process, closed when nobody refers to it any more."""

    def __init__(self, parts: SplitResult) -> None:
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.connection = kind(parts.netloc, timeout=TIMEOUT_S)
        self.process = os.getpid()

    def __del__(self) -> None:
        self.connection.close()


class HostedStorefront:
    """A shop on a server. May be used by any number of threads, each with a connection of its own.

    Args:
        server: Its address, such as `http://127.0.0.1:3000`.
        token: Its token.

    Attributes:
        server: Its address.
        data: Names what it sells: `name`, `digest`.

    Raises:
        ShopUnavailable: There is no such server, or it does not know the token.
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
        self._sights: OrderedDict[tuple[ShopState, str], ShopView] = OrderedDict()
        about = self._ask("shop")
        if about.get("version") != VERSION:
            given = f"{about.get('version')} from {server}"
            raise ShopUnavailable(f"expected a shop of version {VERSION}, got {given}; use the same iad", kind="server")
        self.data: Mapping[str, str] = about["data"]
        self._shop: str = about["shop"]
        self._tasks = {task[0]: ShopTask(*task) for task in about["tasks"]}

    @property
    def tasks(self) -> Sequence[ShopTask]:
        """All tasks, in order."""
        return tuple(self._tasks.values())

    def task(self, task_id: str) -> ShopTask:
        """Return a task.

        Raises:
            KeyError: No such task.
        """
        return self._tasks[task_id]

    def act(self, state: ShopState, action: str, mode: str) -> ShopStep:
        """Return where an action leads; what is seen there is remembered for `look`."""
        answer = self._ask("act", state=state_to_json(state), action=action, mode=mode)
        after = state_from_json(answer["state"])
        self._remember((after, mode), view_from_json(answer["sight"]))
        return ShopStep(after, answer["invalid"])

    def look(self, state: ShopState, mode: str, score: float | None = None) -> ShopView:
        """Return what is seen in a state."""
        if score is not None:
            return view_from_json(self._ask("look", state=state_to_json(state), mode=mode, score=score))
        with self._lock:
            known = self._sights.get((state, mode))
        if known is None:
            known = view_from_json(self._ask("look", state=state_to_json(state), mode=mode))
            self._remember((state, mode), known)
        return known._replace(page=deepcopy(known.page))  # whoever gets it may change it

    def assess(self, task_id: str, state: ShopState, before: Progress, mode: ProgressMode) -> Assessment:
        """Return gold about a state."""
        question = {"task_id": task_id, "state": state_to_json(state), "before": list(before), "progress_mode": mode}
        return assessment_from_json(self._ask("assess", **question))

    def reference(self, task_id: str) -> dict[str, Any]:
        """Return the gold product."""
        return self._ask("reference", task_id=task_id)

    def close(self) -> None:
        """Close this thread's connection; the next question opens another."""
        self._threads.line = None

    def _remember(self, key: tuple[ShopState, str], sight: ShopView) -> None:
        with self._lock:
            self._sights[key] = sight
            self._sights.move_to_end(key)
            if len(self._sights) > SIGHTS_KEPT:
                self._sights.popitem(last=False)

    def _ask(self, name: str, **question: Any) -> dict[str, Any]:
        """Ask one question, and again where the connection broke."""
        body = json.dumps({"shop": self._shop, **question}).encode() if question else None
        for tried in range(1, TRIES + 1):
            try:
                return self._read(name, *self._exchange(name, body))
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, ShopUnavailable):
                    raise
                self.close()
                if tried == TRIES:
                    raise ShopUnavailable(
                        f"expected an answer of the shop at {self.server}, got {error!r}; start it: iad serve --api",
                        kind="connection",
                    ) from None
        raise AssertionError

    def _exchange(self, name: str, body: bytes | None) -> tuple[int, bytes]:
        line: _HttpConnection | None = getattr(self._threads, "line", None)
        if line is None or line.process != os.getpid():  # a forked child must not talk on its parent's line
            line = self._threads.line = _HttpConnection(self._parts)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        path = f"{self._parts.path.rstrip('/')}/api/{name}"
        line.connection.request("GET" if body is None else "POST", path, body, headers)
        answer = line.connection.getresponse()
        return answer.status, answer.read()

    def _read(self, name: str, status: int, body: bytes) -> dict[str, Any]:
        said: Any = None
        with suppress(ValueError):
            said = json.loads(body)
        if status == 200 and isinstance(said, dict):
            return said
        reason = said.get("error", "") if isinstance(said, dict) else ""
        if status in (401, 403):
            raise ShopUnavailable(
                f"expected the token of the shop at {self.server}, got another; pass token= or set {TOKEN_VARIABLE}",
                kind="auth",
            )
        given = reason or f"status {status}"
        fix = "start it with `iad serve --api`" if status == 404 else "see its log"
        raise ShopUnavailable(
            f"expected an answer of the shop at {self.server} to /api/{name}, got: {given}; {fix}", kind="server"
        )

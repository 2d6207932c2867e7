"""Stores the sessions of a site. Their number is bounded, and idle sessions are freed."""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The ids of sessions."""
StateT = TypeVar("StateT")


class Sessions(Generic[StateT]):
    """The state of each session, by session id. Thread-safe.

    Args:
        idle_s: Seconds without use after which a session is freed.
        max_sessions: Maximum number of sessions. A new session above it frees the least recently used one.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        *,
        idle_s: float = 1800.0,
        max_sessions: int = 20_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_sessions < 1 or not idle_s > 0:
            raise ValueError(
                f"expected max_sessions of 1 or more and idle_s above 0, got {max_sessions} and {idle_s}; raise them"
            )
        self._idle_s = idle_s
        self._max_sessions = max_sessions
        self._clock = clock
        self._lock = threading.Lock()
        self._used: OrderedDict[str, tuple[StateT, float]] = OrderedDict()  # least recently used first

    def __len__(self) -> int:
        with self._lock:
            self._free()
            return len(self._used)

    def get(self, session: str) -> StateT | None:
        """Return the state of a session, or None if the session is unknown or was freed."""
        with self._lock:
            self._free()
            if session not in self._used:
                return None
            state, _ = self._used.pop(session)
            self._used[session] = (state, self._clock())
            return state

    def put(self, session: str, state: StateT) -> None:
        """Store the state of a session. A new id starts a new session."""
        with self._lock:
            self._used.pop(session, None)
            self._used[session] = (state, self._clock())
            self._free()

    def _free(self) -> None:
        oldest_kept = self._clock() - self._idle_s
        while self._used:
            _, used_at = next(iter(self._used.values()))
            if len(self._used) <= self._max_sessions and used_at >= oldest_kept:
                return
            self._used.popitem(last=False)

"""The way to one endpoint: so many requests at once, and none while the server asks to wait.

All threads that ask a model go through its gate, so that what one of them is told holds for all: a rate limit closes
the gate for as long as the server asks and halves how many may pass; every answer lets a little more through again.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

from iad_policy.models.call_context import current_call

LOOK_UP_S = 0.2
"""How often a thread that waits for a place looks whether the run was told to stop."""


class RateLimit:
    """Lets requests through.

    Args:
        n: Requests under way at once, while the server does not complain.
        clock: Seconds that only grow.
    """

    def __init__(self, n: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.n = n
        self.n_allowed = float(n)
        self._clock = clock
        self._n_inside = 0
        self._opens_at = -float("inf")
        self._changed = Condition()

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Wait for a place, and hold it.

        Raises:
            Interrupted: The run was told to stop before there was one.
        """
        call = current_call()
        with self._changed:
            while self._n_inside >= max(1, int(self.n_allowed)):
                call.refuse_if_stopped()
                self._changed.wait(LOOK_UP_S)
            self._n_inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_inside -= 1
                self._changed.notify()

    def closed_s(self) -> float:
        """Return the seconds for which nothing may pass; 0 for an open gate."""
        return max(0.0, self._opens_at - self._clock())

    def close(self, seconds: float) -> None:
        """Let nothing pass for a while, and fewer at once afterwards: the server asked for it."""
        with self._changed:
            if not self.closed_s():  # those who were under way together are told together, and that counts once
                self.n_allowed = max(1.0, self.n_allowed / 2)
            self._opens_at = max(self._opens_at, self._clock() + seconds)

    def answered(self) -> None:
        """Let a little more through: the server answered."""
        with self._changed:
            self.n_allowed = min(float(self.n), self.n_allowed + 1 / self.n_allowed)
            self._changed.notify()

    def widen(self, n: int) -> None:
        """Let at least `n` requests through at once."""
        with self._changed:
            if n > self.n:
                self.n, self.n_allowed = n, self.n_allowed + n - self.n
                self._changed.notify_all()

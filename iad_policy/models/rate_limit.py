"""Limits the requests to one endpoint: a maximum number at once, and none while the server asks to wait.

All threads that ask a model share its limit, so a rate-limit error of one of them holds for all. Such an error stops
all requests for as long as the server asks, and halves the number at once. Every answer raises that number a little.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

from iad_policy.types.call_context import current_call


class RateLimit:
    """Lets a limited number of requests through.

    Args:
        n: Maximum number of requests at once, as long as the server does not complain.
        clock: A monotonic clock in seconds.
    """

    def __init__(self, n: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.n = n
        self.n_allowed = float(n)
        self._clock = clock
        self._n_running = 0
        self._blocked_until = -float("inf")
        self._changed = Condition()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a free place, and hold it inside the `with` block.

        Raises:
            Interrupted: The run was stopped before a place was free.
        """
        call = current_call()
        with self._changed:
            while self._n_running >= max(1, int(self.n_allowed)):
                call.refuse_if_stopped()
                self._changed.wait(0.2)  # and look whether the run was stopped
            self._n_running += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_running -= 1
                self._changed.notify()

    def blocked_s(self) -> float:
        """Return the seconds until requests may start again. 0 means now."""
        return max(0.0, self._blocked_until - self._clock())

    def block(self, seconds: float) -> None:
        """Stop all requests for a while, and allow fewer at once afterwards, as the server asked."""
        with self._changed:
            if not self.blocked_s():  # requests that were under way together fail together, and that counts once
                self.n_allowed = max(1.0, self.n_allowed / 2)
            self._blocked_until = max(self._blocked_until, self._clock() + seconds)

    def answered(self) -> None:
        """Allow a few more requests at once, as the server answered."""
        with self._changed:
            self.n_allowed = min(float(self.n), self.n_allowed + 1 / self.n_allowed)
            self._changed.notify()

    def raise_limit(self, n: int) -> None:
        """Allow at least `n` requests at once."""
        with self._changed:
            if n > self.n:
                self.n, self.n_allowed = n, self.n_allowed + n - self.n
                self._changed.notify_all()

"""Lets requests through as long as their tokens fit into the server's key-value cache together."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

LOOK_UP_S = 0.2


class TokenRoom:
    """Room for a number of tokens, which running requests share.

    Args:
        n_tokens: The size of the key-value cache.
    """

    def __init__(self, n_tokens: int) -> None:
        self._n_tokens = n_tokens
        self._n_taken = 0
        self._n_running = 0
        self._changed = Condition()

    def n_fitting(self, n_prompt: int, n_answer: int) -> int:
        """Return how many answers of a length fit in beside their prompt; one always counts as fitting."""
        return max(1, (self._n_tokens - n_prompt) // n_answer)

    @contextmanager
    def taken(self, n_tokens: int, is_cancelled: Callable[[], bool]) -> Iterator[None]:
        """Wait for room and hold it inside the `with` block. A request that is alone always gets in.

        Args:
            n_tokens: An estimate of the request's tokens.
            is_cancelled: Function that tells whether it need not wait any longer.
        """
        with self._changed:
            while self._n_running and self._n_taken + n_tokens > self._n_tokens and not is_cancelled():
                self._changed.wait(LOOK_UP_S)
            self._n_taken += n_tokens
            self._n_running += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_taken -= n_tokens
                self._n_running -= 1
                self._changed.notify_all()

"""Places of workers that several runs of one process share: so many episodes run at once, of whichever run."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from threading import Condition


class WorkerPlaces:
    """Lets so many episodes run at once. An earlier run goes first, so a later one gets what that leaves free.

    Args:
        n: Number of episodes at once.
    """

    def __init__(self, n: int) -> None:
        self._n_free = n
        self._waiting: Counter[int] = Counter()
        self._changed = Condition()

    def of(self, rank: int, refuse_if_stopped: Callable[[], None]) -> Callable[[], AbstractContextManager[None]]:
        """Return what makes the context of one episode of a run.

        Args:
            rank: The place of the run among the others, from 0.
            refuse_if_stopped: Raises an error if the run was asked to stop.
        """
        return partial(self._held, rank, refuse_if_stopped)

    @contextmanager
    def _held(self, rank: int, refuse_if_stopped: Callable[[], None]) -> Iterator[None]:
        with self._changed:
            self._waiting[rank] += 1
            try:
                while not self._n_free or any(n and earlier < rank for earlier, n in self._waiting.items()):
                    refuse_if_stopped()
                    self._changed.wait(0.2)  # seconds until it checks again whether its run was stopped
                self._n_free -= 1
            finally:
                self._waiting[rank] -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._n_free += 1
                self._changed.notify_all()

"""Workers: threads that each take the next job until there is none, or until they are told to stop."""

from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

JobT = TypeVar("JobT")
DoneT = TypeVar("DoneT")


class ThreadPool(Generic[JobT, DoneT]):
    """Does jobs side by side.

    Args:
        size: How many at once.
        serve: What one worker does: takes jobs from the iterator it is given and yields what came of each. It runs in
            the worker's thread, from the making of its environment to its closing.
        stopped: Set when workers are to come to an end soon, keeping what is done.
    """

    def __init__(self, size: int, serve: Callable[[Iterator[JobT]], Iterator[DoneT]], stopped: Event) -> None:
        self._size = size
        self._serve = serve
        self._stopped = stopped

    def work(self, jobs: Sequence[JobT]) -> Iterator[DoneT]:
        """Yield what comes of the jobs, as it comes.

        An error of one worker stops the others, and is raised when they have ended. So is a Ctrl-C; a second one does
        not wait for them.
        """
        ended: SimpleQueue[DoneT | _ThreadEnd] = SimpleQueue()
        waiting = _SharedIterator(jobs)
        # Daemons, so that a second Ctrl-C need not wait for an answer that may never come.
        threads = [
            Thread(target=self._attend, args=(waiting, ended), name=f"iad-worker-{place}", daemon=True)
            for place in range(min(self._size, len(jobs)))
        ]
        for thread in threads:
            thread.start()
        try:
            yield from self._ended(ended, len(threads))
        except GeneratorExit:
            self._stopped.set()
            for thread in threads:
                thread.join()
            raise

    def _ended(self, ended: "SimpleQueue[DoneT | _ThreadEnd]", n_working: int) -> Iterator[DoneT]:
        error: BaseException | None = None
        while n_working:
            try:
                one = ended.get()
            except KeyboardInterrupt as interrupt:
                if self._stopped.is_set():
                    raise
                error = interrupt
                self._stopped.set()
                continue
            if not isinstance(one, _ThreadEnd):
                yield one
                continue
            n_working -= 1
            if one.error is not None and error is None:
                error = one.error
                self._stopped.set()
        if error is not None:
            raise error

    def _attend(self, waiting: "_SharedIterator[JobT]", ended: "SimpleQueue[DoneT | _ThreadEnd]") -> None:
        try:
            for done in self._serve(waiting):
                ended.put(done)
            ended.put(_ThreadEnd())
        except BaseException as error:  # whatever it is, the thread that asked for the work is told
            ended.put(_ThreadEnd(error))


class _ThreadEnd:
    """A worker has ended, by an error or without."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _SharedIterator(Iterator[JobT]):
    """An iterator that several threads take from."""

    def __init__(self, items: Sequence[JobT]) -> None:
        self._items = iter(items)
        self._lock = Lock()

    def __next__(self) -> JobT:
        with self._lock:
            return next(self._items)

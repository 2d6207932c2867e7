"""Runs jobs in threads. Each thread takes the next job until there is none or the pool is stopped."""

from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

JobT = TypeVar("JobT")
DoneT = TypeVar("DoneT")


class WorkEnd:
    """Marks the end of what a thread was to do, with its error if there was one."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class ThreadPool(Generic[JobT, DoneT]):
    """Runs jobs in parallel.

    Args:
        size: Number of jobs that run at once.
        serve: Generator function of one worker. It takes jobs from the given iterator and yields the result of each. It
            runs in the worker's thread, so the worker's environment is created and closed there too.
        stopped: Event that asks workers to end soon. Finished work is kept.
    """

    def __init__(self, size: int, serve: Callable[[Iterator[JobT]], Iterator[DoneT]], stopped: Event) -> None:
        self._size = size
        self._serve = serve
        self._stopped = stopped

    def work(self, jobs: Sequence[JobT]) -> Iterator[DoneT]:
        """Yield the results of the jobs as they arrive.

        An error of one worker stops the others, and is raised when they have ended. A Ctrl-C does the same. A second
        one does not wait for them.
        """
        ended: SimpleQueue[DoneT | WorkEnd] = SimpleQueue()
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

    def _ended(self, ended: SimpleQueue[DoneT | WorkEnd], n_working: int) -> Iterator[DoneT]:
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
            if not isinstance(one, WorkEnd):
                yield one
                continue
            n_working -= 1
            if one.error is not None and error is None:
                error = one.error
                self._stopped.set()
        if error is not None:
            raise error

    def _attend(self, waiting: "_SharedIterator[JobT]", ended: SimpleQueue[DoneT | WorkEnd]) -> None:
        try:
            for done in self._serve(waiting):
                ended.put(done)
            ended.put(WorkEnd())
        except BaseException as error:  # any error is passed to the thread that asked for the work
            ended.put(WorkEnd(error))


class _SharedIterator(Iterator[JobT]):
    """An iterator that several threads take from."""

    def __init__(self, items: Sequence[JobT]) -> None:
        self._items = iter(items)
        self._lock = Lock()

    def __next__(self) -> JobT:
        with self._lock:
            return next(self._items)

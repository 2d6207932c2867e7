"""Runs the coroutines of agents, verifiers and roles whose functions are `async def`."""

from collections.abc import Awaitable
from concurrent.futures import Future, wait
from inspect import isawaitable
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from iad_policy.errors import Interrupted
from iad_policy.types import Candidate
from iad_policy.types.call_context import current_call

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")
POLL_S = 0.1
_VALUES = (Candidate, list, str)
"""What agents, verifiers and roles return, which need not be awaited."""


class EventLoop:
    """An event loop in a thread of its own. It is started by the first coroutine.

    The thread that wants an answer waits for it, so several threads have their coroutines run side by side. It works
    below a running loop too, such as that of a notebook. Context variables reach the coroutine.

    Args:
        grace_s: Seconds that a coroutine has for its answer after the run was stopped, so that a paid one is kept.
            Then it is cancelled.
    """

    def __init__(self, *, grace_s: float = 5.0) -> None:
        self._grace_s = grace_s
        self._lock = Lock()
        self._loop: AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def result_of(self, answer: T | Awaitable[T]) -> T:
        """Return an answer, or the result of one that has to be awaited.

        Raises:
            Interrupted: The run was stopped before there was a result.
        """
        if isinstance(answer, _VALUES) or not isawaitable(answer):  # the first is faster
            return answer
        from asyncio import run_coroutine_threadsafe

        future: Future[T] = run_coroutine_threadsafe(_awaited(answer), self._started())
        try:
            stopped, deadline = current_call().stopped, None
            while not wait([future], None if stopped is None else POLL_S).done:
                if stopped is None or not stopped.is_set():
                    continue
                deadline = monotonic() + self._grace_s if deadline is None else deadline
                if monotonic() >= deadline:
                    raise Interrupted
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def close(self) -> None:
        """Cancel what is running, and end the thread. Closing twice is harmless."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(2.0)  # seconds in which cancelled coroutines clean up

    def _started(self) -> "AbstractEventLoop":
        from asyncio import new_event_loop

        with self._lock:
            if self._loop is None:
                self._loop = new_event_loop()
                # A daemon, so that a coroutine that ignores its cancellation keeps no process alive.
                self._thread = Thread(target=_serve, args=(self._loop,), name="iad-event-loop", daemon=True)
                self._thread.start()
            return self._loop


async def _awaited(answer: Awaitable[T]) -> T:
    return await answer


def _serve(loop: "AbstractEventLoop") -> None:
    from asyncio import all_tasks, gather, set_event_loop

    set_event_loop(loop)
    try:
        loop.run_forever()
        left = all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        set_event_loop(None)
        loop.close()

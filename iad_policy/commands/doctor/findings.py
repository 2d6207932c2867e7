"""What a look found, and looks that go on side by side without anybody waiting for one that hangs."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from threading import Thread
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")
Status = Literal["ok", "missing", "broken", "slow", "set", "not set"]
FAILURES = ("missing", "broken")
SAID_CHARS = 600


class Finding(NamedTuple):
    """One row.

    Attributes:
        name: What was looked at.
        status: `slow` did not answer in time.
        said: What was found, or what is wrong.
        fix: The one command that mends it.
        is_needed: Whether the base install is broken without it.
    """

    name: str
    status: Status
    said: str = ""
    fix: str = ""
    is_needed: bool = False

    @property
    def is_failure(self) -> bool:
        """Whether something is wrong that has to work everywhere."""
        return self.is_needed and self.status in FAILURES


class FindingGroup(NamedTuple):
    """Rows under a title."""

    title: str
    findings: tuple[Finding, ...]


class Deadline:
    """The moment until which everything together is waited for.

    Args:
        limit_s: Seconds from now.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._until = time.monotonic() + limit_s

    def slow(self, name: str, said: str) -> Finding:
        """Return the row of something that took too long."""
        return Finding(name, "slow", f"{said}; iad doctor --seconds {4 * self.limit_s:g} waits longer")

    @property
    def left_s(self) -> float:
        """Seconds until then, 0 after it."""
        return max(0.0, self._until - time.monotonic())

    def result(self, work: "Future[T]") -> T:
        """Return what came of work.

        Raises:
            TimeoutError: It is not done by then.
        """
        try:
            return work.result(self.left_s)
        except FutureTimeout:
            if work.done():  # it is the work's own error, or came at the last moment
                return work.result()
            raise TimeoutError(f"no answer within {self.limit_s:g} s") from None


def begun(work: Callable[[], T]) -> "Future[T]":
    """Begin work in a thread that does not keep the process alive, and return what will come of it."""
    coming: Future[T] = Future()

    def run() -> None:
        try:
            coming.set_result(work())
        except BaseException as error:  # whatever it is, it is the result
            coming.set_exception(error)

    Thread(target=run, name="iad-doctor", daemon=True).start()
    return coming


def shortened(error: BaseException) -> str:
    """Return what an error says, as one line."""
    return f"{' '.join(str(error).split()) or type(error).__name__:.{SAID_CHARS}}"

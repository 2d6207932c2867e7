"""Findings of checks, and checks that run in parallel with a common deadline, so that none can hang the doctor."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from threading import Thread
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")
Status = Literal["ok", "missing", "broken", "slow", "set", "not set"]


class Finding(NamedTuple):
    """The result of one check.

    Attributes:
        name: Name of the checked thing.
        status: Result. `slow` means no answer in time.
        said: Details, or the reason of a failure.
        fix: One command that fixes it, or "" if none is known.
        is_needed: Whether the base install is broken without it.
    """

    name: str
    status: Status
    said: str = ""
    fix: str = ""
    is_needed: bool = False

    @property
    def is_failure(self) -> bool:
        """Whether a needed thing does not work, so that `iad doctor` fails."""
        return self.is_needed and self.status in ("missing", "broken")


class FindingGroup(NamedTuple):
    """Findings under a title."""

    title: str
    findings: tuple[Finding, ...]


class Deadline:
    """The common deadline of all checks.

    Args:
        limit_s: Seconds from now until the deadline.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._until = time.monotonic() + limit_s

    def slow(self, name: str, said: str) -> Finding:
        """Return the finding of a check that took too long."""
        return Finding(name, "slow", f"{said}; to wait longer: iad doctor --seconds {4 * self.limit_s:g}")

    @property
    def left_s(self) -> float:
        """Seconds until the deadline, or 0 after it."""
        return max(0.0, self._until - time.monotonic())

    def result(self, work: "Future[T]") -> T:
        """Return the result of a check.

        Raises:
            TimeoutError: The check is not done at the deadline.
        """
        try:
            return work.result(self.left_s)
        except FutureTimeout:
            if work.done():  # the check itself timed out, or ended at the last moment
                return work.result()
            raise TimeoutError(f"no answer within {self.limit_s:g} s") from None


def started(work: Callable[[], T]) -> "Future[T]":
    """Start work in a daemon thread, and return a future for its result."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # any error is the check's result
            future.set_exception(error)

    Thread(target=run, name="iad-doctor", daemon=True).start()
    return future


def shortened(error: BaseException) -> str:
    """Return an error's message as one line."""
    return f"{' '.join(str(error).split()) or type(error).__name__:.600}"

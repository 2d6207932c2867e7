"""Work items: what is asked, performed once, logged, and replayed.

An *item* is one candidate, verdict, text or outcome. A *task* is work that answers one or more items in one go (a
verifier that looks at all candidates together). A task asks only for the items that the log does not have.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, wait
from contextlib import suppress
from time import perf_counter
from typing import Any, NamedTuple

from iad_policy.models.call_context import Call, use_call
from iad_policy.recording.answer_log import AnswerLine, EpisodeLog
from iad_policy.recording.codec import usage_of
from iad_policy.runtime.spending import Spending
from iad_policy.types import NOTHING, Usage


class Item(NamedTuple):
    """One thing to be answered.

    Attributes:
        name: `decision.request.item`.
        question: A digest of what is asked.
        about: For readers of the log: the state that a candidate is for, the candidate of a verdict or an outcome.
    """

    name: str
    question: str
    about: str = ""


class Cut(NamedTuple):
    """Instead of an answer: the limit that was met before the task's turn came."""

    axis: str


class ItemAnswer(NamedTuple):
    """An item's value and what it cost beyond the count that was granted: tokens, seconds, dollars."""

    value: Any
    usage: Usage


class WorkUnit(NamedTuple):
    """Work that answers items.

    Attributes:
        items: What it answers, in order.
        role: Who is charged.
        call: Tells model clients which sample this is.
        work: Given the answers that are recorded already, by position, returns those of all other positions in order.
        record: Turns a value into its log record.
        read: Turns a log record into the value.
        is_owed: Whether it is performed even where a measured limit is met already.
    """

    items: Sequence[Item]
    role: str
    call: Call
    work: Callable[[Mapping[int, Any]], Sequence[Any]]
    record: Callable[[Any], Mapping[str, Any]]
    read: Callable[[Mapping[str, Any]], Any]
    is_owed: bool = False


Result = list[ItemAnswer | Cut]


class BatchExecutor:
    """Performs batches of tasks: replays what the log has, asks for the rest, and charges the budget.

    Args:
        spending: Budget that is charged with what is known only afterwards.
        log: Where answers are kept, if anywhere.
        executor: Runs tasks side by side; None runs them one after another.
    """

    def __init__(self, spending: Spending, log: EpisodeLog | None, executor: Executor | None) -> None:
        self._spending = spending
        self._log = log
        # A limit on tokens or seconds may be passed by one call only, so calls are then made one at a time.
        self._executor = None if spending.is_measured else executor

    def perform(self, batch: Sequence[WorkUnit]) -> list[Result]:
        """Return the answers of each task, in order.

        The log is looked at before anything is performed, so that what a changed question drops does not depend on
        threads; and an error is raised when all tasks have ended, so that none writes to the log afterwards.
        """
        found = [(task, self._recorded(task)) for task in batch]
        if self._executor is None or len(batch) == 1:
            return [self._charged(task, self._answers(task, recorded)) for task, recorded in found]
        futures = [self._executor.submit(self._answers, task, recorded) for task, recorded in found]
        wait(futures)
        return [self._charged(task, future.result()) for task, future in zip(batch, futures, strict=True)]

    def _charged(self, task: WorkUnit, result: Result) -> Result:
        for answer in result:
            if isinstance(answer, ItemAnswer) and answer.usage:
                self._spending.settle(task.role, answer.usage)
        return result

    def _answers(self, task: WorkUnit, recorded: dict[int, ItemAnswer | Cut]) -> Result:
        places = range(len(task.items))
        missing = [position for position in places if position not in recorded] if recorded else places
        if not missing:
            return [recorded[position] for position in places]
        self._spending.refuse_if_stopped()
        axis = "" if task.is_owed else self._spending.exhausted(task.role)
        if axis:
            self._write([(task.items[position], {"kind": "cut", "axis": axis}, NOTHING) for position in missing])
            return [recorded.get(position, Cut(axis)) for position in places]
        known = {place: answer.value for place, answer in recorded.items() if isinstance(answer, ItemAnswer)}
        start = perf_counter()
        task.call.stopped = self._spending.stopped
        with use_call(task.call) as call:
            values = task.work(known)
        call.report(Usage(seconds=perf_counter() - start))
        usage = call.usage
        lines = []
        for position, value in zip(missing, values, strict=True):
            if self._log is not None:
                lines.append((task.items[position], task.record(value), usage))
            recorded[position] = ItemAnswer(value, usage)
            usage = NOTHING  # a task's cost is told once, with its first new answer
        self._write(lines)
        return [recorded[position] for position in places]

    def _recorded(self, task: WorkUnit) -> dict[int, ItemAnswer | Cut]:
        found: dict[int, ItemAnswer | Cut] = {}
        if self._log is None:
            return found
        for position, item in enumerate(task.items):
            record = self._log.recorded(item.name, item.question)
            if record is None:
                continue
            with suppress(OSError, ValueError):  # where a blob is gone or damaged, it is asked again
                is_cut = record["kind"] == "cut"
                found[position] = Cut(record["axis"]) if is_cut else ItemAnswer(task.read(record), usage_of(record))
        return found

    def _write(self, lines: Sequence[tuple[Item, Mapping[str, Any], Usage]]) -> None:
        if self._log is not None:
            self._log.write(*(AnswerLine(*item[:2], record, usage, item.about) for item, record, usage in lines))

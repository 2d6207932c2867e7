"""Executes work units, logs their answers, and replays answers that the log has.

An *item* is one candidate, verdict, text or outcome. A *work unit* answers one or more items in one call, such as a
verifier that scores all candidates together. It computes only the items that the log does not have.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, wait
from contextlib import suppress
from itertools import chain, repeat
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

from iad_policy.ledger.answer_log import AnswerLine, EpisodeLog
from iad_policy.ledger.codec import exchange_record, usage_of
from iad_policy.runtime.spending import Spending
from iad_policy.types import NOTHING, Usage
from iad_policy.types.call_context import Call, use_call


class Item(NamedTuple):
    """One item to be answered.

    Attributes:
        name: Name of the form `decision.request.item`.
        question: Digest of the question.
        about: Id for readers of the log: the state of a candidate, or the candidate of a verdict or an outcome.
        also: Further facts for readers of the log that are not part of the answer.
    """

    name: str
    question: str
    about: str = ""
    also: Mapping[str, Any] = MappingProxyType({})


class Cut(NamedTuple):
    """Replaces an answer when a limit was reached before the work unit was started."""

    axis: str


class ItemAnswer(NamedTuple):
    """An item's value, and its cost beyond the granted count: tokens, seconds, dollars."""

    value: Any
    usage: Usage


class WorkUnit(NamedTuple):
    """Work that answers one or more items.

    Attributes:
        items: The items, in order.
        role: The role that is charged.
        call: Identifies the sample for model clients.
        work: Function from the recorded answers, by position, to the answers of all other positions in order.
        record: Converts a value into its log record.
        read: Converts a log record into the value.
        is_guaranteed: Whether it is executed even if a measured limit is reached already.
    """

    items: Sequence[Item]
    role: str
    call: Call
    work: Callable[[Mapping[int, Any]], Sequence[Any]]
    record: Callable[[Any], Mapping[str, Any]]
    read: Callable[[Mapping[str, Any]], Any]
    is_guaranteed: bool = False


Result = list[ItemAnswer | Cut]


class BatchExecutor:
    """Executes batches of work units: replays recorded answers, computes the others, and charges the budget.

    Args:
        spending: The budget that is charged with tokens, seconds and dollars.
        log: The episode's log, if answers are recorded.
        executor: Executor that runs work units in parallel; None runs them one after another.
    """

    def __init__(self, spending: Spending, log: EpisodeLog | None, executor: Executor | None) -> None:
        self._spending = spending
        self._log = log
        # Only one call may exceed a limit on tokens or seconds, so calls are then made one at a time.
        self._executor = None if spending.is_measured else executor

    def perform(self, batch: Sequence[WorkUnit]) -> list[Result]:
        """Return the answers of each work unit, in order.

        The log is read before any work starts, so the records that a changed question drops do not depend on threads.
        An error is raised only after all units have ended, so that none writes to the log afterwards. What they all
        spent is charged, that of a unit that failed too.
        """
        found = [(task, {} if self._log is None else self._recorded(task, self._log)) for task in batch]
        _introduce([task.call for task, recorded in found if len(recorded) < len(task.items)])
        if self._executor is None or len(batch) == 1:
            return [self._charged(task, self._answers(task, recorded)) for task, recorded in found]
        futures = [self._executor.submit(self._answers, task, recorded) for task, recorded in found]
        wait(futures)
        for task, future in zip(batch, futures, strict=True):
            if future.exception() is None:
                self._charged(task, future.result())
        return [future.result() for future in futures]

    def _charged(self, task: WorkUnit, result: Result) -> Result:
        for answer in result:
            if isinstance(answer, ItemAnswer) and any(answer.usage):
                self._spending.settle(task.role, answer.usage)
        return result

    def _answers(self, task: WorkUnit, recorded: dict[int, ItemAnswer | Cut]) -> Result:
        places = range(len(task.items))
        missing = [position for position in places if position not in recorded] if recorded else places
        if not missing:
            return [recorded[position] for position in places]
        self._spending.refuse_if_stopped()
        axis = "" if task.is_guaranteed else self._spending.exhausted(task.role)
        if axis:
            self._write([(task.items[position], {"kind": "cut", "axis": axis}, NOTHING) for position in missing])
            return [recorded.get(position, Cut(axis)) for position in places]
        known = {place: answer.value for place, answer in recorded.items() if isinstance(answer, ItemAnswer)}
        start = perf_counter()
        task.call.stopped = self._spending.stopped
        with use_call(task.call) as call:
            try:
                values = task.work(known)
            except BaseException:
                self._spending.settle(task.role, call.usage + Usage(seconds=perf_counter() - start))
                raise
        call.report(Usage(seconds=perf_counter() - start))
        # What it has spent belongs to the unit, and is counted once, with its first new answer.
        new = list(map(ItemAnswer, values, chain([call.usage], repeat(NOTHING))))
        if self._log is not None:
            self._record([task.items[position] for position in missing], new, task, self._log)
        if not recorded:
            return list(new)
        recorded.update(zip(missing, new, strict=True))
        return [recorded[position] for position in places]

    def _record(self, items: Sequence[Item], new: Sequence[ItemAnswer], task: WorkUnit, log: EpisodeLog) -> None:
        exchanges = [exchange_record(one, log) for one in task.call.exchanges]
        lines = []
        for item, answer in zip(items, new, strict=True):
            record = {**task.record(answer.value), **item.also}
            if exchanges:
                record["exchanges"], exchanges = exchanges, []  # of the unit, so they are recorded once, too
            lines.append((item, record, answer.usage))
        self._write(lines)

    def _recorded(self, task: WorkUnit, log: EpisodeLog) -> dict[int, ItemAnswer | Cut]:
        found: dict[int, ItemAnswer | Cut] = {}
        for position, item in enumerate(task.items):
            record = log.recorded(item.name, item.question)
            if record is None:
                continue
            with suppress(OSError, ValueError):  # if a blob is missing or damaged, the question is asked again
                is_cut = record["kind"] == "cut"
                found[position] = Cut(record["axis"]) if is_cut else ItemAnswer(task.read(record), usage_of(record))
        return found

    def _write(self, lines: Sequence[tuple[Item, Mapping[str, Any], Usage]]) -> None:
        if self._log is not None:
            self._log.write(*(AnswerLine(*item[:2], record, usage, item.about) for item, record, usage in lines))


def _introduce(calls: Sequence[Call]) -> None:
    """Tell each call which samples of its question are asked in the same batch."""
    if len(calls) == 1:
        calls[0].siblings = {calls[0].sample_index}
        return
    together: dict[str, set[int]] = {}
    for call in calls:
        together.setdefault(call.question, set()).add(call.sample_index)
    for call in calls:
        call.siblings = together[call.question]

"""One run at the terminal: live while it works, and in any case the table, the summary and where they are."""

import math
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from time import monotonic

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from iad_policy.analysis.results import Results
from iad_policy.analysis.table import RunTable
from iad_policy.evaluate import Finished, execute
from iad_policy.evaluation.runner import Runner
from iad_policy.evaluation.trackers import MakeTracker

REFRESH_S = 1.0
N_RESAMPLES_LIVE = 1000
FAILED = 2
"""Exit status where what was asked for can't be done."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def run_session(
    runner: Runner,
    out: Path,
    console: Console,
    *,
    is_fresh: bool = False,
    trackers: Sequence[str | MakeTracker] = (),
) -> int:
    """Run what is missing, show the table, and write the summary.

    Args:
        runner: What to run.
        out: The run folder.
        console: The table is live where this is a terminal, and printed once at the end in any case.
        is_fresh: Whether a run that the folder holds is forgotten first.
        trackers: What else is told of every episode and of the end: names, or what makes them.

    Returns:
        The exit status: 0, 2 when the model can't be asked at all, 130 after Ctrl-C.

    Raises:
        RunFolderError: The folder can't take this run.
        TrackerError: A tracker can't begin.
    """
    finished = execute(
        runner,
        out,
        is_fresh=is_fresh,
        trackers=trackers,
        warn=console.print,
        watching=lambda results: _watching(runner, results, console),
        finishing=_second_ctrl_c_ignored,
    )
    results = finished.results
    if any(one.n_episodes for one in finished.figures.summaries.values()) or (
        results.n_episodes and not finished.is_failure
    ):
        console.print(RunTable(results.heading, finished.figures))
    _say_how_it_ended(console, finished)
    _say_where(console, out, finished.report)
    if finished.is_failure:
        return FAILED
    return INTERRUPTED if isinstance(finished.stopped, KeyboardInterrupt) else 0


@contextmanager
def _watching(runner: Runner, results: Results, console: Console) -> Iterator["_Refresh"]:
    with _interruptible(runner, console), _live(results, console) as refresh:
        yield refresh


def _say_how_it_ended(console: Console, finished: Finished) -> None:
    results, stopped = finished.results, finished.stopped
    if finished.is_failure:
        Console(stderr=True).print(f"iad: {stopped}", highlight=False, markup=False, soft_wrap=True)
        return
    _say_what_failed(console, results)
    if stopped is not None:
        is_interrupted = isinstance(stopped, KeyboardInterrupt)
        reason = "interrupted; give the same command to go on" if is_interrupted else str(stopped)
        text = f"Stopped after {results.n_episodes} of {results.n_expected} episodes: {reason}"
        console.print(Text(text, style="bold yellow"))


def _say_what_failed(console: Console, results: Results) -> None:
    """Say of each kind of error what the first one said."""
    failed = (record for own in results.records.values() for record in own if record.error_kind)
    firsts = {record.error_kind: record for record in sorted(failed, key=lambda one: one.task_id, reverse=True)}
    for kind, first in firsts.items():
        said = " ".join(f"{kind}, as in {first.task_id}: {first.error}".split())
        console.print(said, highlight=False, markup=False, soft_wrap=True)


def _say_where(console: Console, folder: Path, report: Path | None) -> None:
    if report is not None:
        console.print(f"Every step: {report}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"Run folder: {folder}", highlight=False, markup=False, soft_wrap=True)


class _Refresh:
    """Redraws at most once in `REFRESH_S`, and rarely enough to leave the time to the workers."""

    def __init__(self, results: Results, live: Live | None) -> None:
        self._results = results
        self._live = live
        self._start, self._next = monotonic(), -math.inf  # the first episode is shown at once

    def __call__(self) -> None:
        now = monotonic()
        if self._live is None or now < self._next:
            return
        done, expected = self._results.n_episodes, self._results.n_expected
        left = (now - self._start) / done * (expected - done)
        progress = Text(f"{done} of {expected} episodes, about {left:.0f} s left; Ctrl-C stops and keeps what is done")
        board = RunTable(self._results.heading, self._results.figures(N_RESAMPLES_LIVE))
        self._live.update(Group(progress, board), refresh=True)
        self._next = now + max(REFRESH_S, 20 * (monotonic() - now))


@contextmanager
def _interruptible(runner: Runner, console: Console) -> Iterator[None]:
    """Let the first Ctrl-C end the run when the calls under way are answered and kept, and a second one at once."""
    if current_thread() is not main_thread():
        yield
        return

    def first(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        runner.stop()
        console.print("Waiting for the answers under way, which are kept; Ctrl-C again does not wait.")

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _second_ctrl_c_ignored() -> Iterator[None]:
    """Let a second Ctrl-C not cost the summary."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _live(results: Results, console: Console) -> Iterator[_Refresh]:
    if not console.is_terminal:
        yield _Refresh(results, None)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield _Refresh(results, live)

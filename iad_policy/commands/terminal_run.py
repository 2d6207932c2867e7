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
from iad_policy.analysis.viewer.report import write_report
from iad_policy.errors import StorageError
from iad_policy.evaluation.config import FREE
from iad_policy.evaluation.journal import RunStopped
from iad_policy.evaluation.runner import Runner
from iad_policy.evaluation.trackers import MakeTracker, Tracking
from iad_policy.recording.run_folder import RunFolder

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
    results, status, said = Results(runner.heading), 0, ""
    recorded = runner.config()
    with (
        RunFolder(out, recorded, free=FREE, is_fresh=is_fresh) as folder,
        Tracking(trackers, folder.path, runner.heading.config, recorded=recorded, warn=console.print) as tracking,
    ):
        for name in folder.repaired:
            console.print(f"{name}: the last line was not written to its end, so it was cut off; it is run again.")
        try:
            with _interruptible(runner, console), _live(results, console) as refresh:
                for record in runner.episodes(folder):
                    results.add(record)
                    tracking.on_episode(record)
                    refresh()
        except RunStopped as stopped:
            status, said = (FAILED if stopped.is_failure else 0), str(stopped)
        except StorageError as unwritten:
            status, said = FAILED, str(unwritten)
        except KeyboardInterrupt:
            status, said = INTERRUPTED, "interrupted; give the same command to go on"
        with _impatience_ignored():
            figures = results.figures()
            report: Path | None = None
            try:
                folder.write_summary(summary := results.as_json(figures))
                tracking.on_summary(summary)
                if results.n_episodes and status != FAILED:
                    report = write_report(folder.path)
            except OSError as unwritten:
                status, said = FAILED, str(unwritten)
            if any(one.n_episodes for one in figures.summaries.values()) or (results.n_episodes and status != FAILED):
                console.print(RunTable(results.heading, figures))
        _say_how_it_ended(console, results, status, said)
        _say_where(console, folder.path, report)
    return status


def _say_how_it_ended(console: Console, results: Results, status: int, said: str) -> None:
    if status != FAILED:
        _say_what_failed(console, results)
    if status == FAILED:
        Console(stderr=True).print(f"iad: {said}", highlight=False, markup=False, soft_wrap=True)
    elif said:
        said = f"Stopped after {results.n_episodes} of {results.n_expected} episodes: {said}"
        console.print(Text(said, style="bold yellow"))


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
def _impatience_ignored() -> Iterator[None]:
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

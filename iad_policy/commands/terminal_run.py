"""Runs an evaluation at the terminal: a live table or a line per episode, the final table, the summary, their paths."""

import math
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import current_thread, main_thread
from time import monotonic

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from iad_policy.evaluate import Finished, Watch, execute
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.results import Results
from iad_policy.report.table import RunTable
from iad_policy.run.runner import Runner
from iad_policy.run.trackers import MakeTracker
from iad_policy.types.texts import isolated

REFRESH_S = 1.0
N_RESAMPLES_LIVE = 1000
FAILED = 2
"""Exit status if the run can't be done as requested."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, by the convention of shells."""


def run_session(
    runner: Runner,
    out: Path,
    console: Console,
    *,
    is_fresh: bool = False,
    trackers: Sequence[str | MakeTracker] = (),
) -> int:
    """Run the missing episodes, show the table, and write the summary.

    Args:
        runner: The configured run.
        out: The run folder.
        console: Console for the table. In a terminal the table is live. Elsewhere every new episode is a line. At the
            end the table is always printed.
        is_fresh: Whether to delete the run that the folder holds first.
        trackers: Experiment trackers, as names or as functions that make them.

    Returns:
        The exit status: 0, or 2 if the model can't be reached at all, or 130 after Ctrl-C.

    Raises:
        RunFolderError: The folder can't hold this run.
        TrackerError: A tracker can't start.
    """
    finished = execute(
        runner,
        out,
        is_fresh=is_fresh,
        trackers=trackers,
        warn=partial(console.print, highlight=False, markup=False, soft_wrap=True),
        watching=lambda results: _watching(runner, results, console),
        finishing=_second_ctrl_c_ignored,
    )
    results = finished.results
    if any(one.n_episodes for one in finished.figures.summaries.values()) or (
        results.n_episodes and not finished.is_failure
    ):
        console.print(RunTable(results.heading, finished.figures))
    _print_end(console, finished)
    _print_paths(console, out, finished.report)
    if finished.is_failure:
        return FAILED
    return INTERRUPTED if isinstance(finished.stopped, KeyboardInterrupt) else 0


@contextmanager
def _watching(runner: Runner, results: Results, console: Console) -> Iterator[Watch]:
    with _interruptible(runner, console):
        if 0 < results.n_kept < results.n_expected:
            n_missing = results.n_expected - results.n_kept
            console.print(f"{results.n_kept} episodes kept, {n_missing} to go", highlight=False)
        if not console.is_terminal:
            yield partial(_print_episode, console, results)
            return
        with Live(console=console, auto_refresh=False, transient=True) as live:
            yield _Refresh(results, live)


def _print_episode(console: Console, results: Results, record: EpisodeRecord, is_new: bool) -> None:
    if not is_new:
        return
    place = f"{results.n_episodes:>{len(str(results.n_expected))}}/{results.n_expected}"
    task = isolated(record.task_id)
    if len(results.heading.config.seed) > 1:
        task += f", seed {record.seed}"
    outcome = _outcome(record, results.heading.named("success"))
    parts = [f"{place} {task}, {results.label(record)}: {outcome}", f"{record.wall_s:.2f} s", *_spent(record)]
    console.print(", ".join(parts), highlight=False, markup=False, soft_wrap=True)


def _outcome(record: EpisodeRecord, success: str) -> str:
    if record.error_kind:
        return f"failed ({record.error_kind})"
    if not record.is_scored:
        return f"stopped by {record.cut}"
    known = [] if record.success is None else [success if record.success == 1 else f"no {success}"]
    known += [] if record.progress is None else [f"progress {record.progress:.3f}"]
    return ", ".join([*known, f"reward {record.reward:.3f}"])


def _spent(record: EpisodeRecord) -> Iterator[str]:
    spent = record.spent
    yield f"{spent.proposals + spent.verifications + spent.asks} calls"
    if spent.tokens:
        yield f"{spent.tokens:,} tokens"
    if spent.usd:
        yield f"${spent.usd:.4f}"


def _print_end(console: Console, finished: Finished) -> None:
    results, stopped = finished.results, finished.stopped
    if finished.is_failure:
        Console(stderr=True).print(f"iad: {stopped}", highlight=False, markup=False, soft_wrap=True)
        return
    _print_errors(console, results)
    if stopped is not None:
        is_interrupted = isinstance(stopped, KeyboardInterrupt)
        reason = "interrupted; repeat the command to continue" if is_interrupted else isolated(str(stopped))
        text = f"Stopped after {results.n_episodes} of {results.n_expected} episodes: {reason}"
        console.print(Text(text, style="bold yellow"))


def _print_errors(console: Console, results: Results) -> None:
    """Print the first message of each kind of error."""
    failed = (record for own in results.records.values() for record in own if record.error_kind)
    firsts = {record.error_kind: record for record in sorted(failed, key=lambda one: one.task_id, reverse=True)}
    for kind, first in firsts.items():
        error = isolated(" ".join(first.error.split()))
        console.print(
            f"{kind}, first in {isolated(first.task_id)}: {error}", highlight=False, markup=False, soft_wrap=True
        )


def _print_paths(console: Console, folder: Path, report: Path | None) -> None:
    if report is not None:
        console.print(f"Every step: {report}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"Run folder: {folder}", highlight=False, markup=False, soft_wrap=True)


class _Refresh:
    """Redraws at most once per `REFRESH_S`, and seldom enough to leave the CPU to the workers."""

    def __init__(self, results: Results, live: Live) -> None:
        self._results = results
        self._live = live
        self._start, self._next = monotonic(), -math.inf  # the first episode is shown at once

    def __call__(self, record: EpisodeRecord, is_new: bool) -> None:
        now = monotonic()
        if now < self._next:
            return
        done, expected = self._results.n_episodes, self._results.n_expected
        left = (now - self._start) / done * (expected - done)
        progress = Text(
            f"{done} of {expected} episodes, about {left:.0f} s left; Ctrl-C stops the run and keeps finished episodes"
        )
        board = RunTable(self._results.heading, self._results.figures(N_RESAMPLES_LIVE))
        self._live.update(Group(progress, board), refresh=True)
        self._next = now + max(REFRESH_S, 20 * (monotonic() - now))


@contextmanager
def _interruptible(runner: Runner, console: Console) -> Iterator[None]:
    """Stop the run on the first Ctrl-C, once pending calls are answered and saved. A second Ctrl-C stops it at once."""
    if current_thread() is not main_thread():
        yield
        return

    def first(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        runner.stop()
        console.print("Waiting for the answers to pending calls. Press Ctrl-C again to stop at once.")

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _second_ctrl_c_ignored() -> Iterator[None]:
    """Ignore further Ctrl-C while the summary is written."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

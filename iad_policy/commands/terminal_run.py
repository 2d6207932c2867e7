"""Runs an evaluation at the terminal: its progress, the table, the summary and their paths."""

import math
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from iad_policy.commands.terminal import INTERRUPTED, handling_ctrl_c, interruptible
from iad_policy.evaluation import Watch, execute
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run_folder import TABLE
from iad_policy.report.columns import counted
from iad_policy.report.console import TextConsole
from iad_policy.report.results import Results
from iad_policy.report.table import RunTable, ShortTable
from iad_policy.run.runner import Runner
from iad_policy.run.trackers import MakeTracker
from iad_policy.types.texts import isolated


def run_session(
    runner: Runner,
    out: Path,
    console: Console,
    *,
    is_fresh: bool = False,
    is_full: bool = False,
    trackers: Sequence[str | MakeTracker] = (),
) -> int:
    """Run the missing episodes, show the table, and write the summary.

    Args:
        runner: The configured run.
        out: The run folder.
        console: Console for progress and table. Progress is a bar in a terminal. Elsewhere it is a line for the first
            episode and one for each tenth of all.
        is_fresh: Whether to delete the run that the folder holds first.
        is_full: Whether the whole table is printed, not the short one.
        trackers: Experiment trackers, as names or as functions that make them.

    Returns:
        The exit status: 0, or 2 if the model can't be reached or every episode failed, or 130 after Ctrl-C.

    Raises:
        RunFolderError: The folder can't hold this run.
        TrackerError: A tracker can't start.
    """
    finished = execute(
        runner,
        out,
        is_fresh=is_fresh,
        trackers=trackers,
        warn=partial(console.print, highlight=False, soft_wrap=True),
        watching=lambda results: _watching(runner, results, console),
        finishing=lambda: handling_ctrl_c(signal.SIG_IGN),  # while the summary is written
    )
    results = finished.results
    if any(one.n_episodes for one in finished.figures.summaries.values()) or (
        results.n_episodes and not finished.is_failure
    ):
        console.print((RunTable if is_full else ShortTable)(results.heading, finished.figures))
    tell = partial(console.print, highlight=False, soft_wrap=True)
    stopped, is_interrupted = finished.stopped, isinstance(finished.stopped, KeyboardInterrupt)
    if finished.is_failure:
        TextConsole(stderr=True).print(f"iad: {stopped}", highlight=False, soft_wrap=True)
    else:
        failed = (record for own in results.records.values() for record in own if record.error_kind)
        firsts = {record.error_kind: record for record in sorted(failed, key=lambda one: one.task_id, reverse=True)}
        for kind, record in firsts.items():
            error = isolated(" ".join(record.error.split()))
            tell(f"{kind}, first in {isolated(record.task_id)}: {error}")
        if stopped is not None:
            reason = "interrupted; repeat the command to continue" if is_interrupted else isolated(str(stopped))
            text = f"Stopped after {results.n_episodes} of {results.n_expected} episodes: {reason}"
            console.print(Text(text, style="bold yellow"))
    if finished.report is not None:
        more = ", all spending and why tasks failed" if finished.figures.failed else " and all spending"
        tell(f"Intervals{more}: {out / TABLE}, or --full. Every step: {finished.report}")
    tell(f"Run folder: {out}")
    if is_interrupted:
        return INTERRUPTED
    are_all_errors = results.n_episodes > 0 and all(one.error_kind for own in results.records.values() for one in own)
    return 2 if finished.is_failure or are_all_errors else 0


@contextmanager
def _watching(runner: Runner, results: Results, console: Console) -> Iterator[Watch]:
    with interruptible(runner.stop, console):
        if 0 < results.n_kept < results.n_expected:
            n_missing = results.n_expected - results.n_kept
            console.print(f"{results.n_kept} episodes kept, {n_missing} to go", highlight=False)
        if not console.is_terminal:
            yield _Lines(results, console)
            return
        console.print("Ctrl-C stops the run and keeps finished episodes", highlight=False)
        with Progress(
            TextColumn("{task.description}"), BarColumn(), console=console, auto_refresh=False, transient=True
        ) as bar:
            yield _Bar(results, bar)


class _Pace:
    """How far a run is, and how long the rest will take if it goes on like this."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._start = monotonic()
        self._total: Counter[str] = Counter()
        self._usd = 0.0

    def add(self, record: EpisodeRecord) -> None:
        """Count an episode that was run now."""
        spent = record.spent
        self._total.update(
            new=1,
            calls=spent.proposals + spent.verifications + spent.asks,
            tokens=spent.tokens,
            failed=int(bool(record.error_kind)),
        )
        self._usd += spent.usd

    def __str__(self) -> str:
        done, expected, total = self._results.n_episodes, self._results.n_expected, self._total
        passed = monotonic() - self._start
        parts = [f"{done:>{len(str(expected))}}/{expected} episodes, {passed:.0f} s"]
        # The first ones wait for the model and the data to be loaded, and say little about the others.
        if total["new"] >= min(10, expected / 10):
            parts += [f"about {passed / total['new'] * (expected - done):.0f} s left"]
        parts += [counted(total["calls"], "call")]
        parts += [f"{total['tokens']:,} tokens"] if total["tokens"] else []
        parts += [f"${self._usd:.4f}"] if self._usd else []
        parts += [f"{total['failed']} failed"] if total["failed"] else []
        return ", ".join(parts)


class _Lines:
    """Prints a line after the first new episode, and after each tenth of all episodes."""

    def __init__(self, results: Results, console: Console) -> None:
        self._results, self._console = results, console
        self._pace = _Pace(results)
        self._n_told = -1

    def __call__(self, record: EpisodeRecord, is_new: bool) -> None:
        if not is_new:
            return
        self._pace.add(record)
        n_tenths = 10 * self._results.n_episodes // self._results.n_expected
        if n_tenths > self._n_told:
            self._n_told = n_tenths
            self._console.print(str(self._pace), highlight=False, soft_wrap=True)


class _Bar:
    """Moves a bar, at most five times a second."""

    def __init__(self, results: Results, bar: Progress) -> None:
        self._results, self._bar = results, bar
        self._pace = _Pace(results)
        self._task = bar.add_task("", total=results.n_expected)
        self._next = -math.inf  # the first episode is shown at once

    def __call__(self, record: EpisodeRecord, is_new: bool) -> None:
        if is_new:
            self._pace.add(record)
        if monotonic() >= self._next:
            self._bar.update(self._task, completed=self._results.n_episodes, description=str(self._pace), refresh=True)
            self._next = monotonic() + 0.2

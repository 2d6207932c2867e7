"""Runs of one command side by side: they share the workers, and are shown one after the other, in their order."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock, Thread
from typing import IO, Any, NamedTuple, cast

from rich.console import Console

from iad_policy.commands.terminal import interruptible
from iad_policy.report.console import TextConsole
from iad_policy.run.config import THREADS
from iad_policy.run.places import WorkerPlaces
from iad_policy.run.runner import Runner


class PlannedRun(NamedTuple):
    """A run of a command, and its folder."""

    folder: Path
    runner: Runner


Session = Callable[[PlannedRun, Console], int]
"""Runs what is missing, shows it on the console and returns the exit status, or raises an error for the terminal."""


def fit_side_by_side(runs: Sequence[PlannedRun], *, tracks: bool) -> bool:
    """Return whether the runs may share their workers.

    Runs with one worker each go one after the other. So do those of a cluster, which has workers of its own, and those
    that are tracked, as trackers' packages have one current run in a process.
    """
    configs = [one.runner.config for one in runs]
    return (
        len(runs) > 1
        and not tracks
        and all(config.engine == THREADS for config in configs)
        and max(config.workers for config in configs) > 1
    )


def run_side_by_side(runs: Sequence[PlannedRun], session: Session, console: Console) -> int:
    """Run them all, and return the first exit status that is not 0.

    What a run prints is shown when all before it have ended. A run that fails stops those after it, which would not
    have begun had they come one after the other. Ctrl-C stops all, and a second one does not wait for them.
    """
    places = WorkerPlaces(max(one.runner.config.workers for one in runs))
    screens = [_Screen(console) for _ in runs]
    sessions = [_RunThread(one, session, screen) for one, screen in zip(runs, screens, strict=True)]
    for rank, one in enumerate(sessions):
        one.run.runner.share(places, rank)
        one.followers = sessions[rank + 1 :]

    def stop() -> None:
        for one in sessions:
            one.run.runner.stop()

    with interruptible(stop, console):
        for one in sessions:
            one.thread.start()
        for one, screen in zip(sessions, screens, strict=True):
            screen.show()
            one.wait()
            if one.status or one.error is not None:
                break
        for one in sessions:  # they have ended, or were stopped
            one.wait()
    first = next((one for one in sessions if one.status or one.error is not None), sessions[0])
    if first.error is not None:
        raise first.error
    return first.status


class _RunThread:
    """A run in a thread of its own."""

    def __init__(self, run: PlannedRun, session: Session, screen: "_Screen") -> None:
        self.run = run
        self.status = 0
        self.error: BaseException | None = None
        self.followers: Sequence[_RunThread] = ()
        # A daemon, so that a second Ctrl-C need not wait for an answer that may never come.
        self.thread = Thread(
            target=self._attend, args=(session, screen), name=f"iad-run-{run.folder.name}", daemon=True
        )

    def wait(self) -> None:
        """Wait until it has ended: in pieces, so that a signal is handled meanwhile."""
        while self.thread.is_alive():
            self.thread.join(0.2)

    def _attend(self, session: Session, screen: "_Screen") -> None:
        try:
            self.status = session(self.run, screen.console)
        except BaseException as error:  # it is raised in the main thread, when it is this run's turn
            self.error = error
        if self.status or self.error is not None:
            for one in self.followers:
                one.run.runner.stop()


class _Screen:
    """A console whose text is kept until it is the run's turn to be shown."""

    encoding = "utf-8"

    def __init__(self, console: Console) -> None:
        self._file = console.file
        self._kept: list[str] | None = []
        self._lock = Lock()
        self.console = TextConsole(
            file=cast("IO[str]", self),
            width=console.width,
            force_terminal=False,
            color_system=cast("Any", console.color_system),
        )

    def write(self, text: str) -> int:
        with self._lock:
            if self._kept is None:
                self._file.write(text)
            else:
                self._kept.append(text)
        return len(text)

    def flush(self) -> None:
        with self._lock:
            if self._kept is None:
                self._file.flush()

    def show(self) -> None:
        """Show what was kept, and from now on all at once."""
        with self._lock:
            self._file.write("".join(self._kept or ()))
            self._file.flush()
            self._kept = None

"""Compares strategies from Python, as `iad compare` does. Strategies, agents and verifiers can be your own objects."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import gymnasium as gym

from iad_policy.types import Agent, Verifier

if TYPE_CHECKING:
    from iad_policy.ledger.episode_record import EpisodeRecord
    from iad_policy.report.figures import Figures
    from iad_policy.report.results import Results
    from iad_policy.run.runner import Runner

Named = str | Callable[..., Any]
Watch: TypeAlias = "Callable[[EpisodeRecord, bool], None]"


def evaluate(
    env: "str | Callable[[], gym.Env[Any, Any]]",
    strategies: "Named | Sequence[Named] | Mapping[str, Named]" = ("single", "bon-sc", "iad"),
    tasks: int = 100,
    *,
    agent: "str | Agent | Callable[..., Any] | Sequence[str | Agent | Callable[..., Any]] | None" = None,
    verifier: str | Verifier | Sequence[str | Verifier] | None = None,
    out: Path | str | None = None,
    is_fresh: bool = False,
    track: "str | Callable[..., Any] | Sequence[str | Callable[..., Any]]" = (),
    **options: Any,
) -> "Results":
    """Run strategies on the same tasks and return their results and costs.

    Args:
        env: The environment's id, or a function that makes one. Every worker has its own environment.
        strategies: Names, or your own generator functions. A mapping gives them names.
        tasks: Number of tasks, from the start of the split.
        agent: One base agent or several: names, objects with `propose`, or functions; by default the environment's
            own. All workers share an object, so it must be thread-safe.
        verifier: One or several: a name, `"none"`, or an object with `verify`; by default the environment's proxy.
        out: The run folder. The same call resumes the run there. With None only the cache of model answers is kept.
        is_fresh: Whether a run in the folder is deleted first.
        track: Experiment trackers: names, or functions that make a `Tracker`.
        options: Options of the command line: `n` and `seed` (one or several), `workers`, `threads`, `budget`,
            `feedback`, `stop`, `delta`, `temperature`, `split`, `data_dir`, `env_args`, `baseline`, `cache`, `roles`,
            `simulator` (a name, or an object).

    Returns:
        The results: print `results.table()`, or see `results.compare("iad", "bon-sc")` and `results.to_pandas()`.

    Raises:
        ValueError: A name or a number is not valid. The message lists the valid ones.
        RunFolderError: The folder holds another run, or is in use.
        TrackerError: A tracker can't start.
        RunStopped: The budget of the run is spent, or the model can't be reached. Finished work is kept in `out`.
        KeyboardInterrupt: Ctrl-C was pressed. The answers of running requests are kept.
    """
    from iad_policy.run.components import load_components
    from iad_policy.run.own import named
    from iad_policy.run.resolve import env_of, resolve
    from iad_policy.run.runner import Runner

    own: dict[str, Any] = {}
    agents = tuple(named(one, own) for one in _listed(agent))
    asked = {
        **options,
        "env": env if isinstance(env, str) else named(env, {}),
        "strategies": _strategies(strategies, own),
        "tasks": tasks,
        "agent": agents[0] if len(agents) == 1 else agents or None,
        "verifier": tuple(named(one, own, "verifiers") for one in _listed(verifier)) or None,
        "own": own,
    }
    if asked.get("simulator") is not None:
        asked["simulator"] = named(asked["simulator"], own, "simulators")
    for name in ("n", "seed"):
        if isinstance(asked.get(name), list | range):
            asked[name] = tuple(asked[name])
    config = resolve(asked, is_known=isinstance(env, str), folder=out)
    runner = Runner(config, partial(env_of, config) if isinstance(env, str) else env, load_components)
    with TemporaryDirectory() as nowhere:
        try:
            finished = execute(
                runner,
                out or nowhere,
                is_fresh=is_fresh,
                trackers=_listed(track),
                warn=warnings.warn,
                writes_report=out is not None,
            )
        finally:
            runner.close()
    if finished.stopped is not None:
        raise finished.stopped
    return finished.results


class Finished(NamedTuple):
    """A run that is complete, or was stopped.

    Attributes:
        results: Results of all finished episodes.
        figures: The figures of the table.
        stopped: The reason why the run was stopped early: `RunStopped`, `StorageError` or `KeyboardInterrupt`; None if
            it is complete. Finished work is kept in every case.
        report: Path of the report, if one was written.
        damaged: Keys of the episodes whose steps the report could not read in full.
    """

    results: "Results"
    figures: "Figures"
    stopped: BaseException | None
    report: Path | None
    damaged: tuple[str, ...] = ()

    @property
    def is_failure(self) -> bool:
        """Whether it was stopped by a failure that has to be fixed first, unlike a budget or Ctrl-C."""
        return isinstance(self.stopped, OSError) or getattr(self.stopped, "is_failure", False)


def execute(
    runner: "Runner",
    out: Path | str,
    *,
    is_fresh: bool = False,
    trackers: Sequence[Any] = (),
    warn: Callable[[str], Any] = warnings.warn,
    writes_report: bool = True,
    watching: "Callable[[Results], AbstractContextManager[Watch]] | None" = None,
    finishing: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Finished:
    """Run the missing episodes of a run, and write its summary and report.

    `evaluate` and the commands share this loop. A report that can't be written is a warning, and the results stay.

    Args:
        runner: The runner.
        out: The run folder.
        is_fresh: Whether a run in the folder is deleted first.
        trackers: Names of trackers, or functions that make them.
        warn: Function that is called with each warning.
        writes_report: Whether `report.html` is written.
        watching: Function from the results to a context around the episodes. The context yields a function that is
            called with the record of each episode, and with whether it was run now, not earlier.
        finishing: Function that makes a context around the writing of the summary and the report.

    Raises:
        RunFolderError: The folder can't hold this run.
        TrackerError: A tracker can't start.
    """
    from iad_policy.errors import StorageError
    from iad_policy.ledger.answer_log import ANSWERS
    from iad_policy.ledger.run_folder import CONFIG, RunFolder, read_config
    from iad_policy.report.figures import heading_of
    from iad_policy.report.results import Results
    from iad_policy.run.config import FREE
    from iad_policy.run.journal import RunStopped
    from iad_policy.run.trackers import Tracking

    if not is_fresh and os.path.lexists(Path(out) / CONFIG):
        runner.resume(read_config(Path(out)))
    recorded = runner.recorded_config()

    def passed(folder: RunFolder, tracking: Tracking, on_episode: Callable[["EpisodeRecord"], None]) -> Finished:
        """Run what is missing in the folder; `on_episode` gets every record."""
        results = Results(heading_of(runner.config, recorded, len(runner.tasks)))
        stopped: BaseException | None = None
        told = False
        for name in folder.repaired:
            warn(f"{name}: the last line was incomplete, so it was removed. Its content is run again.")
        try:
            kept = {key for key, record in folder.episodes.items() if not record.is_unfinished}
            results.n_kept = sum(job.key in kept for job in runner.jobs()) if kept else 0
            with nullcontext(_nothing) if watching is None else watching(results) as after_each:
                for record in runner.episodes(folder):
                    results.add(record)
                    if record.failed_verdict and not told:
                        told = True
                        warn(f"A verdict is missing, first in {record.task_id}: {record.failed_verdict}")
                    on_episode(record)
                    after_each(record, record.key not in kept)
        except (RunStopped, StorageError, KeyboardInterrupt) as reason:
            stopped = reason
        with finishing():
            finished = Finished(results, results.figures(), stopped, None)
            try:
                summary = results.as_json(finished.figures)
                folder.write_summary(summary, results.table(figures=finished.figures))
                tracking.on_summary(summary)
                if writes_report and results.n_episodes and not finished.is_failure:
                    report, damaged = _reported(folder.path, warn)
                    finished = finished._replace(report=report, damaged=damaged)
            except OSError as unwritten:
                finished = finished._replace(stopped=stopped if finished.is_failure else unwritten)
        return finished

    with (
        RunFolder(out, recorded, free=FREE, is_fresh=is_fresh) as folder,
        closing(Tracking(trackers, folder.path, runner.config, recorded=recorded, warn=warn)) as tracking,
    ):
        finished = passed(folder, tracking, tracking.on_episode)
        folder.close()
        if finished.damaged and finished.stopped is None:
            # Only the report reads all answers of finished episodes. A run that is intact is not read twice.
            n = len(finished.damaged)
            warn(f"{ANSWERS}: {n} of {finished.results.n_episodes} episodes had damaged answers. They are run again.")
            with RunFolder(out, recorded, free=FREE, damaged=frozenset(finished.damaged)) as folder:
                finished = passed(folder, tracking, _ignored)
    return finished


def _ignored(record: "EpisodeRecord") -> None:
    pass


def _reported(folder: Path, warn: Callable[[str], Any]) -> tuple[Path | None, tuple[str, ...]]:
    """Write the report. Return its path, and the keys of the episodes with damaged answers.

    The path is None if that fails: the results don't depend on it.
    """
    from iad_policy.ledger.run import Run
    from iad_policy.report.viewer.report import write_report

    try:
        run = Run(folder)
        return write_report(run), tuple(run.damaged)
    except Exception as error:
        warn(
            f"expected to write the report of {folder}, got {type(error).__name__}: {error!s:.300}; the results are "
            f"kept, so repair the folder and write it with `iad report {folder}`"
        )
        return None, ()


def _nothing(record: "EpisodeRecord", is_new: bool) -> None:
    pass


def _strategies(given: Any, own: dict[str, Any]) -> tuple[str, ...]:
    from iad_policy.run.own import named

    if not isinstance(given, Mapping):
        return tuple(named(one, own) for one in _listed(given))
    own.update({name: one for name, one in given.items() if name != one})
    return tuple(given)


def _listed(given: Any) -> Sequence[Any]:
    if given is None:
        return ()
    return given if isinstance(given, list | tuple) else [given]

"""Commands that run episodes: `iad compare` and `run`."""

from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from iad_policy.commands.options import config_parts, with_run_options
from iad_policy.commands.side_by_side import PlannedRun, fit_side_by_side, run_side_by_side
from iad_policy.commands.suite import read_suite
from iad_policy.commands.terminal import BAD_INPUT, clear_errors, make_console
from iad_policy.commands.terminal_run import run_session
from iad_policy.errors import MissingExtra, RunFolderError, StorageError
from iad_policy.run.components import load_components
from iad_policy.run.config import DEFAULT_STRATEGIES, RunConfig
from iad_policy.run.resolve import env_of, resolve
from iad_policy.run.runner import Runner
from iad_policy.run.trackers import TrackerError, tracker_names
from iad_policy.types.hashing import digest


@with_run_options()
def compare(**given: Any) -> None:
    """Compare strategies on the same tasks with equal budgets."""
    _run(given, DEFAULT_STRATEGIES)


@with_run_options(one_strategy="iad")
def run(**given: Any) -> None:
    """Run one strategy."""
    _run(given, ("iad",))


def _run(given: dict[str, Any], default: tuple[str, ...]) -> None:
    console = make_console()
    with clear_errors(BAD_INPUT):
        trackers = tracker_names(given["track"])
        plan = _plan(given, default)
        runs = [PlannedRun(folder, Runner(config, partial(env_of, config), load_components)) for folder, config in plan]

    def session(run: PlannedRun, screen: Console) -> int:
        config, n_tasks = run.runner.config, len(run.runner.tasks)
        if config.tasks is not None and n_tasks < config.tasks:
            screen.print(f"Only {n_tasks} of the {config.tasks} requested tasks exist. All of them run.")
        return run_session(
            run.runner,
            run.folder,
            screen,
            is_fresh=given["fresh"],
            is_full=given["full"],
            trackers=trackers,
        )

    try:
        with clear_errors((RunFolderError, StorageError, MissingExtra, TrackerError)):
            if fit_side_by_side(runs, tracks=bool(trackers)):
                status = run_side_by_side(runs, session, console)
            else:
                status = next((one for one in (session(run, console) for run in runs) if one), 0)
        if status:
            raise typer.Exit(status)
    finally:
        for run in runs:
            run.runner.close()


def _plan(given: dict[str, Any], default: tuple[str, ...]) -> list[tuple[Path, RunConfig]]:
    """Return the requested runs, each with its folder. Several runs share a parent folder."""
    ctx, file = given["ctx"], given["config"]
    sources = {name: ctx.get_parameter_source(name) for name in given}
    asked = config_parts(
        {name: given[name] for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    )
    envs = asked.pop("env", None)
    entries = [
        {**entry, **asked, **({} if env is None else {"env": env})}
        for entry in (read_suite(file) if file else [{}])
        for env in (envs or [None])
    ]
    names = [entry.pop("name", None) for entry in entries]
    folder = given["out"] if len(entries) == 1 else None  # several share a parent folder
    configs = [resolve(entry, default=default, folder=folder) for entry in entries]
    folders = [Path(name or config.name()) for name, config in zip(names, configs, strict=True)]
    if len(set(folders)) < len(folders):
        raise ValueError(
            "expected different runs, or runs with different names, got the same run twice; give each a name"
        )
    if len(configs) == 1:
        return [(given["out"] or Path("runs") / folders[0], configs[0])]
    whole = given["out"] or Path("runs") / (file.stem if file else f"suite-{digest(*map(str, folders))[:8]}")
    return [(whole / folder, config) for folder, config in zip(folders, configs, strict=True)]

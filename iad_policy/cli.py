"""Defines the command `iad`. Only this module depends on environments, policies and the terminal."""

import os
import sys
from contextlib import closing
from functools import partial
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import typer
from rich.console import Console
from rich.text import Text

import iad_envs
from iad_envs.data import DATA_VARIABLE, data_folder
from iad_policy.commands import advise as advising
from iad_policy.commands import analyse, learning, reports, score
from iad_policy.commands import data as official
from iad_policy.commands.doctor import LIMIT_S, examine, page
from iad_policy.commands.options import EnvIds, config_parts, pairs, with_run_options
from iad_policy.commands.play import play as play_episode
from iad_policy.commands.side_by_side import PlannedRun, fit_side_by_side, run_side_by_side
from iad_policy.commands.suite import read_suite
from iad_policy.commands.terminal import BAD_INPUT, clear_errors, make_console, tell
from iad_policy.commands.terminal_run import run_session
from iad_policy.errors import MissingExtra, RunFolderError, StorageError
from iad_policy.run.components import cache_path, load_components
from iad_policy.run.config import DEFAULT_STRATEGIES, RunConfig
from iad_policy.run.resolve import entry_points, env_of, make_env, parameters_of, resolve
from iad_policy.run.runner import Runner
from iad_policy.run.trackers import TrackerError, tracker_names
from iad_policy.types.hashing import digest
from iad_policy.types.secrets import learn, mask_stream
from iad_policy.types.texts import isolated
from webshop_server import commands as shop

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

EnvId = Annotated[str, typer.Argument(metavar="ENV", help="Environment id, such as IAD/WebShop-v0.")]
EnvArgs = Annotated[
    list[str] | None, typer.Option("--env-arg", metavar="KEY=VALUE", help="Further argument of the environment.")
]
DataDir = Annotated[str | None, typer.Option(help="Folder with the environment's data, or official:NAME.")]
Split = Annotated[str | None, typer.Option(help="Split of the tasks; by default the environment's own.")]
Seed = Annotated[int, typer.Option(help="Seed of the task and of the environment.")]


@app.command()
@with_run_options()
def compare(**given: Any) -> None:
    """Compare strategies on the same tasks with equal budgets."""
    _run(given, DEFAULT_STRATEGIES)


@app.command()
@with_run_options(one_strategy="iad")
def run(**given: Any) -> None:
    """Run one strategy."""
    _run(given, ("iad",))


@app.command()
def play(
    env: EnvId,
    task: Annotated[str | None, typer.Option(help="Task id; by default the seed chooses one.")] = None,
    split: Split = None,
    seed: Seed = 0,
    env_arg: EnvArgs = None,
    data_dir: DataDir = None,
) -> None:
    """Act in an environment yourself, in the terminal."""
    console = make_console()
    with clear_errors(BAD_INPUT):
        env_args = pairs(env_arg, "--env-arg")
        if "observation_mode" in parameters_of(env):
            env_args = {"observation_mode": "text_rich"} | env_args
        made = make_env(env, env_args, split=split, data_dir=data_dir)
        play_episode(made, console, lambda prompt: console.input(prompt, markup=False), task=task, seed=seed)


@app.command()
def serve(
    site: Annotated[str | None, typer.Option(help="The site: webshop (the default) or booking.")] = None,
    mcp: Annotated[
        str | None, typer.Option(metavar="ENV", help="Serve an environment to agents with tools, by MCP, instead.")
    ] = None,
    openenv: Annotated[
        str | None, typer.Option(metavar="ENV", help="Serve an environment to OpenEnv clients instead.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="local:MODEL", help="Serve a model on this machine to OpenAI clients instead."),
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="MCP agents may simulate an action first.")] = False,
    outcomes: Annotated[
        Path | None, typer.Option(help="File for the outcomes of MCP agents' episodes, a line of JSON each.")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on; by default 127.0.0.1, reachable from this machine only."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port to listen on, or the next free one; 3000 by default, and for MCP stdin and stdout."),
    ] = None,
    api: Annotated[
        bool, typer.Option("--api", help="Also serve environments on other machines, with a token. For webshop only.")
    ] = False,
    split: Split = None,
    env_arg: EnvArgs = None,
    data_dir: DataDir = None,
) -> None:
    """Serve the shop, the booking site, a model, or an environment to other frameworks. Ctrl-C stops it."""
    from iad_policy.commands.serving import Served, opened

    with clear_errors():
        asked: dict[str, Any] = {"site": site, "mcp": mcp, "openenv": openenv, "model": model, "preview": preview}
        asked |= {"api": api, "outcomes": outcomes, "host": host, "port": port, "split": split, "data_dir": data_dir}
        serving = opened(Served(**asked, env_args=pairs(env_arg, "--env-arg")), tell)
    serving()


@app.command()
def validate(
    subject: Annotated[str, typer.Argument(metavar="ENV|FOLDER", help="An environment's id, or a run folder.")],
    tasks: Annotated[int, typer.Option(min=1, help="Number of tasks that are played.")] = 40,
    split: Split = None,
    env_arg: EnvArgs = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
) -> None:
    """Check an environment (solved by its solutions, not by tricks, as its contract says), or a run folder's files."""
    from iad_policy.report.schemas import problems
    from iad_policy.validate import Check
    from iad_policy.validate import validate as checks

    styles = {"ok": "green", "failed": "bold red", "open": "yellow"}
    console, failed = make_console(), False

    def told(check: Check) -> bool:
        line = Text(f"{check.status:<7}", style=styles[check.status])
        console.print(line.append(f"{check.name}: {isolated(check.said)}", style="default"), soft_wrap=True)
        return check.status == "failed"

    with clear_errors():
        if Path(subject).is_dir():
            found = list(problems(subject))
            failed = bool(found)
            for one in found or ["every file fits its schema"]:
                told(Check(subject, "failed" if failed else "ok", one))
        else:
            with closing(make_env(subject, pairs(env_arg, "--env-arg"), split=split, data_dir=data_dir)) as made:
                for check in checks(made, n_tasks=tasks, seed=seed):
                    failed |= told(check)
    if failed:
        raise typer.Exit(1)


@app.command()
def doctor(
    env: EnvIds = None,
    seconds: Annotated[float, typer.Option(help="Seconds to wait for all checks together.")] = LIMIT_S,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check the installation and show how to install missing parts."""
    with clear_errors(BAD_INPUT):
        entries = entry_points(env or iad_envs.ENVIRONMENTS)
    groups = examine(
        entries, gym.make, variables=os.environ, data_variable=DATA_VARIABLE, cache=cache_path(), limit_s=seconds
    )
    if as_json:
        typer.echo(page.as_json(groups))
    else:
        page.print_groups(groups, make_console())
    if any(finding.is_failure for group in groups for finding in group.findings):
        raise typer.Exit(1)


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
    configs = [resolve(entry, default=default) for entry in entries]
    folders = [Path(name or config.name()) for name, config in zip(names, configs, strict=True)]
    if len(set(folders)) < len(folders):
        raise ValueError(
            "expected different runs, or runs with different names, got the same run twice; give each a name"
        )
    if len(configs) == 1:
        return [(given["out"] or Path("runs") / folders[0], configs[0])]
    whole = given["out"] or Path("runs") / (file.stem if file else f"suite-{digest(*map(str, folders))[:8]}")
    return [(whole / folder, config) for folder, config in zip(folders, configs, strict=True)]


def _version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"iad {version('iad')}")
        raise typer.Exit


@app.callback()
def _anywhere(
    asked: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run agent environments, and policies that propose, verify and refine before they commit."""
    learn(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        mask_stream(stream)
    if isinstance(sys.stdout, TextIOWrapper):  # what it can't encode is escaped, as on stderr, and no traceback
        sys.stdout.reconfigure(errors="backslashreplace")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # module:object finds files in the working folder, as with python -m


data = typer.Typer(
    help="Fetch official data, and generate synthetic data.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(data, name="data")
official.add_commands(data)
shop.add_commands(app, data, lambda data_dir: data_folder("webshop", data_dir).resolve(), clear_errors)
for name, command in (
    ("explore", learning.explore_tasks),
    ("train", learning.train_model),
    ("improve", learning.improve_agent),
    ("reproduce", learning.reproduce_paper),
    ("analyse", analyse.analyse),
    ("score", score.score),
    ("advise", advising.advise),
    ("reselect", advising.reselect),
    ("list", reports.list_names),
    ("report", reports.report),
    ("export", reports.export),
    ("view", reports.view),
    ("sweep", reports.sweep),
):
    app.command(name)(command)

if __name__ == "__main__":
    app()

"""The command `iad`: the one place that knows environments, policies and the terminal."""

import inspect
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import gymnasium as gym
import typer
from gymnasium.envs.registration import load_env_creator
from rich.console import Console
from rich.table import Table

import iad_envs
from iad_envs.tasks import data_folder
from iad_policy.defaults import DEFAULTS, Defaults
from iad_policy.errors import IADError, UnknownName
from iad_policy.evaluation import inventory
from iad_policy.evaluation.agentboard import write_agentboard
from iad_policy.evaluation.casting import load_cast
from iad_policy.evaluation.config import DEFAULT_STRATEGIES, RunConfig
from iad_policy.evaluation.folder import RunFolderError
from iad_policy.evaluation.play import play as play_episode
from iad_policy.evaluation.results import Heading
from iad_policy.evaluation.runner import Runner
from iad_policy.evaluation.session import run_session
from iad_policy.evaluation.trace import RunTraces
from iad_policy.evaluation.viewer.report import write_report
from iad_policy.verifiers import NO_VERIFIER
from webshop_server.commands import add_commands

WIDTH_OF_A_LOG = 100
"""Columns where the output is no terminal and COLUMNS does not say."""
RUNS = Path("runs")

BAD_INPUT: tuple[type[Exception], ...] = (
    *(IADError, ValueError, TypeError, FileNotFoundError, gym.error.Error),
    *(ImportError, AttributeError),  # an agent or verifier named as module:Class
)

T = TypeVar("T")

app = typer.Typer(
    help="Agent environments, and policies that propose, verify and refine before they commit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

EnvId = Annotated[str, typer.Argument(metavar="ENV", help="The environment's id, such as IAD/WebShop-v0.")]
EnvArgs = Annotated[
    list[str] | None, typer.Option("--env-arg", metavar="KEY=VALUE", help="A further argument of the environment.")
]
DataDir = Annotated[str | None, typer.Option(help="The folder with the environment's data.")]
Agent = Annotated[
    str | None,
    typer.Option(metavar="NAME[,NAME...]", help="The base agent, by default the environment's keyless one."),
]
VerifierName = Annotated[
    str | None,
    typer.Option("--verifier", help="The verifier, by default the environment's proxy, or none."),
]
N = Annotated[
    str,
    typer.Option(
        "--n",
        metavar="N[,N...]",
        help="Proposals per decision; docs/strategies.md says what else a strategy counts by it.",
    ),
]
Tasks = Annotated[int, typer.Option(help="How many tasks, from the start of the split.")]
Split = Annotated[str | None, typer.Option(help="The split the tasks are from, by default the environment's own.")]
Seed = Annotated[int, typer.Option(help="The seed of every sample.")]
Seeds = Annotated[str, typer.Option("--seed", metavar="SEED[,SEED...]", help="The seed of every sample.")]
Out = Annotated[Path | None, typer.Option(help="The run folder, by default one in runs/ named by the command.")]
Feedback = Annotated[str | None, typer.Option(help="What the agent is told before it proposes again.")]
Stop = Annotated[str | None, typer.Option(help="When a refining strategy stops: never, finalise or score:X.")]
Delta = Annotated[float | None, typer.Option(help="How much a candidate must beat the incumbent by.")]
Temperature = Annotated[float | None, typer.Option(help="The temperature of proposals, by default the agent's own.")]
BudgetLimits = Annotated[
    list[str] | None, typer.Option("--budget", metavar="LIMIT=VALUE", help="A limit, such as decision.proposals=3.")
]
Threads = Annotated[int, typer.Option(help="Requests of a decision answered side by side; changes no answer.")]
Workers = Annotated[int, typer.Option(help="Episodes run side by side; changes no answer.")]
Cache = Annotated[bool, typer.Option("--cache/--no-cache", help="Whether language-model answers are cached.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Forget a run that the folder holds and begin again.")]


@app.command()
def compare(
    env: EnvId,
    strategies: Annotated[str, typer.Option(help="Names, separated by commas.")] = ",".join(DEFAULT_STRATEGIES),
    baseline: Annotated[str, typer.Option(help="What others are compared with, bon-sc where it runs.")] = "",
    agent: Agent = None,
    verifier: VerifierName = None,
    n: N = "3",
    tasks: Tasks = 100,
    split: Split = None,
    seed: Seeds = "0",
    out: Out = None,
    feedback: Feedback = None,
    stop: Stop = None,
    delta: Delta = None,
    temperature: Temperature = None,
    budget: BudgetLimits = None,
    env_arg: EnvArgs = None,
    data_dir: DataDir = None,
    threads: Threads = 1,
    workers: Workers = 1,
    cache: Cache = True,
    fresh: Fresh = False,
) -> None:
    """Compare strategies on the same tasks with equal budgets."""
    given = locals()
    _run(given, strategies)


@app.command()
def run(
    env: EnvId,
    strategy: Annotated[str, typer.Option(help="The strategy's name.")] = "iad",
    agent: Agent = None,
    verifier: VerifierName = None,
    n: N = "3",
    tasks: Tasks = 100,
    split: Split = None,
    seed: Seeds = "0",
    out: Out = None,
    feedback: Feedback = None,
    stop: Stop = None,
    delta: Delta = None,
    temperature: Temperature = None,
    budget: BudgetLimits = None,
    env_arg: EnvArgs = None,
    data_dir: DataDir = None,
    threads: Threads = 1,
    workers: Workers = 1,
    cache: Cache = True,
    fresh: Fresh = False,
) -> None:
    """Run one strategy."""
    given = locals()
    _run({**given, "baseline": ""}, strategy)


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    agentboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write AgentBoard's files there, of all runs together.")
    ] = None,
) -> None:
    """Write report.html of runs anew, and AgentBoard's files on request."""
    console = _console()
    with _clear_errors(BAD_INPUT):
        for folder in runs:
            console.print(f"Report: {write_report(folder)}", highlight=False, markup=False, soft_wrap=True)
        if agentboard is not None:
            with ExitStack() as stack:
                write_agentboard([stack.enter_context(RunTraces(folder)) for folder in runs], agentboard)
            console.print(f"AgentBoard's files: {agentboard}", highlight=False, markup=False, soft_wrap=True)


@app.command()
def play(
    env: EnvId,
    task: Annotated[str | None, typer.Option(help="The task's id, by default one that the seed picks.")] = None,
    split: Split = None,
    seed: Seed = 0,
    env_arg: EnvArgs = None,
    data_dir: DataDir = None,
) -> None:
    """Act in an environment yourself."""
    console = _console()
    with _clear_errors(BAD_INPUT):
        env_args = _pairs(env_arg, "--env-arg")
        if "observation_mode" in _parameters(env):
            env_args = {"observation_mode": "text_rich"} | env_args
        made = _make(env, env_args, split=_split(env, split), data_dir=data_dir)
        play_episode(made, console, lambda prompt: console.input(prompt, markup=False), task=task, seed=seed)


@app.command("list")
def list_names() -> None:
    """List environments, agents, strategies, verifiers and feedback forms."""
    console = _console()
    environments = {name: str(gym.spec(name).entry_point) for name in iad_envs.ENVIRONMENTS}
    for kind, described in inventory.names(environments).items():
        table = Table(title=kind, title_justify="left", show_header=False, box=None, title_style="bold")
        table.add_column(no_wrap=True, min_width=18)
        table.add_column()
        for name, line in described.items():
            table.add_row(f"  {name}", line)
        console.print(table, highlight=False, markup=False)


@app.command()
def doctor() -> None:
    """Say what is installed, which data are found and which keys are set."""
    console = _console()
    parts = {
        "packages": inventory.check_packages(),
        "data": inventory.check_data(iad_envs.ENVIRONMENTS, gym.make),
        "keys found": inventory.check_keys(),
    }
    for title, checks in parts.items():
        console.print(title, style="bold")
        for check in checks:
            mark = {True: "ok", False: "MISSING", None: ""}[check.is_good]
            console.print(
                f"  {check.name:<24} {mark:<8} {check.finding}", highlight=False, markup=False, soft_wrap=True
            )
    if any(check.is_good is False for checks in parts.values() for check in checks):
        raise typer.Exit(1)


def _run(given: dict[str, Any], strategies: str) -> None:
    console = _console()
    with _clear_errors(BAD_INPUT):
        config = _config(given, tuple(name.strip() for name in strategies.split(",") if name.strip()))
        runner = Runner(config, _maker(config), load_cast)
    if len(runner.tasks) < config.tasks:
        console.print(f"{config.tasks} tasks were asked for, there are {len(runner.tasks)}: all are run.")
    heading = Heading(config, runner.information, len(runner.tasks), runner.data)
    try:
        with _clear_errors((RunFolderError,)):
            status = run_session(
                runner, heading, given["out"] or RUNS / config.name(), console, is_fresh=given["fresh"]
            )
    finally:
        runner.close()
    if status:
        raise typer.Exit(status)


def _config(given: dict[str, Any], strategies: tuple[str, ...]) -> RunConfig:
    _parameters(given["env"])  # an unknown environment is told first
    defaults = DEFAULTS.get(_env_id(given["env"]), Defaults())
    verifier = given["verifier"]
    if verifier is None and not defaults.proxy:
        raise ValueError(
            f"expected a verifier for {given['env']}, which has no proxy verifier, got none; pass --verifier oracle, "
            "judge:<model> or none"
        )
    return RunConfig(
        env=given["env"],
        agent=_several(given["agent"] or defaults.agent, str, "--agent"),
        n=_several(given["n"], int, "--n"),
        seed=_several(given["seed"], int, "--seed"),
        verifier="" if verifier == NO_VERIFIER else verifier or "proxy",
        strategies=strategies,
        env_args=_pairs(given["env_arg"], "--env-arg"),
        split=_split(given["env"], given["split"]),
        budget=_pairs(given["budget"], "--budget"),
        **{name: given[name] for name in _SAME},
    )


_SAME = (
    *("data_dir", "tasks", "baseline", "feedback"),
    *("stop", "delta", "temperature", "threads", "workers", "cache"),
)


def _maker(config: RunConfig) -> Callable[[], gym.Env[Any, Any]]:
    return lambda: _make(config.env, dict(config.env_args), split=config.split, data_dir=config.data_dir)


def _make(env: str, env_args: dict[str, Any], *, split: str | None, data_dir: str | None) -> gym.Env[Any, Any]:
    known = _parameters(env)
    given = {name: value for name, value in (("split", split), ("data_dir", data_dir)) if value is not None}
    for name in {**env_args, **given}:
        if name not in known:
            raise UnknownName(f"argument of {env}", name, known)
    for name in ("split", "data_dir"):
        if name in env_args:
            raise ValueError(f"expected --env-arg for other arguments, got {name}; use --{name.replace('_', '-')}")
    return gym.make(env, **{**env_args, **given})


def _parameters(env: str) -> dict[str, Any]:
    """Return the arguments that an environment takes, with their defaults."""
    try:
        spec = gym.spec(env)
    except (gym.error.Error, ModuleNotFoundError):
        raise UnknownName("environment", env, iad_envs.ENVIRONMENTS) from None
    entry = spec.entry_point
    creator = load_env_creator(entry) if isinstance(entry, str) else entry
    parameters = inspect.signature(creator).parameters if callable(creator) else {}
    return {name: parameter.default for name, parameter in parameters.items()}


def _split(env: str, split: str | None) -> str | None:
    return _parameters(env).get("split") if split is None else split


def _env_id(env: str) -> str:
    return env.rpartition(":")[2]


def _several(given: str, kind: Callable[[str], T], option: str) -> T | tuple[T, ...]:
    """Return the values of a list with commas; one value as it is."""
    try:
        values = tuple(kind(value.strip()) for value in given.split(","))
    except ValueError:
        raise ValueError(f"expected {option} with whole numbers between commas, got {given!r}") from None
    return values[0] if len(values) == 1 else values


def _pairs(given: list[str] | None, option: str) -> dict[str, Any]:
    """Return KEY=VALUE texts as a mapping; a value that is JSON is read as such, any other is a text."""
    pairs: dict[str, Any] = {}
    for pair in given or ():
        key, sign, value = pair.partition("=")
        if not key or not sign:
            raise ValueError(f"expected {option} KEY=VALUE, got {pair!r}; put an equals sign between them")
        try:
            pairs[key] = json.loads(value)
        except ValueError:
            pairs[key] = value
    return pairs


def _console() -> Console:
    console = Console()
    if not console.is_terminal and not os.environ.get("COLUMNS"):
        console = Console(width=WIDTH_OF_A_LOG)
    return console


@contextmanager
def _clear_errors(kinds: tuple[type[Exception], ...]) -> Iterator[None]:
    """Turn what a user can put right into one sentence on stderr and exit status 2."""
    try:
        yield
    except kinds as error:
        typer.echo(f"iad: {error}", err=True)
        raise typer.Exit(2) from None


add_commands(app, lambda data_dir: data_folder("webshop", data_dir).resolve(), lambda: _clear_errors(BAD_INPUT))

if __name__ == "__main__":
    app()

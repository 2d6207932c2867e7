"""The command `iad`: the one place that knows environments, policies and the terminal."""

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import typer
from gymnasium.envs.registration import load_env_creator
from rich.console import Console
from rich.table import Table

import iad_envs
from iad_policy.errors import IADError, UnknownName
from iad_policy.evaluation import inventory
from iad_policy.evaluation.agentboard import write_agentboard
from iad_policy.evaluation.asked import asked_for, configured, pairs
from iad_policy.evaluation.casting import load_cast
from iad_policy.evaluation.config import DEFAULT_STRATEGIES, RunConfig
from iad_policy.evaluation.folder import RunFolderError
from iad_policy.evaluation.play import play as play_episode
from iad_policy.evaluation.results import Heading
from iad_policy.evaluation.runner import Runner
from iad_policy.evaluation.session import run_session
from iad_policy.evaluation.trace import RunTraces
from iad_policy.evaluation.viewer.report import write_report
from iad_policy.names import imported

WIDTH_OF_A_LOG = 100
"""Columns where the output is no terminal and COLUMNS does not say."""
RUNS = Path("runs")
DEFAULT_STRATEGY = "iad"
"""Of `iad run`."""

BAD_INPUT: tuple[type[Exception], ...] = (
    *(IADError, ValueError, TypeError, FileNotFoundError, gym.error.Error),
    *(ImportError, AttributeError),  # an agent or verifier named as module:Class
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

EnvId = Annotated[str, typer.Argument(metavar="ENV", help="The environment's id, such as IAD/WebShop-v0.")]
Env = Annotated[
    str | None, typer.Argument(metavar="ENV", help="The environment's id, by default the preset's.", show_default=False)
]
PresetName = Annotated[str | None, typer.Option("--preset", help="A paper's settings; other options go before it.")]
EnvArgs = Annotated[
    list[str] | None, typer.Option("--env-arg", metavar="KEY=VALUE", help="A further argument of the environment.")
]
AgentArgs = Annotated[
    list[str] | None, typer.Option("--agent-arg", metavar="KEY=VALUE", help="A further option of the agent.")
]
StrategyArgs = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy-arg", metavar="[STRATEGY.]KEY=VALUE", help="A further option of the strategies, or of one."
    ),
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
    str | None,
    typer.Option(
        "--n",
        metavar="N[,N...]",
        help="Proposals per decision, by default 3; docs/strategies.md says what else a strategy counts by it.",
    ),
]
Tasks = Annotated[
    int | None, typer.Option(help="How many tasks, from the start of the split, by default 100; a preset's: all.")
]
Subset = Annotated[float | None, typer.Option(help="A share of the split to take tasks from, drawn by the seed.")]
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
    env: Env = None,
    strategies: Annotated[
        str | None, typer.Option(help=f"Names, separated by commas, by default {','.join(DEFAULT_STRATEGIES)}.")
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="What others are compared with, bon-sc where it runs.")] = None,
    preset: PresetName = None,
    agent: Agent = None,
    verifier: VerifierName = None,
    n: N = None,
    tasks: Tasks = None,
    subset: Subset = None,
    split: Split = None,
    seed: Seeds = "0",
    out: Out = None,
    feedback: Feedback = None,
    stop: Stop = None,
    delta: Delta = None,
    temperature: Temperature = None,
    budget: BudgetLimits = None,
    strategy_arg: StrategyArgs = None,
    agent_arg: AgentArgs = None,
    env_arg: EnvArgs = None,
    data_dir: DataDir = None,
    threads: Threads = 1,
    workers: Workers = 1,
    cache: Cache = True,
    fresh: Fresh = False,
) -> None:
    """Compare strategies on the same tasks with equal budgets."""
    given = locals()
    _run(given, default=DEFAULT_STRATEGIES)


@app.command()
def run(
    env: Env = None,
    strategy: Annotated[
        str | None, typer.Option(help=f"The strategy's name, by default {DEFAULT_STRATEGY}, or the preset's method.")
    ] = None,
    preset: PresetName = None,
    agent: Agent = None,
    verifier: VerifierName = None,
    n: N = None,
    tasks: Tasks = None,
    subset: Subset = None,
    split: Split = None,
    seed: Seeds = "0",
    out: Out = None,
    feedback: Feedback = None,
    stop: Stop = None,
    delta: Delta = None,
    temperature: Temperature = None,
    budget: BudgetLimits = None,
    strategy_arg: StrategyArgs = None,
    agent_arg: AgentArgs = None,
    env_arg: EnvArgs = None,
    data_dir: DataDir = None,
    threads: Threads = 1,
    workers: Workers = 1,
    cache: Cache = True,
    fresh: Fresh = False,
) -> None:
    """Run one strategy."""
    given = locals()
    _run({**given, "strategies": strategy}, default=(DEFAULT_STRATEGY,))


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
        env_args = pairs(env_arg, "--env-arg")
        if "observation_mode" in _parameters(env):
            env_args = {"observation_mode": "text_rich"} | env_args
        made = _make(env, env_args, split=split or _parameters(env).get("split"), data_dir=data_dir)
        play_episode(made, console, lambda prompt: console.input(prompt, markup=False), task=task, seed=seed)


@app.command("list")
def list_names() -> None:
    """List environments, agents, strategies, verifiers, feedback forms and presets."""
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


def _run(given: dict[str, Any], *, default: tuple[str, ...]) -> None:
    console = _console()
    with _clear_errors(BAD_INPUT):
        settings, lines = asked_for(given, default, environments=tuple(iad_envs.ENVIRONMENTS))
        parameters = _parameters(settings["env"])  # an unknown environment is told first
        config = configured(settings, split=parameters.get("split"))
        runner = Runner(config, _maker(config), load_cast)
    if config.tasks is not None and len(runner.tasks) < config.tasks:
        console.print(f"{config.tasks} tasks were asked for, there are {len(runner.tasks)}: all are run.")
    heading = Heading(config, runner.information, len(runner.tasks), runner.data, lines)
    try:
        with _clear_errors((RunFolderError,)):
            status = run_session(
                runner, heading, given["out"] or RUNS / config.name(), console, is_fresh=given["fresh"]
            )
    finally:
        runner.close()
    if status:
        raise typer.Exit(status)


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
    module, _, name = env.rpartition(":")
    if module:
        imported("environment or module:Id", env, module, iad_envs.ENVIRONMENTS)
    try:
        spec = gym.spec(name)
    except gym.error.Error:
        raise UnknownName("environment or module:Id", env, iad_envs.ENVIRONMENTS) from None
    entry = spec.entry_point
    creator = load_env_creator(entry) if isinstance(entry, str) else entry
    parameters = inspect.signature(creator).parameters if callable(creator) else {}
    return {name: parameter.default for name, parameter in parameters.items()}


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


@app.callback()
def _anywhere() -> None:
    """Agent environments, and policies that propose, verify and refine before they commit."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # module:object finds files beside you, as with python -m


if __name__ == "__main__":
    app()

"""Defines the command `iad`. A command's module is imported when the command is asked for, so `iad --help` is quick."""

import sys
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

if __name__ == "__main__" and sys.path[0] == str(Path.cwd()) != str(Path(__file__).parents[1]):
    del sys.path[0]  # `python -m` puts the working folder first, whose files would stand in for packages

import typer
from typer.core import TyperCommand, TyperGroup

from iad_policy.registry import load_object

QUIET: Mapping[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}
COMMANDS: Mapping[str, tuple[str, str]] = {
    "compare": ("runs:compare", "Compare strategies on the same tasks with equal budgets."),
    "run": ("runs:run", "Run one strategy."),
    "play": ("play:play", "Act in an environment yourself, in the terminal."),
    "serve": (
        "serving:serve",
        "Serve the shop, the booking site, a model, or an environment to other frameworks. Ctrl-C stops it.",
    ),
    "validate": (
        "checks:validate",
        "Check an environment (solved by its solutions, not by tricks, as its contract says), or a run folder's files.",
    ),
    "doctor": ("checks:doctor", "Check the installation and show how to install missing parts."),
    "explore": (
        "learning:explore_tasks",
        "Play training tasks, and record what there is to learn from. The same command resumes a run.",
    ),
    "train": ("learning:train_model", "Train a policy, a value model or a simulator. The same command resumes it."),
    "improve": (
        "learning:improve_agent",
        "Explore and train in turn, and keep the round that is best on dev tasks. The same command resumes it.",
    ),
    "reproduce": (
        "learning:reproduce_paper",
        "Run a paper's comparisons at our scale, and say which of its trends are confirmed here.",
    ),
    "analyse": (
        "analyse:analyse",
        "Compare the samples of logs on the tasks that they share: intervals, tests, pass@k and pass^k.",
    ),
    "score": ("score:score", "Score predictions and recorded actions of others: no agent runs, and no model is asked."),
    "advise": (
        "advise:advise",
        "Say from a pilot whether checking is worth it here, with which strategy, and with how many proposals.",
    ),
    "reselect": (
        "advise:reselect",
        "Run a recorded comparison again with other verifiers, without asking the agent again.",
    ),
    "list": (
        "reports:list_names",
        "List environments, agents, strategies, verifiers, simulators, feedback forms, presets, engines, trackers.",
    ),
    "report": (
        "reports:report",
        "Rewrite report.html of each run or training, and write AgentBoard's files if asked.",
    ),
    "export": (
        "reports:export",
        "Export runs as data: decisions and episodes, training examples, trajectories, or a dataset to share.",
    ),
    "view": ("reports:view", "Show finished or ongoing runs and trainings in a browser. Ctrl-C stops it."),
    "sweep": ("reports:sweep", "Run the experiments of a paper's figures and draw them (arXiv 2504.01931 v2)."),
    "data": ("data:data", "Fetch official data, and generate synthetic data."),
    "index": ("data:index", "Build and list search indexes of large catalogues."),
}
"""Name -> "module:function" in `iad_policy.commands`, or a group there, and the first line of its help."""


class OnDemand(TyperGroup):
    """A group that knows its commands' names and first lines, and imports a command that is asked for."""

    def __init__(self, **given: Any) -> None:
        known = {name: TyperCommand(name, help=line) for name, (_, line) in COMMANDS.items()}
        super().__init__(**{**given, "commands": known})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return a command's name, the command and its arguments."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, imported(str(name)), rest


def imported(name: str) -> Any:
    """Return a command or a group of commands."""
    found = load_object(f"iad_policy.commands.{COMMANDS[name][0]}")
    if isinstance(found, typer.Typer):
        return typer.main.get_group(found)
    alone = typer.Typer(**QUIET)
    alone.command(name)(found)
    return typer.main.get_command(alone)


app = typer.Typer(cls=OnDemand, no_args_is_help=True, **QUIET)


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
    # What runs a command is imported here, so that --help needs none of it.
    from iad_policy.commands.terminal import show_warning
    from iad_policy.types.secrets import learn, mask_stream

    learn(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        mask_stream(stream)
    if isinstance(sys.stdout, TextIOWrapper):  # what it can't encode is escaped, as on stderr, and no traceback
        sys.stdout.reconfigure(errors="backslashreplace")
    warnings.showwarning = show_warning


if __name__ == "__main__":
    app()

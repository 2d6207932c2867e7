"""Commands that check: `iad validate` and `doctor`."""

import os
from contextlib import closing
from pathlib import Path
from typing import Annotated

import gymnasium as gym
import typer
from rich.text import Text

import iad_envs
from iad_envs.official.place import DATA_VARIABLE
from iad_policy.commands.doctor import LIMIT_S, examine, page
from iad_policy.commands.options import DataDir, EnvArgs, EnvIds, Seed, Split, pairs
from iad_policy.commands.terminal import BAD_INPUT, clear_errors, make_console
from iad_policy.report.schemas import problems
from iad_policy.run.components import cache_path
from iad_policy.run.resolve import entry_points, make_env
from iad_policy.types.texts import isolated
from iad_policy.validate import Check
from iad_policy.validate import validate as checks


def validate(
    subject: Annotated[str, typer.Argument(metavar="ENV|FOLDER", help="An environment's id, or a run folder.")],
    tasks: Annotated[int, typer.Option(min=1, help="Number of tasks that are played.")] = 40,
    split: Split = None,
    env_arg: EnvArgs = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
) -> None:
    """Check an environment (solved by its solutions, not by tricks, as its contract says), or a run folder's files."""
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

"""The command `iad score`: our metrics and intervals for what others predicted, without an agent."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from iad_policy.commands.options import pairs, several
from iad_policy.ledger.predictions.formats import SUCCESS, format_of
from iad_policy.report.columns import counted
from iad_policy.report.predictions.score_table import ScoreTable
from iad_policy.report.predictions.scored_files import (
    NOT_SCORED,
    ExpectedTasks,
    expected_tasks,
    read_files,
    require_baseline,
    score_files,
)
from iad_policy.report.predictions.scoring import MISSING_RULES, WRONG, ScoringRules, figures_of
from iad_policy.run.resolve import make_env, parameters_of
from iad_policy.types.atomic import write_atomically
from iad_policy.types.texts import isolated

__all__ = ["add_commands"]

Guard = Callable[[], AbstractContextManager[None]]
STOPPED = 130
"""Exit status after Ctrl-C."""
Paths = Annotated[
    list[Path],
    typer.Argument(metavar="PREDICTIONS...", help="Files of predictions or recorded actions, and folders of them."),
]
Env = Annotated[str, typer.Option(metavar="ENV", help="Environment id, such as IAD/BIRD-v0.")]
Compare = Annotated[
    bool,
    typer.Option("--compare", help="Compare the files: each is an arm. Else all files are samples of one."),
]
Baseline = Annotated[str, typer.Option(metavar="ARM", help="Arm to compare with; by default the first.")]
Missing = Annotated[
    str, typer.Option(metavar="RULE", help=f"How a task without a prediction counts: {' or '.join(MISSING_RULES)}.")
]
Tasks = Annotated[
    int | None, typer.Option(help="Number of expected tasks, from the start of the split; by default all.")
]
Ks = Annotated[
    str, typer.Option("--k", metavar="K[,K...]", help="Numbers of attempts for majority@k, pass@k and pass^k.")
]
RVes = Annotated[
    int,
    typer.Option("--r-ves", metavar="TIMES", help="For IAD/BIRD-v0: measure R-VES, each query TIMES times (100)."),
]
Workers = Annotated[
    int | None, typer.Option(help="Attempts that are scored in parallel; by default one for each core.")
]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a line for each task to this file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")]
EnvArgs = Annotated[
    list[str] | None, typer.Option("--env-arg", metavar="KEY=VALUE", help="Further argument of the environment.")
]
Split = Annotated[str | None, typer.Option(help="Split of the tasks; by default the environment's own.")]
DataDir = Annotated[str | None, typer.Option(help="Folder with the environment's data.")]


def add_commands(app: typer.Typer, console: Callable[[], Console], guard: Guard) -> None:
    """Add the command to an application.

    Args:
        app: The Typer application.
        console: Function that makes the console to print to.
        guard: Context manager that turns errors the user can fix into messages.
    """

    @app.command()
    def score(
        paths: Paths,
        env: Env,
        compare: Compare = False,
        baseline: Baseline = "",
        missing: Missing = WRONG,
        split: Split = None,
        data_dir: DataDir = None,
        env_arg: EnvArgs = None,
        tasks: Tasks = None,
        ks: Ks = "",
        r_ves: RVes = 0,
        workers: Workers = None,
        out: Out = None,
        as_json: AsJson = False,
    ) -> None:
        """Score predictions and recorded actions of others: no agent runs, and no model is asked."""
        shown = console()
        with guard():
            make_form = format_of(env)
            known = parameters_of(env)
            args = {name: value for name, value in make_form.env_args.items() if name in known}
            args |= pairs(env_arg, "--env-arg")
            _require_folder(out)
            rules = ScoringRules(missing, baseline, several(ks, int, "--k") if ks else ())
            make = partial(make_env, env, args, split=split, data_dir=data_dir)
            made = make()
            try:
                form, facts, rule = make_form(made), _facts(made, env), getattr(made.unwrapped, "success_rule", "")
                expected = expected_tasks(made, tasks)
                files = read_files(paths, form, expected, is_compared=compare)
                require_baseline(baseline, files, is_compared=compare or len(paths) == 1)
                with _bar(shown, sum(len(file.attempts) for _, file in files)) as advance:
                    n_workers = (os.cpu_count() or 1) if workers is None else workers
                    scored = score_files(files, form, make, workers=n_workers, timings=r_ves, advance=advance)
                found = figures_of(scored, form, expected.difficulties, rules)
            finally:
                made.close()
        if as_json:
            typer.echo(json.dumps({**facts, **found.as_json(), "notes": list(form.notes)}, indent=2))
        else:
            shown.print(
                ScoreTable(
                    found, _heading(facts, expected), _headings(form.headings, rule), form.notes, form.missing_as
                )
            )
        if out is not None:
            with guard():
                _write(out, found.lines())
            if not as_json:
                shown.print(f"Tasks: {out}", highlight=False, markup=False, soft_wrap=True)
        if any(one.error == NOT_SCORED for file in scored for one in file.attempts):
            raise typer.Exit(STOPPED)


def _facts(env: gym.Env[Any, Any], name: str) -> dict[str, Any]:
    """Return what is scored: the environment, its split and its data."""
    data, split = getattr(env.unwrapped, "data", None), getattr(env.unwrapped, "split", None)
    return {
        "env": name,
        "split": split,
        "data": {} if data is None else {"name": data.name, "digest": data.digest},
    }


def _heading(facts: Mapping[str, Any], expected: ExpectedTasks) -> Text:
    data = f", {isolated(facts['data']['name'])} data {facts['data']['digest']}" if facts["data"] else ""
    split = f", split {facts['split']}" if facts["split"] else ""
    n = f", {counted(len(expected.difficulties), 'task')}" if expected.difficulties else ""
    return Text.assemble((facts["env"], "bold"), f"{split}{n}{data}")


def _headings(headings: Mapping[str, str], success_rule: str) -> dict[str, str]:
    """Return the headings, that of success with its rule."""
    named = f"{headings[SUCCESS]}\n({success_rule})" if success_rule else headings[SUCCESS]
    return {**headings, SUCCESS: named}


def _require_folder(out: Path | None) -> None:
    """Refuse a file that can't be written before anything is scored."""
    if out is not None and (not out.parent.is_dir() or out.is_dir()):
        raise ValueError(f"expected --out with a file in a folder that exists, got {out}; make the folder")


def _write(out: Path, lines: Iterator[dict[str, Any]]) -> None:
    with write_atomically(out) as part:
        part.write_text("".join(f"{json.dumps(line, allow_nan=False)}\n" for line in lines), encoding="utf-8")


@contextmanager
def _bar(console: Console, n: int) -> Iterator[Callable[[], None]]:
    """Yield a function that advances a progress bar, which is shown on a terminal only."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("scored", total=n)
        yield lambda: bar.advance(task)

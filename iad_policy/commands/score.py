"""The command `iad score`: our metrics and intervals for what others predicted, without an agent."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from iad_policy.commands.options import pairs, several
from iad_policy.commands.terminal import INTERRUPTED, clear_errors, counting_bar, make_console, tell
from iad_policy.ledger.predictions.formats import SUCCESS, format_of
from iad_policy.report.columns import counted
from iad_policy.report.predictions.score_table import ScoreTable
from iad_policy.report.predictions.scored_files import (
    NOT_SCORED,
    expected_tasks,
    read_files,
    require_baseline,
    score_files,
)
from iad_policy.report.predictions.scoring import MISSING_RULES, WRONG, ScoringRules, figures_of
from iad_policy.run.resolve import make_env, parameters_of
from iad_policy.types.atomic import write_text
from iad_policy.types.texts import isolated

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
    console = make_console()
    with clear_errors():
        make_form = format_of(env)
        known = parameters_of(env)
        args = {name: value for name, value in make_form.env_args.items() if name in known}
        args |= pairs(env_arg, "--env-arg")
        if out is not None and (not out.parent.is_dir() or out.is_dir()):  # before anything is scored
            raise ValueError(f"expected --out with a file in a folder that exists, got {out}; make the folder")
        rules = ScoringRules(missing, baseline, several(ks, int, "--k") if ks else ())
        make = partial(make_env, env, args, split=split, data_dir=data_dir)
        made = make()
        try:
            form, world = make_form(made), made.unwrapped
            data, rule = getattr(world, "data", None), getattr(world, "success_rule", "")
            facts = {
                "env": env,
                "split": getattr(world, "split", None),
                "data": {} if data is None else {"name": data.name, "digest": data.digest},
            }
            expected = expected_tasks(made, tasks)
            files = read_files(paths, form, expected, is_compared=compare)
            require_baseline(baseline, files, is_compared=compare or len(paths) == 1)
            with counting_bar(console) as bar:
                task = bar.add_task("scored", total=sum(len(file.attempts) for _, file in files))
                n_workers = (os.cpu_count() or 1) if workers is None else workers
                scored = score_files(
                    files, form, make, workers=n_workers, timings=r_ves, advance=lambda: bar.advance(task)
                )
            found = figures_of(scored, form, expected.difficulties, rules)
        finally:
            made.close()
    if as_json:
        typer.echo(json.dumps({**facts, **found.as_json(), "notes": list(form.notes)}, indent=2))
    else:
        heading = Text.assemble(
            (env, "bold"),
            f", split {facts['split']}" if facts["split"] else "",
            f", {counted(len(expected.difficulties), 'task')}" if expected.difficulties else "",
            f", {isolated(data.name)} data {data.digest}" if data is not None else "",
        )
        headings = {**form.headings, SUCCESS: form.headings[SUCCESS] + (f"\n({rule})" if rule else "")}
        console.print(ScoreTable(found, heading, headings, form.notes, form.missing_as))
    if out is not None:
        with clear_errors():
            write_text(out, "".join(f"{json.dumps(line, allow_nan=False)}\n" for line in found.lines()))
        if not as_json:
            tell(f"Tasks: {out}")
    if any(one.error == NOT_SCORED for file in scored for one in file.attempts):
        raise typer.Exit(INTERRUPTED)

"""The command `iad analyse`: the statistics of `iad compare` for the logs of other frameworks."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from iad_policy.commands.options import several
from iad_policy.commands.terminal import clear_errors, make_console
from iad_policy.report.other_logs import FORMATS, OWN, read_logs
from iad_policy.report.samples import CONTENT, ERRORS, EXCLUDED, PAIRINGS, CountingRules

Paths = Annotated[
    list[Path],
    typer.Argument(metavar="PATH...", help=f"{FORMATS[OWN].paths.capitalize()}; with an option below, other logs."),
]
Score = Annotated[str, typer.Option(metavar="NAME", help="Score to compare, if the logs have several.")]
Baseline = Annotated[
    str,
    typer.Option(metavar="ARM", help="Arm to compare with, or a part of it, such as its model; by default the first."),
]
Errors = Annotated[
    str, typer.Option(metavar="RULE", help=f"How samples that failed count: {', '.join(ERRORS)} (as the log has them).")
]
SuccessAt = Annotated[
    float | None, typer.Option(metavar="SCORE", help="Least score of a success, where the logs don't say.")
]
PairBy = Annotated[
    str, typer.Option(metavar="WHAT", help=f"What makes tasks of two arms the same: {', '.join(PAIRINGS)}.")
]
Ks = Annotated[str, typer.Option("--k", metavar="K[,K...]", help="Numbers of samples for pass@k and pass^k.")]
Columns = Annotated[
    str,
    typer.Option(
        metavar="KEY=NAME[,...]",
        help="For --jsonl: your names of the keys, as in task=question.id; with success= none is read.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")]


def with_a_flag_per_format(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command a flag for each format of others, so that a new format is a line in the registry."""
    own = [one for one in inspect.signature(command).parameters.values() if one.kind is not one.VAR_KEYWORD]
    flags = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False,
            annotation=Annotated[bool, typer.Option(f"--{name}", help=f"The paths are {form.paths}.")],
        )
        for name, form in FORMATS.items()
        if name != OWN
    ]
    parameters = [own[0], *flags, *(one.replace(kind=one.KEYWORD_ONLY) for one in own[1:])]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


@with_a_flag_per_format
def analyse(
    paths: Paths,
    score: Score = "",
    baseline: Baseline = "",
    errors: Errors = EXCLUDED,
    success_at: SuccessAt = None,
    pair_by: PairBy = CONTENT,
    ks: Ks = "",
    columns: Columns = "",
    as_json: AsJson = False,
    **formats: bool,
) -> None:
    """Compare the samples of logs on the tasks that they share: intervals, tests, pass@k and pass^k."""
    from iad_policy.report.compare import compare
    from iad_policy.report.other_logs.log_table import LogTable

    names: dict[str, Any] = {}
    with clear_errors():
        asked = [name for name, is_asked in formats.items() if is_asked]
        if len(asked) > 1:
            raise ValueError(
                f"expected logs of one format, got {' and '.join(f'--{name}' for name in asked)}; compare them one by "
                "one, or write your samples to one file for --jsonl"
            )
        form = asked[0] if asked else OWN
        for pair in filter(None, columns.split(",")):
            key, sign, name = pair.partition("=")
            if not key or not sign:
                raise ValueError(f"expected --columns KEY=NAME, got {pair!r}; put an equals sign between them")
            names[key] = name
        logs = read_logs(form, paths, columns=names)
        rules = CountingRules(score=score, success_at=success_at, errors=errors, pair_by=pair_by)
        found = compare(logs, rules, baseline=baseline, ks=several(ks, int, "--k") if ks else ())
    if as_json:
        typer.echo(json.dumps({"format": form, **found.as_json()}, indent=2))
    else:
        make_console().print(LogTable(found, form))

"""The commands `iad advise` and `iad reselect`: what a recorded run says of runs that were not made."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from iad_policy.commands.options import Fresh, several
from iad_policy.commands.terminal import clear_errors, make_console, tell
from iad_policy.types.texts import isolated

Pilot = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder with the pilot.")]
Agent = Annotated[str, typer.Option(help="The agent, if the run has several.")]
Per = Annotated[
    str,
    typer.Option(
        metavar="AXIS",
        help="What a price counts: proposals, calls, tokens, completion_tokens, usd or seconds; by default usd if all "
        "prices are known and were paid, else tokens if any were counted, else calls.",
    ),
]
Worth = Annotated[
    float | None, typer.Option(metavar="PRICE", help="What a success is worth, in --per; also say what to take then.")
]
Tasks = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of further tasks that the intervals are for; by default as many as the pilot has."
    ),
]
Ns = Annotated[
    str, typer.Option("--n", metavar="N[,N...]", help="Numbers of proposals to predict, besides those of the pilot.")
]
Seed = Annotated[int, typer.Option(help="Seed of the draws.")]
Recorded = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder with the proposals.")]
Verifiers = Annotated[str, typer.Option(metavar="NAME[,NAME...]", help="The other verifier, or several.")]
Out = Annotated[
    Path | None, typer.Option(help="Folder of the new run; by default one beside the old, named after both.")
]
Ask = Annotated[bool, typer.Option("--ask", help="Ask the run's agent what was not recorded.")]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="What the run names and may run code: module:object, a data folder, a server, a program; again for more.",
    ),
]
Workers = Annotated[int, typer.Option(min=1, help="Episodes that run in parallel.")]
Policy = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a plan for the strategy adaptive, which says when to refine.")
]
Spending = Annotated[
    float | None,
    typer.Option(
        metavar="MEAN",
        help="Mean spending of a decision that the plan keeps to, in --per; by default that of the pilot's bon.",
    ),
]
Most = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Most proposals of a decision in the plan; by default what the pilot covers."
    ),
]
Metric = Annotated[
    str, typer.Option(help="What counts: success, or reward for tasks that are solved more or less well (0 to 1).")
]
MaxCalls = Annotated[
    float | None,
    typer.Option(metavar="N", help="Most calls that an episode may take on average; other options are not advised."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")]


def advise(
    run: Pilot,
    worth: Worth = None,
    per: Per = "",
    tasks: Tasks = None,
    ns: Ns = "2,4,8,16",
    agent: Agent = "",
    seed: Seed = 0,
    policy: Policy = None,
    spending: Spending = None,
    most: Most = None,
    metric: Metric = "success",
    max_calls: MaxCalls = None,
    as_json: AsJson = False,
) -> None:
    """Say from a pilot whether checking is worth it here, with which strategy, and with how many proposals."""
    from iad_policy.ledger.run import Run
    from iad_policy.report.advice import AdviceSettings
    from iad_policy.report.advice import advise as advice_of
    from iad_policy.report.advice.advice_table import AdviceTable, PlanTable
    from iad_policy.report.advice.planning import PlanSettings, plan_of
    from iad_policy.run.config import RunConfig
    from iad_policy.types.atomic import write_text

    with clear_errors():
        if spending is not None and policy is None:
            raise ValueError("expected --policy FILE with --spending, got none; name the plan's file")
        if policy is not None and metric != "success":
            raise ValueError(f"expected --metric success with --policy, got {metric}: a plan is about right and wrong")
        numbers = several(ns, int, "--n")
        settings = AdviceSettings(agent, per, worth, tasks, numbers, seed, policy is not None, metric, max_calls)
        found = advice_of(run, settings)
        if policy is not None:
            config = RunConfig.of(Run(run).config)
            options = config.options("iad") if "iad" in config.strategies else {}
            plan = plan_of(found.pilot, PlanSettings(worth, spending, most), options)
            write_text(policy, plan.as_toml())
            if not as_json:
                make_console().print(PlanTable(plan, str(policy)))
                return
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=2))
    else:
        make_console().print(AdviceTable(found, str(run)))


def reselect(
    run: Recorded,
    verifier: Verifiers,
    out: Out = None,
    ask: Ask = False,
    allow: Allow = None,
    workers: Workers = 1,
    fresh: Fresh = False,
) -> None:
    """Run a recorded comparison again with other verifiers, without asking the agent again."""
    from iad_policy.commands.terminal_run import run_session
    from iad_policy.ledger.run import Run
    from iad_policy.report.reselection import bounds, reselecting
    from iad_policy.report.results import read_results

    console = make_console()
    with clear_errors():
        named = re.sub(r"[^\w-]+", "-", verifier)
        here = run.resolve()
        folder = out or here.with_name(f"{here.name}-{named}")
        if folder.resolve() == here:
            raise ValueError(f"expected another folder than the run's own, got {folder}; name another: --out")
        verifiers = several(verifier, str, "--verifier")
        runner = reselecting(Run(run), verifiers, asks=ask, workers=workers, allowed=allow or ())
    try:
        with clear_errors():
            status = run_session(runner, folder, console, is_fresh=fresh)
    finally:
        runner.close()
    results = read_results(folder)
    for label, own in bounds(results.records).items():
        tell(
            f"Strategy {isolated(label)}: {own.n_exact} of {own.n_exact + own.n_other} episodes are exact; the "
            "others part from the record where a choice differs. "
            f"Success over all is between {own.low:.3f} and {own.high:.3f}. --ask asks the agent from there on."
        )
    if status:
        raise typer.Exit(status)

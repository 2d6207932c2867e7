"""Commands that list components and read runs: `iad list`, `report`, `export`, `view` and `sweep`."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

import iad_envs
from iad_policy.commands.options import several
from iad_policy.commands.terminal import clear_errors, make_console, tell
from iad_policy.errors import UnknownName
from iad_policy.registry.domain import broken, domains
from iad_policy.run import listing as inventory
from iad_policy.run.resolve import entry_points

Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")]
Shown = Annotated[
    list[Path],
    typer.Argument(metavar="FOLDER...", help="Folders of runs, of models, or of several models, as of iad improve."),
]


def list_names(
    kinds: Annotated[
        list[str] | None, typer.Argument(metavar="[KIND...]", help="Kinds to list, such as agents; all by default.")
    ] = None,
) -> None:
    """List environments, agents, strategies, verifiers, simulators, feedback forms, presets, engines, trackers."""
    known = inventory.names(entry_points(dict.fromkeys([*iad_envs.ENVIRONMENTS, *(name for name, _ in domains())])))
    known["environments"] |= {name: f"not available here: {error}" for name, error in broken().items()}
    with clear_errors():
        for kind in kinds or ():
            if kind not in known:
                raise UnknownName("kind", kind, known)
    for kind in kinds or known:
        table = Table(title=kind, title_justify="left", show_header=False, box=None, title_style="bold")
        table.add_column(no_wrap=True, min_width=18)
        table.add_column()
        for name, line in known[kind].items():
            table.add_row(f"  {name}", line)
        make_console().print(table, highlight=False)


def report(
    folders: Shown,
    agentboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write AgentBoard's files for all runs to this folder.")
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="Compare each run's strategies with this one from now on, and print its table.")
    ] = "",
) -> None:
    """Rewrite report.html of each run or training, and write AgentBoard's files if asked."""
    from iad_policy.ledger.run import Run
    from iad_policy.report.agentboard import write_agentboard
    from iad_policy.report.results import rebase
    from iad_policy.report.table import RunTable
    from iad_policy.report.viewer.report import write_any_report

    with clear_errors():
        for folder in folders:
            if baseline:
                results = rebase(folder, baseline)
                make_console().print(RunTable(results.heading, results.figures()))
            tell(f"Report: {write_any_report(folder)}")
        if agentboard is not None:
            write_agentboard([Run(folder) for folder in folders], agentboard)
            tell(f"AgentBoard's files: {agentboard}")


def export(
    runs: Runs,
    out: Annotated[
        Path,
        typer.Option(
            help="Output file: Parquet if it ends in .parquet, else JSON Lines. A new folder for atif, dataset."
        ),
    ],
    form: Annotated[
        str,
        typer.Option("--format", "--to", help="What to write: jsonl, parquet, sft, preference, kto, atif or dataset."),
    ] = "jsonl",
    successful: Annotated[bool, typer.Option("--successful", help="Export only successful episodes.")] = False,
    min_margin: Annotated[float, typer.Option(help="Smallest score margin of a preference from a verifier.")] = 0.0,
    gold: Annotated[
        bool, typer.Option("--gold", help="For dataset: with the episodes whose agent or role sees the answers.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of processes; by default it depends on the number of episodes."),
    ] = None,
) -> None:
    """Export runs as data: decisions and episodes, training examples, trajectories, or a dataset to share."""
    from iad_envs.official.sources import published_data
    from iad_policy.ledger.run import Run
    from iad_policy.report.exports import export_runs

    with clear_errors():
        found = [Run(folder) for folder in runs]
        # Fewer episodes than 5,000 would not make up for the second that a process takes to start.
        n_large = sum(len(run.records) for run in found) // 5000
        n = workers or min(os.cpu_count() or 1, 1 + n_large)
        written = export_runs(
            found,
            form,
            out,
            is_successful_only=successful,
            min_margin=min_margin,
            with_gold=gold,
            published=lambda config: published_data(str(config["env"]), config.get("data", {}), config.get("data_dir")),
            workers=n,
            report=tell,
        )
        for path, n_rows in written.items():
            tell(f"{path}: {n_rows} rows")


def view(
    folders: Shown,
    host: Annotated[
        str, typer.Option(help="Address to listen on; the default is reachable from this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; if it is in use, the next free one.")] = 8000,
) -> None:
    """Show finished or ongoing runs and trainings in a browser. Ctrl-C stops it."""
    from iad_policy.report.viewer.server import create_app
    from webshop_server.site.server import Server, announcement, serve_until_stopped

    with clear_errors():
        server = Server(create_app(folders), host=host, port=port)
        message = announcement("The runs are shown", server, port)
        serve_until_stopped(server, lambda: tell(message))


def sweep(
    env: Annotated[str, typer.Argument(metavar="ENV", help="Environment id, such as IAD/WebShop-v0.")],
    figures: Annotated[
        str,
        typer.Option(help="Figures, separated by commas: 3, 4, 5, 6, 7, 8 or 14 of arXiv 2504.01931 v2, or feedback."),
    ] = "3,6,7,8,14",
    out: Annotated[Path, typer.Option(help="Folder for runs and figures.")] = Path("runs/sweep"),
    tasks: Annotated[int, typer.Option(help="Number of tasks, from the start of the split.")] = 100,
    metric: Annotated[str, typer.Option(help="Metric: success, progress or reward.")] = "success",
    n: Annotated[str, typer.Option(metavar="N[,N...]", help="Proposals per decision.")] = "1,2,4,6",
    agent: Annotated[str | None, typer.Option(help="Base agent; by default the environment's own.")] = None,
    weak: Annotated[str | None, typer.Option(help="A weaker agent, for figures 3, 5 and 8.")] = None,
    verifier: Annotated[str | None, typer.Option(help="Verifier; by default the environment's proxy.")] = None,
    parts: Annotated[
        str,
        typer.Option(help="Parts of the reward, separated by commas: metrics in figure 3, verifiers in figure 5."),
    ] = "",
    split: Annotated[str | None, typer.Option(help="Split of the tasks; by default the environment's own.")] = None,
    data_dir: Annotated[str | None, typer.Option(help="Folder with the environment's data, or official:NAME.")] = None,
    workers: Annotated[int, typer.Option(help="Episodes that run in parallel.")] = 1,
) -> None:
    """Run the experiments of a paper's figures and draw them (arXiv 2504.01931 v2)."""
    from iad_policy.evaluation import evaluate
    from iad_policy.report.paper_figures import Sweep, sweep_figures

    with clear_errors():
        asked = Sweep(
            evaluate,
            env,
            out,
            tasks=tasks,
            metric=metric,
            agent=agent,
            weak=weak,
            verifier=verifier,
            ns=several(n, int, "--n"),
            parts=tuple(part for part in parts.split(",") if part),
            options={"split": split, "data_dir": data_dir, "workers": workers},
        )
        for path in sweep_figures([name.strip() for name in figures.split(",")], asked):
            tell(f"Figure: {path}")

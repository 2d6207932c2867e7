"""The shop's commands: `iad index` builds and lists search indexes, and `iad data synth` generates data."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from webshop_server.storage.indexes import Indexes, Report
from webshop_server.synthetic.synth import FULL_SIZE, write_catalog

DataDir = Annotated[
    str | None, typer.Option(help="Folder with the shop's data, or official:NAME; by default the environment's own.")
]
Search = Annotated[str, typer.Option(help="Search engine: bm25, lucene, dense or hybrid.")]
Guard = Callable[[], AbstractContextManager[None]]


def add_commands(index: typer.Typer, data: typer.Typer, find: Callable[[str | None], Path], guard: Guard) -> None:
    """Add the shop's commands to an application.

    Args:
        index: Its group of commands about indexes.
        data: Its group of commands about data.
        find: Function that returns the data folder for an option's value or for None.
        guard: Context manager that turns errors the user can fix into messages.
    """

    @index.command()
    def build(
        data_dir: DataDir = None,
        search: Search = "bm25",
        rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild indexes that exist.")] = False,
        workers: Annotated[int, typer.Option(help="Number of processes; 0 takes one per core.")] = 0,
    ) -> None:
        """Build a catalogue and its search index in the place where environments look."""
        with guard():
            folder, n_workers = find(data_dir), workers or os.cpu_count() or 1
            with _bar() as report:
                paths = Indexes().build(folder, search, rebuild=rebuild, n_workers=n_workers, report=report)
        for path in paths:
            typer.echo(path)

    @index.command()
    def info() -> None:
        """List the built indexes with their data and size."""
        with guard():
            indexes = Indexes()
            found = indexes.all()
            typer.echo(f"{len(found)} indexes in {indexes.home}")
            for one in found:
                what = one.part if one.is_current else f"{one.part} (of another version)"
                typer.echo(
                    f"  {what:<10} data {one.digest}  {one.n_products:>9,} products  {one.n_bytes / 2**20:>8,.1f} MB  "
                    f"built {one.built} in {one.build_s:,.0f} s  from {one.source}"
                )

    @data.command()
    def synth(
        out: Annotated[Path, typer.Option(help="Folder to write to.")],
        products: Annotated[int, typer.Option(help="Number of products.")] = FULL_SIZE,
        seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    ) -> None:
        """Generate a synthetic catalogue of any size, in the official file format."""
        with guard(), _bar() as report:
            write_catalog(out, products, seed=seed, wrote=lambda n: report("writing products", n, products))
        typer.echo(out)


@contextmanager
def _bar() -> Iterator[Report]:
    """Show a progress bar for each task on the terminal's error output."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        tasks: dict[str, TaskID] = {}

        def finish() -> None:
            for task in tasks.values():
                progress.update(task, completed=progress.tasks[task].total or 1, total=progress.tasks[task].total or 1)

        def report(doing: str, done: int, total: int) -> None:
            if doing not in tasks:
                finish()
                tasks[doing] = progress.add_task(doing, total=total or None)
            progress.update(tasks[doing], completed=done)

        yield report
        finish()

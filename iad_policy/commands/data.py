"""Commands of data: `iad data`, of which `list`, `fetch` and `verify` are here, and `iad index`."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn
from urllib.parse import urlsplit

import typer
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from iad_envs.data import data_folder
from iad_envs.errors import DataNotFound
from iad_envs.official.download import hub_address
from iad_envs.official.errors import FetchError
from iad_envs.official.fetching import Fetcher
from iad_envs.official.place import find_official, official_root
from iad_envs.official.record import SourceRecord, read_record, verify_folder
from iad_envs.official.sources import DataSource, SourceFile, read_sources, source_of
from iad_policy.commands.terminal import INTERRUPTED, clear_errors, make_console, tell
from iad_policy.ledger.folder_lock import FolderInUse, lock_folder
from iad_policy.report.columns import counted
from webshop_server import commands as shop

NOT_FETCHED = 3
"""Exit status when the sources can't be reached or refuse."""
Sources = Callable[[], Mapping[str, DataSource]]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of official data, as iad data list shows it.")]


def add_commands(data: typer.Typer, sources: Sources = read_sources) -> None:
    """Add the commands to the group `iad data`.

    Args:
        data: The group.
        sources: Function that returns the table of official data.
    """

    @data.command("list")
    def list_data() -> None:
        """List official data: for which environment, how large, under which licence, and whether they are here."""
        with clear_errors():
            root = official_root()
            table = Table(box=None, pad_edge=False)
            for heading in ("name", "environment", "size", "licence", "here"):
                table.add_column(heading, no_wrap=heading in ("name", "environment"))
            for source in sources().values():
                if (root / source.name).is_dir():
                    here = "yes"
                elif find_official(source, root) is not None:
                    here = "installed"
                else:
                    here = "begun" if (root / f"{source.name}.part").is_dir() else "no"
                licence = source.licence.partition(". ")[0]
                table.add_row(source.name, source.read_by or "none", source.size, licence, here)
        make_console().print(table, highlight=False, markup=False)
        tell(
            f"\nFolder: {root}\niad data fetch NAME shows where data come from, and fetches them if you say so. Then "
            "--data-dir official:NAME uses them."
        )

    @data.command()
    def fetch(
        name: Name,
        given: Annotated[
            Path | None,
            typer.Option("--from", metavar="FILE|FOLDER", help="Take what was fetched by hand; no network is used."),
        ] = None,
        yes: Annotated[bool, typer.Option("--yes", help="Fetch without asking.")] = False,
        again: Annotated[
            bool, typer.Option("--again", help="Fetch what is here again; its hashes must be the same.")
        ] = False,
        any_version: Annotated[
            bool, typer.Option("--any-version", help="Take files whose hash is not the known one.")
        ] = False,
    ) -> None:
        """Fetch official data, after showing their source, licence, citation and size."""
        with clear_errors():
            source = source_of(name, sources())
            root = official_root()
            if given is not None and not given.exists():
                raise DataNotFound(f"expected a file or a folder after --from, got {given}; check the path")
            here = find_official(source, root)
            if here is not None and not again and given is None:
                more = ", --again fetches it again" if source.files else ""
                tell(f"{name} is here: {here}\niad data verify {name} checks it{more}.")
                return
            tell("\n".join(_description(source, root, is_fetched=given is None)))
            if given is None and not source.files:
                _refuse(f"iad: {name} is no download. Run the commands above.")
            if given is None and not yes:
                try:
                    agrees = typer.confirm("Fetch them?")
                except typer.Abort:
                    typer.echo("\nNobody answered. Where nobody can, add --yes.", err=True)
                    agrees = False
                if not agrees:
                    tell("Nothing was fetched.")
                    raise typer.Exit(1)
            with _bars() as report:
                alone = partial(_alone, name=name)
                fetcher = Fetcher(source, root, alone, again=again, any_version=any_version, report=report)
                try:
                    record = fetcher.fetch() if given is None else fetcher.take(given)
                except FetchError as error:
                    if given is not None or not error.reasons:
                        raise ValueError(str(error)) from error
                    _refuse("\n".join(_what_to_do(source, fetcher.folder, error)))
                except KeyboardInterrupt:
                    typer.echo("\nInterrupted. The same command goes on where this one ended.", err=True)
                    raise typer.Exit(INTERRUPTED) from None
        if record is None:
            tell(f"{name} is here: {fetcher.folder}")
        else:
            tell("\n".join(_summary(source, fetcher.folder, record)))

    @data.command()
    def verify(
        name: Annotated[str, typer.Argument(metavar="NAME|FOLDER", help="Name of official data, or a folder.")],
    ) -> None:
        """Hold the files of a folder to the hashes of their first fetch, or to those that are known."""
        with clear_errors():
            known = sources()
            folder = Path(name) if name not in known and Path(name).is_dir() else find_official(source_of(name, known))
            if folder is None:
                raise DataNotFound(
                    f"expected the official data {name} in {official_root() / name}, found none; run: "
                    f"iad data fetch {name}"
                )
            found = list(verify_folder(folder, known))
            record = read_record(folder)
        tell(str(folder))
        for other in record.other_versions if record else ():
            tell(f"  {other}: taken as another version than the known one")
        for one in found:
            if one.status in ("changed", "missing"):
                tell(f"  {one.path}: {one.status}, held to {one.held_to}")
        n_of = Counter(one.status for one in found)
        counts = ", ".join(f"{n} {status}" for status, n in n_of.items()) or "nothing to hold to a hash"
        tell(f"{counted(len(found), 'file')}: {counts}")
        if not n_of["ok"] or n_of["changed"] or n_of["missing"]:
            raise typer.Exit(1)


def _refuse(text: str) -> NoReturn:
    typer.echo(text, err=True)
    raise typer.Exit(NOT_FETCHED)


def _description(source: DataSource, root: Path, *, is_fetched: bool) -> Iterator[str]:
    """Yield what everybody should know before the first byte; also where it comes from if it is to be fetched."""
    yield f"{source.name}: {source.title}"
    yield f"  For      {source.read_by or 'no environment reads it as it is'}"
    yield f"  Licence  {source.licence}"
    yield f"  Cite     {source.citation}"
    yield f"  Size     {source.size}"
    yield f"  Folder   {root / source.name}"
    if source.note:
        yield f"  Note     {source.note}"
    if not is_fetched:
        return
    yield f"  Sources  read on {source.read}"
    for file in source.files:
        yield f"    {file.name}, {_known_size(file)}, SHA-256 {file.sha256[:12] or 'not known'}"
        others = len(file.urls) - 1
        yield f"      {hub_address(file.urls[0])}" + (f" and {counted(others, 'mirror')}" if others else "")
    yield from (f"    $ {command}" for command in source.commands)


def _what_to_do(source: DataSource, folder: Path, error: FetchError) -> Iterator[str]:
    yield f"iad: {source.name} was not fetched: {error}"
    hosts: dict[str, dict[str, None]] = {}
    for url, reason in error.reasons.items():
        hosts.setdefault(reason, {})[urlsplit(url).netloc] = None
    yield from (f"  {', '.join(those)}: {reason}" for reason, those in hosts.items())
    yield "\nBring these files here in another way:"
    for file in source.files:
        yield f"  {file.name}, {_known_size(file)}"
        yield f"    SHA-256 {file.sha256 or 'not known'}"
        yield from (f"    {url}" for url in file.urls)
    yield f"Then name their folder. They are checked, and make {folder}:"
    yield f"  iad data fetch {source.name} --from FOLDER"
    yield f"  iad data verify {source.name}"
    yield "What was fetched so far is kept: the same command goes on with it."


def _known_size(file: SourceFile) -> str:
    return _size(file.size) if file.size else "size not known"


def _summary(source: DataSource, folder: Path, record: SourceRecord) -> Iterator[str]:
    yield ""
    for name, one in record.downloads.items():
        held_to = {
            "table": "the SHA-256 that is known",
            "first fetch": "SHA-256 not known before",
            "earlier fetch": "the SHA-256 of the earlier fetch",
            "another version": "NOT the SHA-256 that is known",
        }[one.held_to]
        yield f"  {name}, {_size(one.size)}, {held_to}, from {one.origin}"
    if record.copied_from:
        yield f"  copied from {record.copied_from}"
    size = _size(sum(one.size for one in record.files.values()))
    yield f"Folder: {folder} ({counted(len(record.files), 'file')}, {size})"
    yield f"Hashes: {folder / 'SOURCE.json'}, which iad data verify {source.name} holds the files to"
    if source.use:
        yield f"Use:    {source.use}"


@contextmanager
def _alone(path: Path, *, name: str) -> Iterator[None]:
    """Hold a lock, after waiting for the process that has it."""
    is_told = False
    while True:
        try:
            lock = lock_folder(path)
            break
        except FolderInUse:
            if not is_told:
                tell(f"Another process is fetching {name}. Waiting for it.")
                is_told = True
            time.sleep(0.2)
    try:
        yield
    finally:
        lock.close()


@contextmanager
def _bars() -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar for each file, on a terminal only."""
    console = make_console()
    if not console.is_terminal:
        yield lambda name, done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def report(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=None)
            bars.update(tasks[name], completed=done, total=total or None)

        yield report


def _size(n_bytes: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= scale:
            return f"{n_bytes / scale:.1f} {unit}"
    return f"{n_bytes} B"


data = typer.Typer(
    help="Fetch official data, and generate synthetic data.", no_args_is_help=True, rich_markup_mode=None
)
index = typer.Typer(
    help="Build and list search indexes of large catalogues.", no_args_is_help=True, rich_markup_mode=None
)
add_commands(data)
shop.add_commands(index, data, lambda data_dir: data_folder("webshop", data_dir).resolve(), clear_errors)

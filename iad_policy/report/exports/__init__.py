"""Runs as data that other tools read: `datasets`, pandas, and TRL's trainers. To add a form: a table, and a line here.

Everything is made from the episodes of run folders and nothing else; docs/exports.md describes every column.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from iad_policy.errors import UnknownName
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import CONFIG
from iad_policy.report.exports.atif import write_documents
from iad_policy.report.exports.dataset import write_dataset
from iad_policy.report.exports.decisions import DECISIONS, EPISODES
from iad_policy.report.exports.examples import KTO, PREFERENCE, SFT
from iad_policy.report.exports.packing import PARQUET, Pack, Packed, chunks_of, packs, write_packs
from iad_policy.report.exports.prompting import Prompter
from iad_policy.report.exports.tables import ExportTable, Source
from iad_policy.types.atomic import new_folder

FORMATS: Mapping[str, tuple[ExportTable, ...]] = {
    "jsonl": (DECISIONS, EPISODES),
    "parquet": (DECISIONS, EPISODES),
    "sft": (SFT,),
    "preference": (PREFERENCE,),
    "kto": (KTO,),
}
"""Name -> what is written; each table into a file of its own. The tables of a form have rows of the same episodes."""
FOLDER_FORMATS: Mapping[str, Callable[[Path, Sequence[Source], Packed], dict[Path, int]]] = {
    "atif": write_documents,
    "dataset": write_dataset,
}
"""Name of a form that is a folder -> what writes it."""


def export_runs(
    runs: Sequence[Run],
    form: str,
    out: Path,
    *,
    is_successful_only: bool = False,
    min_margin: float = 0.0,
    with_gold: bool = False,
    published: Callable[[Mapping[str, Any]], str] = lambda config: "",
    workers: int = 1,
    report: Callable[[str], Any] = lambda text: None,
) -> dict[Path, int]:
    """Write the finished episodes of runs; returns the files with their numbers of rows.

    Args:
        runs: One or more; the rows say which they are from.
        form: A name in `FORMATS` or `FOLDER_FORMATS`.
        out: The file. One that ends in `.parquet` is parquet, any other JSON lines. A form of `FOLDER_FORMATS` takes a
            new or an empty folder.
        is_successful_only: Whether episodes without success are left out.
        min_margin: Least margin of a preference that a verifier gave.
        with_gold: Whether a dataset has the episodes whose agent or role sees gold.
        published: Returns the published data that a run's configuration names, with their licence; "" for none.
        workers: Processes that make rows side by side; the files are the same. A script that asks for several has to
            guard what it does by `if __name__ == "__main__":`, as `multiprocessing` has it.
        report: Function that is told what training examples give away and what a dataset leaves out, a line each.

    Raises:
        UnknownName: No such form.
        ValueError: The file's name says something else than the form, the folder is not empty, or there is nothing to
            write.
        MissingExtra: Parquet without pyarrow.
        StorageError: A file can't be written.
    """
    if form not in FORMATS and form not in FOLDER_FORMATS:
        raise UnknownName("format", form, [*FORMATS, *FOLDER_FORMATS])
    if form in ("jsonl", "parquet") and (out.suffix == PARQUET) != (form == "parquet"):
        raise ValueError(f"expected a file that ends in .{form} for the format {form}, got {out}; name another one")
    sources = []
    for run in runs:
        try:
            prompter = Prompter(run.config)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise ValueError(
                f"expected the configuration of a run in {run.folder / CONFIG}, got another one "
                f"({type(error).__name__}: {error!s:.200}); restore it, or name another folder"
            ) from error
        sources.append(Source(run, run.folder.resolve().name, prompter, min_margin, published(run.config)))
    is_gold_kept = with_gold or form != "dataset"  # which is made to be shared, and gold is the right answers
    given_away: dict[str, None] = {}  # in order
    left_out: list[str] = []

    def packed(tables: Sequence[ExportTable]) -> Iterator[list[Pack]]:
        is_scored_only = all(table.is_scored_only for table in tables)

        def is_wanted(source: Source, record: EpisodeRecord) -> bool:
            if (is_successful_only and record.success != 1.0) or (is_scored_only and not record.is_scored):
                return False
            if is_scored_only:  # rows to train on
                given_away.update(dict.fromkeys(f"{source.run.folder}: {text}" for text in source.cautions(record)))
            if not is_gold_kept and source.sees_gold(record):
                left_out.append(record.key)
                return False
            return True

        chunks = list(chunks_of(sources, is_wanted))
        is_parquet = form in FORMATS and out.suffix == PARQUET
        return packs(tables, sources, chunks, is_parquet=is_parquet, n_processes=min(workers, len(chunks)) or 1)

    if form in FOLDER_FORMATS:
        with new_folder(out) as part:
            of_part = FOLDER_FORMATS[form](part, sources, packed)
            if not of_part:
                raise ValueError(_nothing("finished episodes", runs, is_successful_only, len(left_out)))
        if left_out:
            report(f"{len(left_out)} episodes left out, as an agent or a role sees gold; --gold keeps them, labelled")
        return {out / path.relative_to(part): n_rows for path, n_rows in of_part.items()}
    tables = {out.with_name(f"{out.stem}{table.suffix}{out.suffix}"): table for table in FORMATS[form]}
    written = write_packs({path: table.kinds for path, table in tables.items()}, packed(list(tables.values())))
    for path, table in tables.items():
        if not written[path]:
            raise ValueError(_nothing(table.absent, runs, is_successful_only, len(left_out)))
    for line in given_away:
        report(line)
    return written


def _nothing(absent: str, runs: Sequence[Run], is_successful_only: bool, n_left_out: int) -> str:
    only = " of episodes with success" if is_successful_only else ""
    got, fix = "got none", "name other runs"
    if n_left_out:
        got = f"got only {n_left_out} whose agent or a role sees gold, which a dataset to share leaves out"
        fix = f"pass --gold to keep them, labelled, or {fix}"
    return f"expected {absent}{only} in {', '.join(str(run.folder) for run in runs)}, {got}; {fix}"

"""Runs as data that other tools read: `datasets`, pandas, and TRL's trainers. To add a form: a table, and a line here.

Everything is made from the episodes of run folders and nothing else; docs/exports.md describes every column.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from iad_policy.errors import UnknownName
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import CONFIG
from iad_policy.report.exports.decisions import DECISIONS, EPISODES
from iad_policy.report.exports.examples import KTO, PREFERENCE, SFT
from iad_policy.report.exports.packing import PARQUET, chunks_of, packs, write_packs
from iad_policy.report.exports.prompting import Prompter
from iad_policy.report.exports.tables import ExportTable, Source

FORMATS: Mapping[str, tuple[ExportTable, ...]] = {
    "jsonl": (DECISIONS, EPISODES),
    "parquet": (DECISIONS, EPISODES),
    "sft": (SFT,),
    "preference": (PREFERENCE,),
    "kto": (KTO,),
}
"""Name -> what is written; each table into a file of its own. The tables of a form have rows of the same episodes."""


def export_runs(
    runs: Sequence[Run],
    form: str,
    out: Path,
    *,
    is_successful_only: bool = False,
    min_margin: float = 0.0,
    workers: int = 1,
) -> dict[Path, int]:
    """Write the finished episodes of runs; returns the files with their numbers of rows.

    Args:
        runs: One or more; the rows say which they are from.
        form: A name in `FORMATS`.
        out: The file. One that ends in `.parquet` is parquet, any other JSON lines.
        is_successful_only: Whether episodes without success are left out.
        min_margin: Least margin of a preference that a verifier gave.
        workers: Processes that make rows side by side; the files are the same. A script that asks for several has to
            guard what it does by `if __name__ == "__main__":`, as `multiprocessing` has it.

    Raises:
        UnknownName: No such form.
        ValueError: The file's name says something else than the form, or there is nothing to write.
        MissingExtra: Parquet without pyarrow.
        StorageError: A file can't be written.
    """
    if form not in FORMATS:
        raise UnknownName("format", form, FORMATS)
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
        sources.append(Source(run, run.folder.resolve().name, prompter, min_margin))
    tables = {out.with_name(f"{out.stem}{table.suffix}{out.suffix}"): table for table in FORMATS[form]}
    is_scored_only = all(table.is_scored_only for table in tables.values())
    chunks = list(chunks_of(sources, is_scored_only=is_scored_only, is_successful_only=is_successful_only))
    n_processes = min(workers, len(chunks)) or 1
    made = packs(list(tables.values()), sources, chunks, is_parquet=out.suffix == PARQUET, n_processes=n_processes)
    written = write_packs({path: table.kinds for path, table in tables.items()}, made)
    for path, table in tables.items():
        if not written[path]:
            names = ", ".join(str(run.folder) for run in runs)
            only = " of episodes with success" if is_successful_only else ""
            raise ValueError(f"expected {table.absent}{only} in {names}, got none; name other runs")
    return written

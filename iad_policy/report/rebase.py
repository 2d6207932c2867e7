"""Compares the strategies of a recorded run with another baseline, which changes no answer."""

from pathlib import Path

from iad_policy.ledger.run_folder import RunFolder, read_config
from iad_policy.report.results import Results, results_of
from iad_policy.run.config import FREE, RunConfig


def rebase(folder: Path | str, baseline: str) -> Results:
    """Record another baseline in a run folder, with the summary that follows from it, and return the results.

    Raises:
        UnknownName: The run has no such strategy.
        RunFolderError: The folder holds no run, or is in use.
        StorageError: It can't be written.
    """
    recorded = {**read_config(Path(folder)), "baseline": baseline}
    RunConfig.of(recorded)  # refuses a strategy that the run has not
    with RunFolder(folder, recorded, free=FREE) as run:
        results = results_of(recorded, list(run.episodes.values()))
        figures = results.figures()
        run.write_summary(results.as_json(figures), results.table(figures=figures))
    return results

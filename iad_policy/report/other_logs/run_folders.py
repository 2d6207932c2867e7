"""Reads our own run folders, so that rows of several of them can be compared with each other."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from iad_policy.errors import IADError
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.report.comparison_table import missing_verdicts
from iad_policy.report.other_logs.shared import named_apart
from iad_policy.report.results import Results, results_of
from iad_policy.report.samples import PROGRESS, REWARD, SETUP, Samples, sample_of, setup_of, task_content


def read(paths: Sequence[Path]) -> Samples:
    """Read run folders. Each row of a run's table is an arm, and its seeds are samples."""
    found = Samples(score=PROGRESS, is_of_runs=True)
    rows: list[tuple[dict[str, str], Sequence[EpisodeRecord], Mapping[str, str]]] = []
    runs: list[Results] = []
    for path in paths:

        def skip(file: Path, where: str) -> None:
            found.problems.append(f"{file}, {where}: expected an episode; the line is left out")

        try:
            run = Run(path, skip=skip, is_whole=True)
            results = results_of(run.config, list(run.records.values()))
        except (IADError, OSError, ValueError) as error:
            found.problems.append(f"{path}: {error}")
            continue
        runs.append(results)
        found.alarms += [f"{path}: {alarm}" for alarm in results.heading.alarms]
        found.notes += [f"{path}: {note}" for note in _notes(results)]
        config, of_rows = results.heading.config, results.records
        asked: dict[str, str] = {}
        for one in (one for own in of_rows.values() for one in own):
            asked[one.task_id] = min(asked.get(one.task_id, one.instruction), one.instruction)
        # What tells a task from those of the same name in other runs.
        of_task = {task: task_content(f"{config.env} {task}", instruction) for task, instruction in asked.items()}
        about = {
            "env": config.env,
            "agent": ", ".join(config.agent),
            "verifier": ", ".join(config.verifier),
            "split": config.split or "",
            "file": path.name,
            "path": str(path),
        }
        for arm, row in results.rows.items():
            rows.append(({"row": row, SETUP: setup_of(run.config, arm), **about}, of_rows[row], of_task))
    names = named_apart([parts for parts, _, _ in rows], ("row", "env"))
    for name, (parts, records, contents) in zip(names, rows, strict=True):
        found.parts[name] = parts
        found.samples += [sample_of(record, name, contents[record.task_id]) for record in records]
    if len(runs) == 1:
        arms = dict(zip(runs[0].records, names, strict=True))
        found.baselines = {arms[row]: arms[baseline] for row, baseline in runs[0].baselines.items()}
    if all(sample.scores[PROGRESS].value is None for sample in found.samples if not sample.error):
        found.score = REWARD
    return found


def _notes(results: Results) -> Iterator[str]:
    heading = results.heading
    yield from heading.notes
    yield f"budget: {heading.config.equal_on()}"
    yield from heading.config.notes
    if heading.success_rule:
        yield f"success is {heading.success_rule}"
    failed = {row: sum(one.n_failed_verdicts for one in own if one.is_scored) for row, own in results.records.items()}
    if missing := missing_verdicts(failed):
        yield missing

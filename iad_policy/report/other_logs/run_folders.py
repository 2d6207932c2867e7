"""Reads our own run folders, so that rows of several of them can be compared with each other."""

from collections.abc import Sequence
from pathlib import Path

from iad_policy.errors import IADError
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.report.other_logs.arm_names import named_apart
from iad_policy.report.other_logs.samples import LoggedArms, LoggedSample, LoggedScore, task_content
from iad_policy.report.results import Results, results_of
from iad_policy.types.information import ORACLE_AGENT_TEXT

MAIN = ("row", "env")
"""What rows mostly differ in."""
PROGRESS, REWARD = "progress", "reward"


def read(paths: Sequence[Path]) -> LoggedArms:
    """Read run folders. Each row of a run's table is an arm, and its seeds are samples."""
    found = LoggedArms(score=PROGRESS)
    rows: list[tuple[dict[str, str], Sequence[EpisodeRecord]]] = []
    for path in paths:

        def skip(file: Path, where: str) -> None:
            found.problems.append(f"{file}, {where}: expected an episode; the line is left out")

        try:
            run = Run(path, skip=skip, is_whole=True)
            results = results_of(run.config, list(run.records.values()))
        except (IADError, OSError, ValueError) as error:
            found.problems.append(f"{path}: {error}")
            continue
        for verifier, said in results.heading.verifier_texts.items():
            is_oracle = results.heading.informations[verifier] == "oracle"
            (found.alarms if is_oracle else found.notes).append(f"{path}: {said}")
        found.alarms += [f"{path}: {agent} is an {ORACLE_AGENT_TEXT}" for agent in results.heading.oracle_agents]
        found.notes.append(f"{path}: budget: {results.heading.config.equal_on()}")
        if results.heading.success_rule:
            found.notes.append(f"{path}: success is {results.heading.success_rule}")
        rows += [(_parts(path, results, row), records) for row, records in results.records.items()]
    for name, (parts, records) in zip(named_apart([parts for parts, _ in rows], MAIN), rows, strict=True):
        found.parts[name] = parts
        found.samples += [_sample(record, name) for record in records]
    if any(PROGRESS not in sample.scores for sample in found.samples if not sample.error):
        found.score = REWARD
    return found


def _parts(path: Path, results: Results, row: str) -> dict[str, str]:
    config = results.heading.config
    return {
        "row": row,
        "env": config.env,
        "agent": ", ".join(config.agent),
        "verifier": ", ".join(config.verifier),
        "split": config.split or "",
        "file": path.name,
        "path": str(path),
    }


def _sample(record: EpisodeRecord, arm: str) -> LoggedSample:
    scores = {REWARD: LoggedScore(record.reward, record.success)}
    if record.progress is not None:
        scores[PROGRESS] = LoggedScore(record.progress, record.success)
    spent = record.spent
    return LoggedSample(
        task=record.task_id,
        arm=arm,
        sample=str(record.seed),
        scores=scores if record.is_scored else {},
        error=record.error_kind or ("" if record.is_scored else "budget of the run"),
        content=task_content(f"{record.env} {record.task_id}", record.instruction),
        tokens=float(spent.tokens) or None,  # without a model there are none
        usd=spent.usd if spent.tokens and not spent.n_unpriced else None,
        seconds=record.wall_s,
    )

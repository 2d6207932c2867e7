"""A run in AgentBoard's files, so that its tools and people's scripts read ours.

    DIR/<strategy>/logs/<task>.jsonl   one line per episode, with its trajectory: here valid JSON lines, there indented
    DIR/<strategy>/<task>.txt          one line per episode with its scores
    DIR/<strategy>/all_results.txt     one line per task, and means over the groups and over all
    DIR/<strategy>/dimension.txt       AgentBoard's ability scores, for tasks that it has weights of

What AgentBoard calls a task is an environment here; its examples are our tasks. Of AgentBoard's faults none is kept:
easy and hard rates are each their own, and an episode that failed is left out instead of ending the loop.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from iad_policy.ledger.episode import Episode, RecordedStep
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.metrics import StrategySummary, summarise
from iad_policy.types.atomic import write_atomically
from iad_policy.types.texts import well_formed

WEIGHTS = {
    "webshop": {
        "memory": 1,
        "planning": 2,
        "world_modeling": 1,
        "self_reflection": 2,
        "grounding": 3,
        "spatial_navigation": 1,
    }
}
"""How much a task says of each ability; AgentBoard has figures for these only."""


def write_agentboard(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write the runs' scored episodes; returns the files.

    Args:
        runs: One or more, each of its own environment; strategies of the same name are put together.
        folder: Made if missing; files of the same names are replaced.

    Raises:
        ValueError: Two runs of the same environment, or the name of a strategy or an environment is no file's name.
    """
    by_strategy: dict[str, dict[str, list[_Episode]]] = {}
    for run in runs:
        found: dict[str, dict[str, list[_Episode]]] = {}
        scored = [record.key for record in run.records.values() if record.is_scored]
        for key, example in run.readable(scored, _example):
            record = run.records[key]
            task = _task(record.env)[0]
            found.setdefault(record.strategy, {}).setdefault(task, []).append(_Episode(record, example))
        for strategy, tasks in found.items():
            twice = sorted(tasks.keys() & by_strategy.get(strategy, {}).keys())
            if twice:
                raise ValueError(
                    f"expected runs of different environments, got two of {', '.join(twice)}; name one each"
                )
            by_strategy.setdefault(strategy, {}).update(tasks)
    written: list[Path] = []
    for strategy, tasks in by_strategy.items():
        for name in (strategy, *tasks):
            if ".." in Path(name).parts or Path(name).is_absolute():
                raise ValueError(f"expected names of strategies and environments, got {name!r:.100}; name another run")
        written += _write_strategy(folder / strategy, tasks)
    return written


class _Episode(NamedTuple):
    """A scored episode, with its line but for the line's number."""

    record: EpisodeRecord
    example: Mapping[str, Any]


def _write_strategy(folder: Path, tasks: Mapping[str, Sequence[_Episode]]) -> list[Path]:
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    files: dict[Path, list[str]] = {}
    for task, episodes in tasks.items():
        files[logs / f"{task}.jsonl"] = [_json({"id": place, **one.example}) for place, one in enumerate(episodes)]
        files[folder / f"{task}.txt"] = [_line(place, one.record) for place, one in enumerate(episodes)]
    results = {task: _results(task, [one.record for one in episodes]) for task, episodes in tasks.items()}
    files[folder / "all_results.txt"] = [_json(one) for one in (*results.values(), *_group_means(tasks, results))]
    weighted = {task: results[task]["success_rate"] for task in results if task in WEIGHTS}
    if weighted:
        files[folder / "dimension.txt"] = [_json(_abilities(weighted))]
    for path, lines in files.items():
        with write_atomically(path) as part:
            part.write_text("".join(f"{well_formed(line)}\n" for line in lines), encoding="utf-8")
    return list(files)


def _task(env: str) -> tuple[str, str]:
    """Return AgentBoard's kind of name of an environment, and the group it is averaged in."""
    own = domain_by_id(env)
    return own.name or env.rpartition("/")[2].lower(), own.group


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _example(episode: Episode) -> dict[str, Any]:
    record = episode.record
    first = episode.steps[0].before if episode.steps else None
    return {
        "task_id": record.task_id,
        "goal": "" if first is None else str(first.info.get("instruction", "")),
        "difficulty": record.difficulty,
        "is_done": record.success == 1,
        "progress_rate": record.progress,
        "grounding_acc": record.grounding,
        "score_change_record": _changes(record),
        "trajectory": {
            f"Interaction Turn {step.index}": _turn(step, record) for step in episode.steps if step.after is not None
        },
    }


def _turn(step: RecordedStep, record: EpisodeRecord) -> dict[str, Any]:
    after = step.index + 1
    known = record.progress_by_step
    return {
        "Action": str(step.action),
        "Observation": "" if step.after is None else str(step.after.observation),
        "Progress Rate": known[after] if after < len(known) else None,
    }


def _changes(record: EpisodeRecord) -> list[list[float]]:
    """Return [step, progress] wherever progress rose."""
    changes: list[list[float]] = []
    best = 0.0
    for step, progress in enumerate(record.progress_by_step):
        if progress is not None and progress > best:
            best = progress
            changes.append([step, progress])
    return changes


def _line(place: int, record: EpisodeRecord) -> str:
    return (
        f"[EXP] {place}: [success_rate]: {record.success == 1}, [progress_rate]: {record.progress}, "
        f"[grounding_acc]: {record.grounding}, [score_state]: {_changes(record)}"
    )


def _results(task: str, records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    one: StrategySummary = summarise(records, n_resamples=1)
    return {
        "task_name": task,
        "success_rate": one.success,
        "progress_rate": one.progress,
        "grounding_acc": one.grounding,
        "success_rate_hard": one.success_hard,
        "success_rate_easy": one.success_easy,
        "progress_rate_hard": one.progress_hard,
        "progress_rate_easy": one.progress_easy,
    }


def _group_means(
    tasks: Mapping[str, Sequence[_Episode]], results: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the mean over the tasks of each group and over all, every task counting the same."""
    groups: dict[str, list[str]] = {}
    for task, episodes in tasks.items():
        groups.setdefault(_task(episodes[0].record.env)[1], []).append(task)
    groups["all"] = list(tasks)
    means = []
    for group, members in groups.items():
        mean: dict[str, Any] = {"task_name": f"{group}_summary"}
        for name in next(iter(results.values())):
            known = [results[task][name] for task in members if name != "task_name" and results[task][name] is not None]
            if name != "task_name":
                mean[name] = sum(known) / len(known) if known else None
        means.append(mean)
    return means


def _abilities(success: Mapping[str, float | None]) -> dict[str, float | None]:
    abilities: dict[str, float | None] = {}
    for ability in next(iter(WEIGHTS.values())):
        known = [(WEIGHTS[task][ability], rate) for task, rate in success.items() if rate is not None]
        total = sum(weight for weight, _ in known)
        abilities[ability] = sum(weight * rate for weight, rate in known) / total if total else None
    return abilities

"""A run in AgentBoard's files, so that its tools and people's scripts read ours.

    DIR/<strategy>/logs/<task>.jsonl   one line per episode, with its trajectory: here valid JSON lines, there indented
    DIR/<strategy>/<task>.txt          one line per episode with its scores
    DIR/<strategy>/all_results.txt     one line per task, and means over the groups and over all
    DIR/<strategy>/dimension.txt       AgentBoard's ability scores, for tasks that it has weights of

What AgentBoard calls a task is an environment here; its examples are our tasks. Unlike there, easy and hard rates are
each their own, and an episode that failed is left out instead of ending the loop.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from iad_policy.ledger.episode import Episode
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run import Run
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.metrics import summarise
from iad_policy.types.atomic import write_text
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
            task = domain_by_id(record.env).name or record.env.rpartition("/")[2].lower()
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
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    files: dict[Path, list[str]] = {}
    results: dict[str, dict[str, float | None]] = {}
    groups: dict[str, list[str]] = {}
    for task, episodes in tasks.items():
        lines = [{"id": place, **one.example} for place, one in enumerate(episodes)]
        files[folder / "logs" / f"{task}.jsonl"] = list(map(_json, lines))
        files[folder / f"{task}.txt"] = [
            f"[EXP] {one['id']}: [success_rate]: {one['is_done']}, [progress_rate]: {one['progress_rate']}, "
            f"[grounding_acc]: {one['grounding_acc']}, [score_state]: {one['score_change_record']}"
            for one in lines
        ]
        found = summarise([one.record for one in episodes], n_resamples=1)
        results[task] = {
            "success_rate": found.success,
            "progress_rate": found.progress,
            "grounding_acc": found.grounding,
            "success_rate_hard": found.success_hard,
            "success_rate_easy": found.success_easy,
            "progress_rate_hard": found.progress_hard,
            "progress_rate_easy": found.progress_easy,
        }
        groups.setdefault(domain_by_id(episodes[0].record.env).group, []).append(task)
    named: list[dict[str, Any]] = [{"task_name": task, **one} for task, one in results.items()]
    for group, members in {**groups, "all": list(tasks)}.items():  # every task counts the same
        mean: dict[str, Any] = {"task_name": f"{group}_summary"}
        for name in next(iter(results.values())):
            known = [value for task in members if (value := results[task][name]) is not None]
            mean[name] = sum(known) / len(known) if known else None
        named.append(mean)
    files[folder / "all_results.txt"] = list(map(_json, named))
    weighted = {task: rate for task in results.keys() & WEIGHTS if (rate := results[task]["success_rate"]) is not None}
    if results.keys() & WEIGHTS:
        abilities: dict[str, float | None] = {}
        for ability in next(iter(WEIGHTS.values())):
            total = sum(WEIGHTS[task][ability] for task in weighted)
            scored = sum(WEIGHTS[task][ability] * rate for task, rate in weighted.items())
            abilities[ability] = scored / total if total else None
        files[folder / "dimension.txt"] = [_json(abilities)]
    for path, texts in files.items():
        write_text(path, "".join(f"{well_formed(text)}\n" for text in texts))
    return list(files)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _example(episode: Episode) -> dict[str, Any]:
    record = episode.record
    first = episode.steps[0].before if episode.steps else None
    known = record.progress_by_step
    changes: list[list[float]] = []
    for step, progress in enumerate(known):
        if progress is not None and progress > (changes[-1][1] if changes else 0.0):
            changes.append([step, progress])
    return {
        "task_id": record.task_id,
        "goal": "" if first is None else str(first.info.get("instruction", "")),
        "difficulty": record.difficulty,
        "is_done": record.success == 1,
        "progress_rate": record.progress,
        "grounding_acc": record.grounding,
        "score_change_record": changes,
        "trajectory": {
            f"Interaction Turn {step.index}": {
                "Action": str(step.action),
                "Observation": str(step.after.observation),
                "Progress Rate": known[step.index + 1] if step.index + 1 < len(known) else None,
            }
            for step in episode.steps
            if step.after is not None
        },
    }

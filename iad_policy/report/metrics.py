"""Summarises the episodes of a strategy: means with intervals, and spending. Differences are those of `compare`.

Episodes that failed, or that the budget of the whole run ended, are counted separately and are left out of every mean.
An episode that its own budget ended counts, with the progress it made.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.compare import Resampling, over_tasks
from iad_policy.report.samples import METRICS, PROGRESS, SUCCESS, error_of
from iad_policy.report.statistics import N_RESAMPLES, Interval
from iad_policy.types import NOTHING

LEVELS = ("easy", "simple", "moderate", "medium", "hard", "challenging")
"""Names of difficulties, from easy to hard: the first two are the easiest tasks of environments, the last two the
hardest. Other names come after them."""
UNMARKED = "unmarked"
"""Stands for the difficulty of tasks without one, beside others that have one."""
SPENT = (
    *("proposals", "verifications", "simulations", "asks", "tokens", "usd"),
    *("n_unpriced", "n_unmetered", "n_cached"),
)


class LevelSummary(NamedTuple):
    """One strategy's scored episodes of one difficulty: their number and means."""

    n: int
    success: float | None
    progress: float | None


@dataclass(frozen=True, slots=True)
class StrategySummary:
    """One strategy's row: means over its scored episodes, with 95 % intervals. None if there is nothing to average.

    Attributes:
        n_episodes: Number of scored episodes.
        n_errored: Number of episodes that failed, or that the run's budget ended. They are left out of the means.
        errors: Kind of error -> number of episodes.
        spent_errored: Total spending of these episodes, by axis. It is in none of the means.
        n_budget: Number of episodes that a budget ended.
        success: Success rate over tasks, each with the mean of its seeds; see `over_tasks`.
        progress: Mean progress over tasks.
        reward: Mean reward over tasks.
        grounding: Mean share of accepted steps (AgentBoard).
        unreadable: Share of all proposals whose answer could not be read as an action. None without proposals.
        n_easy: Number of scored episodes of easy tasks.
        n_hard: Number of scored episodes of hard tasks.
        success_easy: Success rate over easy tasks.
        success_hard: Success rate over hard tasks.
        progress_easy: Mean progress over easy tasks.
        progress_hard: Mean progress over hard tasks.
        by_difficulty: Every difficulty that the tasks are marked with, from easy to hard. Empty if none is marked.
        spent: Mean spending per episode: proposals, verifications, simulations, asks, tokens, dollars (of calls with a
            known price), the number of calls with an unknown price, and that of calls with unknown tokens.
        by_role: Role -> its mean spending per episode, by axis.
        evaluation_pass_rate: Share of evaluations of simulated attempts that say `pass`, or None if there are none.
        simulated_by: What its episodes were simulated by if their environment has no simulation of its own: `fork` and
            `replay`, which see hidden state. Empty for any other.
        n_steps: Mean number of committed actions.
        seconds: Mean time inside calls, summed. Replayed calls count with their recorded time, answers from the cache
            with the time that they took at first.
        wall_s: Mean time from reset to the end of the episode.
        n_cut_off: Total number of answers that ended at a limit of their length, in scored episodes.
        n_failed_verdicts: Total number of failed verdicts in scored episodes.
        progress_by_step: Mean progress after each step, with each episode's last value carried forward.
    """

    n_episodes: int
    n_errored: int
    errors: Mapping[str, int]
    spent_errored: Mapping[str, float]
    n_budget: int
    success: float | None
    success_95: Interval | None
    progress: float | None
    progress_95: Interval | None
    reward: float | None
    reward_95: Interval | None
    grounding: float | None
    unreadable: float | None
    n_easy: int
    n_hard: int
    success_easy: float | None
    success_hard: float | None
    progress_easy: float | None
    progress_hard: float | None
    by_difficulty: Mapping[str, LevelSummary]
    spent: Mapping[str, float]
    by_role: Mapping[str, Mapping[str, float]]
    evaluation_pass_rate: float | None
    simulated_by: tuple[str, ...]
    n_steps: float | None
    seconds: float | None
    wall_s: float | None
    n_cut_off: int
    n_failed_verdicts: int
    progress_by_step: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the summary as JSON, with the spending on the same level as the scores."""
        plain = asdict(self)
        spent = plain.pop("spent")
        levels = {name: level._asdict() for name, level in self.by_difficulty.items()}
        return {**plain, "by_difficulty": levels, **spent}


def summarise(records: Iterable[EpisodeRecord], *, n_resamples: int = N_RESAMPLES) -> StrategySummary:
    """Return one strategy's summary.

    Args:
        records: The strategy's episodes.
        n_resamples: Number of bootstrap resamples.
    """
    every = list(records)
    scored = [record for record in every if record.is_scored]
    totals: dict[str, dict[str, float]] = {}
    for record in scored:
        for role, axes in record.usage.items():
            spent = totals.setdefault(role, {})
            for axis, value in axes.items():
                spent[axis] = spent.get(axis, 0.0) + value
    by_role = {role: {axis: total / len(scored) for axis, total in spent.items()} for role, spent in totals.items()}
    by_difficulty: dict[str, LevelSummary] = {}
    difficulties = {record.difficulty for record in scored}
    for name in from_easy_to_hard(difficulties) if difficulties != {""} else ():
        own = [record for record in scored if record.difficulty == name]
        by_difficulty[name or UNMARKED] = LevelSummary(len(own), _over_tasks(own, SUCCESS), _over_tasks(own, PROGRESS))
    n_proposals = sum(record.usage.get("agent", {}).get("proposals", 0) for record in scored)
    n_evaluations = sum(record.n_evaluations for record in scored)
    resampling = Resampling(n_resamples=n_resamples)
    means = {name: over_tasks(per_task(scored, name), resampling, is_rate=name == SUCCESS) for name in METRICS}
    values: dict[str, Any] = {
        **{name: mean and mean.value for name, mean in means.items()},
        **{f"{name}_95": mean and mean.interval_95 for name, mean in means.items()},
    }
    for level, names in (("easy", LEVELS[:2]), ("hard", LEVELS[-2:])):
        own = [record for record in scored if record.difficulty in names]
        values[f"n_{level}"] = len(own)
        values |= {f"{name}_{level}": _over_tasks(own, name) for name in (SUCCESS, PROGRESS)}
    errors = Counter(sorted(error for record in every if (error := error_of(record))))
    return StrategySummary(
        n_episodes=len(scored),
        n_errored=errors.total(),
        errors=dict(errors),
        spent_errored=sum((record.spent for record in every if not record.is_scored), NOTHING).as_dict(),
        n_budget=sum(record.stop_reason == "budget" for record in every),
        grounding=_mean([record.grounding for record in scored]),
        unreadable=sum(record.n_unreadable for record in scored) / n_proposals if n_proposals else None,
        by_difficulty=by_difficulty,
        spent={axis: _of_all_roles(by_role, axis) for axis in SPENT},
        by_role=by_role,
        evaluation_pass_rate=sum(record.n_passed for record in scored) / n_evaluations if n_evaluations else None,
        simulated_by=tuple(sorted({record.simulated_by for record in every} - {""})),
        n_steps=_mean([float(record.n_steps) for record in scored]),
        seconds=_of_all_roles(by_role, "seconds") if scored else None,
        wall_s=_mean([record.wall_s for record in scored]),
        n_cut_off=sum(record.n_cut_off for record in scored),
        n_failed_verdicts=sum(record.n_failed_verdicts for record in scored),
        progress_by_step=progress_curve(scored),
        **values,
    )


def from_easy_to_hard(levels: Iterable[str]) -> list[str]:
    """Return names of difficulties in order. Tasks without one, "", come last."""
    return sorted(levels, key=lambda name: (name == "", LEVELS.index(name) if name in LEVELS else len(LEVELS), name))


def _of_all_roles(by_role: Mapping[str, Mapping[str, float]], axis: str) -> float:
    parts = ("prompt_tokens", "completion_tokens") if axis == "tokens" else (axis,)
    return sum(spent.get(part, 0.0) for spent in by_role.values() for part in parts)


def progress_curve(records: Sequence[EpisodeRecord]) -> tuple[float, ...]:
    """Return the mean progress after the reset and after each step, with each episode's last value carried forward."""
    curves = [[value for value in record.progress_by_step if value is not None] for record in records]
    curves = [curve for curve in curves if curve]
    if not curves:
        return ()
    total = np.zeros(max(map(len, curves)))
    for size in set(map(len, curves)):
        of_one_length = np.sum([curve for curve in curves if len(curve) == size], axis=0)
        total[:size] += of_one_length
        total[size:] += of_one_length[-1]
    return tuple(float(value) for value in total / len(curves))


def per_task(records: Sequence[EpisodeRecord], name: str) -> list[list[float]]:
    """Return the known values of each task, in the order of the tasks' names: of a metric or a part of the reward."""
    found: dict[str, list[float]] = {}
    for record in records:
        value = getattr(record, name) if name in METRICS else record.reward_parts.get(name)
        if value is not None:
            found.setdefault(record.task_id, []).append(value)
    return [found[task] for task in sorted(found)]


def _over_tasks(records: Sequence[EpisodeRecord], name: str) -> float | None:
    """Return the mean over tasks of the means of their episodes."""
    return _mean([float(np.mean(own)) for own in per_task(records, name)])


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None

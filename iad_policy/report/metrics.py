"""Summarises episodes: means with intervals per strategy, and paired differences to a baseline.

Episodes that failed, or that the budget of the whole run ended, are counted separately and are left out of every mean.
An episode that its own budget ended counts, with the progress it made.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.statistics import (
    N_RESAMPLES,
    Interval,
    bootstrap_mean,
    detectable_mean,
    discordance,
    holm,
    is_bounded,
    mcnemar_exact,
    mean_interval,
    minimum_detectable_effect,
    paired_interval,
    sign_flip,
    wilson,
)
from iad_policy.types import NOTHING

EASY = ("easy", "simple")
HARD = ("hard", "challenging")
"""Names that environments give their easiest and hardest tasks."""
LEVELS = (*EASY, "moderate", "medium", *HARD)
"""Names of difficulties, from easy to hard. Others come after them."""
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
        n_errored: Number of episodes that failed. They are left out of the means.
        errors: Kind of error -> number of episodes.
        spent_errored: Total spending of the episodes that failed, by axis. It is in none of the means.
        n_budget: Number of episodes that a budget ended.
        success: Success rate, with Wilson's interval, or a bootstrap interval over tasks if tasks have several seeds.
        progress: Mean progress, with a bootstrap interval over tasks.
        reward: Mean reward, with a bootstrap interval over tasks.
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
    n_failed_verdicts: int
    progress_by_step: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the summary as JSON, with the spending on the same level as the scores."""
        plain = asdict(self)
        spent = plain.pop("spent")
        levels = {name: level._asdict() for name, level in self.by_difficulty.items()}
        return {**plain, "by_difficulty": levels, **spent}


@dataclass(frozen=True, slots=True)
class Difference:
    """A strategy minus the baseline, over the tasks for which both have a scored episode.

    Attributes:
        baseline: Name of the row that is subtracted.
        n_pairs: Number of pairs of a task and a seed.
        n_tasks: Number of tasks in these pairs. All seeds of a task are one observation.
        success: Difference of success rates, with a paired bootstrap interval over tasks.
        progress: Difference of mean progress, with a paired bootstrap interval over tasks.
        reward: Difference of mean reward, with a paired bootstrap interval over tasks.
        won: Tasks that only the strategy solved, once per seed.
        lost: Tasks that only the baseline solved, once per seed.
        p_mcnemar: p-value of the exact McNemar test on success. None if tasks have several seeds, because their
            outcomes are not independent pairs.
        p_sign_flip: p-value of the sign-flip test on success, which flips all seeds of a task together.
        p_progress: p-value of the sign-flip test on progress.
        p_holm: `p_mcnemar`, or `p_sign_flip` if that is None, adjusted for the number of compared strategies.
        detectable_success: Smallest true difference in success that these tasks detect with 80 % power.
        detectable_progress: Smallest true difference in progress that these tasks detect with 80 % power.
    """

    baseline: str
    n_pairs: int
    n_tasks: int
    success: float | None = None
    success_95: Interval | None = None
    progress: float | None = None
    progress_95: Interval | None = None
    reward: float | None = None
    reward_95: Interval | None = None
    won: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    p_mcnemar: float | None = None
    p_sign_flip: float | None = None
    p_progress: float | None = None
    p_holm: float | None = None
    detectable_success: float | None = None
    detectable_progress: float | None = None

    @property
    def n_better(self) -> int:
        """Number of pairs that only the strategy solved."""
        return len(self.won)

    @property
    def n_worse(self) -> int:
        """Number of pairs that only the baseline solved."""
        return len(self.lost)

    @property
    def p_success(self) -> float | None:
        """p-value of the test on success: McNemar with one seed per task, else sign-flip."""
        return self.p_sign_flip if self.p_mcnemar is None else self.p_mcnemar

    def as_json(self) -> dict[str, Any]:
        """Return the difference as `summary.json` holds it."""
        return {**asdict(self), "n_better": self.n_better, "n_worse": self.n_worse}


def summarise(
    records: Iterable[EpisodeRecord], *, seed: int = 0, n_resamples: int = N_RESAMPLES, n_steps: int = 0
) -> StrategySummary:
    """Return one strategy's summary.

    Args:
        records: The strategy's episodes.
        seed: Seed of the bootstrap.
        n_resamples: Number of bootstrap resamples.
        n_steps: Step to which progress curves are carried forward, if it is after the longest episode's last step.
    """
    every = list(records)
    scored = [record for record in every if record.is_scored]
    easy = [record for record in scored if record.difficulty in EASY]
    hard = [record for record in scored if record.difficulty in HARD]
    successes = _known(scored, "success")
    progress, rewards = _known(scored, "progress"), [record.reward for record in scored]
    by_role = _by_role(scored)
    is_rate = bool(successes) and set(successes) <= {0.0, 1.0}
    is_single = len({record.task_id for record in scored}) == len(scored)

    def interval(name: str) -> Interval | None:
        known = [record for record in scored if getattr(record, name) is not None]
        tasks = [record.task_id for record in known]
        values = _known(known, name)
        return mean_interval(values, clusters=tasks, seed=seed, n_resamples=n_resamples) if values else None

    return StrategySummary(
        n_episodes=len(scored),
        n_errored=sum(record.error_kind != "" for record in every),
        errors=dict(Counter(sorted(record.error_kind for record in every if record.error_kind))),
        spent_errored=sum((record.spent for record in every if record.error_kind), NOTHING).as_dict(),
        n_budget=sum(record.stop_reason == "budget" for record in every),
        success=_mean(successes),
        success_95=(wilson(int(sum(successes)), len(successes)) if is_single else interval("success"))
        if is_rate
        else None,
        progress=_mean(progress),
        progress_95=interval("progress"),
        reward=_mean(rewards),
        reward_95=interval("reward"),
        grounding=_mean([record.grounding for record in scored]),
        unreadable=_unreadable(scored),
        n_easy=len(easy),
        n_hard=len(hard),
        success_easy=_mean(_known(easy, "success")),
        success_hard=_mean(_known(hard, "success")),
        progress_easy=_mean(_known(easy, "progress")),
        progress_hard=_mean(_known(hard, "progress")),
        by_difficulty=_by_difficulty(scored),
        spent={axis: _of_all_roles(by_role, axis) for axis in SPENT},
        by_role=by_role,
        evaluation_pass_rate=_pass_rate(scored),
        simulated_by=tuple(sorted({record.simulated_by for record in every} - {""})),
        n_steps=_mean([float(record.n_steps) for record in scored]),
        seconds=_of_all_roles(by_role, "seconds") if scored else None,
        wall_s=_mean([record.wall_s for record in scored]),
        n_failed_verdicts=sum(record.n_failed_verdicts for record in scored),
        progress_by_step=progress_curve(scored, n_steps),
    )


def _by_difficulty(records: Sequence[EpisodeRecord]) -> dict[str, LevelSummary]:
    names = {record.difficulty for record in records}
    if names == {""}:
        return {}
    ordered = sorted(names, key=lambda name: (name == "", LEVELS.index(name) if name in LEVELS else len(LEVELS), name))
    found = {}
    for name in ordered:
        own = [record for record in records if record.difficulty == name]
        means = _mean(_known(own, "success")), _mean(_known(own, "progress"))
        found[name or UNMARKED] = LevelSummary(len(own), *means)
    return found


def _by_role(records: Sequence[EpisodeRecord]) -> dict[str, dict[str, float]]:
    totals: dict[str, dict[str, float]] = {}
    for record in records:
        for role, axes in record.usage.items():
            spent = totals.setdefault(role, {})
            for axis, value in axes.items():
                spent[axis] = spent.get(axis, 0.0) + value
    return {role: {axis: total / len(records) for axis, total in spent.items()} for role, spent in totals.items()}


def _of_all_roles(by_role: Mapping[str, Mapping[str, float]], axis: str) -> float:
    parts = ("prompt_tokens", "completion_tokens") if axis == "tokens" else (axis,)
    return sum(spent.get(part, 0.0) for spent in by_role.values() for part in parts)


def progress_curve(records: Sequence[EpisodeRecord], n_steps: int = 0) -> tuple[float, ...]:
    """Return the mean progress after the reset and after each step, with each episode's last value carried forward."""
    curves = [[value for value in record.progress_by_step if value is not None] for record in records]
    curves = [curve for curve in curves if curve]
    if not curves:
        return ()
    length = max(n_steps + 1, *map(len, curves))
    total = np.zeros(length)
    for size in set(map(len, curves)):
        of_one_length = np.sum([curve for curve in curves if len(curve) == size], axis=0)
        total[:size] += of_one_length
        total[size:] += of_one_length[-1]
    return tuple(float(value) for value in total / len(curves))


def differences(
    records: Mapping[str, Sequence[EpisodeRecord]],
    baselines: Mapping[str, str],
    *,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> dict[str, Difference]:
    """Return the difference of each row to its baseline, with p-values adjusted over all of them.

    Args:
        records: Row of the table -> its episodes.
        baselines: Row -> the row to compare it with.
        seed: Seed of the bootstrap.
        n_resamples: Number of bootstrap resamples.
    """
    found = {
        name: _difference(baseline, _pairs(records[name], records[baseline]), seed=seed, n_resamples=n_resamples)
        for name, baseline in baselines.items()
    }
    tested = [name for name, one in found.items() if one.p_success is not None]
    adjusted = holm([found[name].p_success or 0.0 for name in tested])
    for name, p_holm in zip(tested, adjusted, strict=True):
        found[name] = replace(found[name], p_holm=p_holm)
    return found


def _pairs(own: Sequence[EpisodeRecord], others: Sequence[EpisodeRecord]) -> list[tuple[EpisodeRecord, EpisodeRecord]]:
    base = {(record.task_id, record.seed): record for record in others if record.is_scored}
    return [
        (record, base[record.task_id, record.seed])
        for record in own
        if record.is_scored and (record.task_id, record.seed) in base
    ]


def _difference(
    baseline: str, pairs: list[tuple[EpisodeRecord, EpisodeRecord]], *, seed: int, n_resamples: int
) -> Difference:
    n_tasks = len({one.task_id for one, _ in pairs})
    values: dict[str, Any] = {"baseline": baseline, "n_pairs": len(pairs), "n_tasks": n_tasks}
    changes: dict[str, list[float]] = {}
    known = {name: _known_pairs(pairs, name) for name in ("success", "progress", "reward")}
    for name, among in known.items():
        if not among:
            continue
        value = attrgetter(name)
        tasks = [a.task_id for a, _ in among]
        own = changes[name] = [value(a) - value(b) for a, b in among]
        values[name] = _mean(own)
        interval = paired_interval if is_bounded(value(one) for pair in among for one in pair) else bootstrap_mean
        values[f"{name}_95"] = interval(own, clusters=tasks, seed=seed, n_resamples=n_resamples)
        if name != "reward":
            p_name = "p_sign_flip" if name == "success" else "p_progress"
            values[p_name] = sign_flip(own, clusters=tasks, seed=seed, n_resamples=n_resamples)
    if "success" in changes:
        values |= _won_and_lost(known["success"])
    if "progress" in changes:
        tasks = [a.task_id for a, _ in known["progress"]]
        values["detectable_progress"] = detectable_mean(changes["progress"], tasks)
    return Difference(**values)


def _known_pairs(
    pairs: list[tuple[EpisodeRecord, EpisodeRecord]], name: str
) -> list[tuple[EpisodeRecord, EpisodeRecord]]:
    value = attrgetter(name)
    return [pair for pair in pairs if value(pair[0]) is not None and value(pair[1]) is not None]


def _won_and_lost(known: list[tuple[EpisodeRecord, EpisodeRecord]]) -> dict[str, Any]:
    won = tuple(a.task_id for a, b in known if (a.success or 0) > (b.success or 0))
    lost = tuple(a.task_id for a, b in known if (a.success or 0) < (b.success or 0))
    found: dict[str, Any] = {"won": won, "lost": lost}
    if len({a.task_id for a, _ in known}) == len(known):
        variance = discordance(len(won) + len(lost), len(known))
        found["p_mcnemar"] = mcnemar_exact(len(won), len(lost))
        found["detectable_success"] = minimum_detectable_effect(variance, len(known))
    else:
        changes = [(a.success or 0.0) - (b.success or 0.0) for a, b in known]
        found["detectable_success"] = detectable_mean(changes, [a.task_id for a, _ in known])
    return found


def _unreadable(records: Sequence[EpisodeRecord]) -> float | None:
    n = sum(axes.get("proposals", 0) for record in records for axes in record.usage.values())
    return sum(record.n_unreadable for record in records) / n if n else None


def _pass_rate(records: Sequence[EpisodeRecord]) -> float | None:
    n = sum(record.n_evaluations for record in records)
    return sum(record.n_passed for record in records) / n if n else None


def _known(records: Sequence[EpisodeRecord], name: str) -> list[float]:
    return [value for record in records if (value := getattr(record, name)) is not None]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None

"""Figures of scored attempts: means with intervals, votes, and paired differences between arms."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from random import Random
from statistics import fmean
from typing import Any

from iad_policy.errors import UnknownName
from iad_policy.ledger.predictions.formats import SUCCESS, PredictionFormat
from iad_policy.ledger.predictions.prediction_files import PredictionFile
from iad_policy.report.compare import ArmFigures, Comparison, Resampling, TaskMean, compare, over_tasks
from iad_policy.report.metrics import UNMARKED, LevelSummary, from_easy_to_hard
from iad_policy.report.predictions.replay import UNFINISHED, ScoredAttempt
from iad_policy.report.samples import ID, REWARD, CountingRules, Samples, SampleScore, TaskSample

WRONG, LEFT_OUT = "wrong", "left-out"
MISSING_RULES = (WRONG, LEFT_OUT)
"""How a task without a prediction counts: as a wrong answer, as officially in BIRD, or not at all."""
MAX_GROUPS = 300
"""Number of groups of k attempts that vote, where there are more of them."""
NO_VOTE = "error"
"""Result of an attempt without one. It does not vote."""


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """How attempts count and are compared.

    Attributes:
        missing: How a task without a prediction counts, one of `MISSING_RULES`.
        baseline: Arm to compare with; "" for the first.
        ks: Numbers of attempts for pass@k, pass^k and votes. If empty: 2, 4, 8 ... and the largest that all arms have.
        resampling: How intervals and tests draw.
    """

    missing: str = WRONG
    baseline: str = ""
    ks: Sequence[int] = ()
    resampling: Resampling = Resampling()  # noqa: RUF009 (a tuple)

    def __post_init__(self) -> None:
        if self.missing not in MISSING_RULES:
            raise UnknownName("rule for missing tasks", self.missing, MISSING_RULES)
        if any(k < 1 for k in self.ks):
            raise ValueError(f"expected k of 1 or more, got {min(self.ks)}")


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """A file with the scores of its attempts.

    Attributes:
        file: What was read.
        arm: Row of the table, for attempts that don't name one themselves.
        attempts: The scored attempts, in order.
    """

    file: PredictionFile
    arm: str
    attempts: Sequence[ScoredAttempt]


@dataclass(slots=True)
class TaskScores:
    """One arm's attempts at one task.

    Attributes:
        attempts: All attempts, with those that could not be scored.
        n_missing: Number of files without an attempt at the task.
        n_wrong: Number of wrong attempts that these files stand for: as many as they have at another task.
    """

    attempts: list[ScoredAttempt] = field(default_factory=list)
    n_missing: int = 0
    n_wrong: int = 0

    def counted(self, missing: str) -> list[ScoredAttempt | None]:
        """Return the attempts that count, with None for a missing one that counts as wrong."""
        scored: list[ScoredAttempt | None] = [one for one in self.attempts if not one.error]
        return scored + [None] * (self.n_wrong if missing == WRONG else 0)


@dataclass(frozen=True, slots=True)
class ArmScores:
    """One arm's row. In means over tasks, each task counts with the mean of its attempts.

    Attributes:
        figures: Success, the main score, pass@k and pass^k.
        scores: Every score -> its mean over tasks.
        by_difficulty: Difficulty -> number of tasks, mean success and mean main score. Empty if none is marked.
        majority_at: k -> mean probability that a vote of k attempts is right. Empty where there are no votes.
        n_attempts: Number of attempts in the files.
        n_missing: Number of tasks that a file has no attempt at, over all files.
        missing: The tasks without any attempt.
        errors: Kind of error -> number of attempts that could not be scored.
        verdicts: Verdict or end of the episode -> number of attempts.
        n_unused: Number of attempts with actions after the end of the episode.
        tasks: Task -> its attempts.
    """

    figures: ArmFigures
    scores: Mapping[str, TaskMean]
    by_difficulty: Mapping[str, LevelSummary]
    majority_at: Mapping[int, TaskMean]
    n_attempts: int
    n_missing: int
    missing: Sequence[str]
    errors: Mapping[str, int]
    verdicts: Mapping[str, int]
    n_unused: int
    tasks: Mapping[str, TaskScores]

    @property
    def n_unfinished(self) -> int:
        """Number of attempts whose actions end before the episode."""
        return self.verdicts.get(UNFINISHED, 0)

    @property
    def first_error(self) -> str:
        """Place and message of the first attempt that could not be scored, "" for none."""
        failed = (one for task in self.tasks.values() for one in task.attempts if one.error)
        return next((f"{one.attempt.place}: {one.message}" for one in failed), "")


@dataclass(frozen=True, slots=True)
class PredictionScores:
    """All figures, and what was read.

    Attributes:
        arms: Arm -> its figures.
        comparison: The differences between arms.
        files: What was read.
        missing: How a task without a prediction counts, one of `MISSING_RULES`.
        difficulties: Expected task -> its difficulty, "" for none.
    """

    arms: Mapping[str, ArmScores]
    comparison: Comparison
    files: Sequence[PredictionFile]
    missing: str
    difficulties: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """Return what `iad score --json` prints. Intervals are lists of two numbers."""
        whole = self.comparison.as_json()
        return {
            "missing": self.missing,
            "n_tasks": len(self.difficulties),
            "main": whole["score"],
            "arms": {arm: _arm_json(one, whole["arms"][arm]) for arm, one in self.arms.items()},
            "differences": whole["differences"],
            "files": [
                {"path": str(one.path), "n_attempts": len(one.attempts), "notes": one.notes} for one in self.files
            ],
            "problems": [problem for one in self.files for problem in one.problems],
            "unknown": {str(one.path): one.unknown for one in self.files if one.unknown},
        }

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield a line for each arm and task, with the scores of every attempt."""
        for arm, scores in self.arms.items():
            for task, one in scores.tasks.items():
                counted = one.counted(self.missing)
                names = dict.fromkeys([SUCCESS, *(name for tried in one.attempts for name in tried.scores)])
                yield {
                    "task_id": task,
                    "arm": arm,
                    "difficulty": self.difficulties.get(task, ""),
                    "n_attempts": len(one.attempts),
                    "n_missing": one.n_missing,
                    **{name: fmean(own) if (own := _values(counted, name)) else None for name in names},
                    "attempts": [_attempt_json(tried) for tried in one.attempts],
                }


def figures_of(
    files: Sequence[ScoredFile],
    form: PredictionFormat,
    difficulties: Mapping[str, str],
    rules: ScoringRules = ScoringRules(),
) -> PredictionScores:
    """Return the figures of each arm, and the differences to the baseline.

    Args:
        files: The scored files.
        form: The environment's format.
        difficulties: Expected task -> its difficulty, "" for none. Without tasks, none can be missing.
        rules: How attempts count and are compared.

    Raises:
        UnknownName: There is no such baseline.
        ValueError: No attempt could be scored.
    """
    scored = [one for file in files for one in file.attempts if not one.error]
    if not scored:
        raise ValueError(f"expected predictions that can be scored, got none{_reasons(files)}; name other files")
    by_arm = _by_arm(files, difficulties)
    main = form.main if any(form.main in one.scores for one in scored) else REWARD
    comparison = compare(
        _logged(by_arm, main, rules.missing),
        CountingRules(score=main, pair_by=ID),
        baseline=rules.baseline,
        ks=rules.ks,
        resampling=rules.resampling,
    )
    summaries = _Summaries(form, difficulties, main, rules)
    arms = {arm: summaries.arm(tasks, comparison.arms[arm]) for arm, tasks in by_arm.items()}
    return PredictionScores(arms, comparison, [one.file for one in files], rules.missing, difficulties)


class _Summaries:
    """Computes the rows of arms."""

    def __init__(self, form: PredictionFormat, difficulties: Mapping[str, str], main: str, rules: ScoringRules) -> None:
        self._form = form
        self._difficulties = difficulties
        self._main = main
        self._missing = rules.missing
        self._resampling = rules.resampling

    def arm(self, tasks: Mapping[str, TaskScores], figures: ArmFigures) -> ArmScores:
        """Return an arm's row."""
        attempts = [one for own in tasks.values() for one in own.attempts]
        counted = {task: own for task in sorted(tasks) if (own := tasks[task].counted(self._missing))}
        return ArmScores(
            figures=figures,
            scores=self._means(counted),
            by_difficulty=self._by_difficulty(counted),
            majority_at={k: mean for k in figures.pass_at if (mean := self._majority(counted, k)) is not None},
            n_attempts=len(attempts),
            n_missing=sum(one.n_missing for one in tasks.values()),
            missing=[task for task, one in tasks.items() if not one.attempts],
            errors=dict(Counter(one.error for one in attempts if one.error)),
            verdicts=dict(Counter(one.verdict for one in attempts if one.verdict)),
            n_unused=sum(one.n_unused > 0 for one in attempts),
            tasks=tasks,
        )

    def _means(self, counted: Mapping[str, Sequence[ScoredAttempt | None]]) -> dict[str, TaskMean]:
        names = dict.fromkeys(name for own in counted.values() for one in own if one for name in one.scores)
        values = {name: [scores for own in counted.values() if (scores := _values(own, name))] for name in names}
        return {name: mean for name, own in values.items() if (mean := over_tasks(own, self._resampling)) is not None}

    def _by_difficulty(self, counted: Mapping[str, Sequence[ScoredAttempt | None]]) -> dict[str, LevelSummary]:
        by_level: dict[str, list[Sequence[ScoredAttempt | None]]] = {}
        for task, own in counted.items():
            by_level.setdefault(self._difficulties.get(task, ""), []).append(own)
        if by_level.keys() <= {""}:
            return {}
        return {
            level or UNMARKED: LevelSummary(
                len(by_level[level]),
                *(_mean_over_tasks(by_level[level], name) for name in (SUCCESS, self._main)),
            )
            for level in from_easy_to_hard(by_level)
        }

    def _majority(self, counted: Mapping[str, Sequence[ScoredAttempt | None]], k: int) -> TaskMean | None:
        values = []
        for task, own in counted.items():
            if len(own) < k:
                continue
            results = [one.result or NO_VOTE if one else NO_VOTE for one in own]
            is_right = [bool(one and one.success) for one in own]
            votes = [
                self._form.majority_right([results[place] for place in group], [is_right[place] for place in group])
                for group in _groups(len(own), k, f"{self._resampling.seed} {task}")
            ]
            known = [vote for vote in votes if vote is not None]
            if len(known) < len(votes):
                return None
            values.append([fmean(known)])
        return over_tasks(values, self._resampling)


def _groups(n: int, k: int, seed: str) -> list[Sequence[int]]:
    """Return all groups of k of n attempts, or so many drawn ones."""
    if comb(n, k) <= MAX_GROUPS:
        return list(combinations(range(n), k))
    rng = Random(seed)
    return [rng.sample(range(n), k) for _ in range(MAX_GROUPS)]


def _by_arm(files: Sequence[ScoredFile], expected: Mapping[str, str]) -> dict[str, dict[str, TaskScores]]:
    """Return arm -> task -> attempts: expected tasks in their order, whether there is an attempt or not."""
    found: dict[str, dict[str, TaskScores]] = {}
    for file in files:
        own: dict[str, dict[str, list[ScoredAttempt]]] = {}
        for one in file.attempts:
            own.setdefault(one.attempt.arm or file.arm, {}).setdefault(one.attempt.task_id, []).append(one)
        for arm, tasks in own.items():
            scores = found.setdefault(arm, {task: TaskScores() for task in expected})
            for task, attempts in tasks.items():
                scores.setdefault(task, TaskScores()).attempts += attempts
            n_samples = max(map(len, tasks.values()))
            for task in expected.keys() - tasks.keys():
                scores[task].n_missing += 1
                scores[task].n_wrong += n_samples
    return found


def _logged(by_arm: Mapping[str, Mapping[str, TaskScores]], main: str, missing: str) -> Samples:
    """Return the attempts as samples of a log, by which arms are compared."""
    samples = []
    for arm, tasks in by_arm.items():
        for task, scores in tasks.items():
            for number, one in enumerate(scores.counted(missing), 1):
                score = SampleScore(0.0, 0.0) if one is None else SampleScore(one.scores.get(main), one.success)
                samples.append(TaskSample(task, arm, str(number), {main: score}))
            samples += [
                TaskSample(task, arm, f"{one.error} {number}", {}, error=one.error)
                for number, one in enumerate(scores.attempts, 1)
                if one.error
            ]
    return Samples(parts={arm: {"arm": arm} for arm in by_arm}, samples=samples, score=main)


def _values(counted: Sequence[ScoredAttempt | None], name: str) -> list[float]:
    """Return a score of each attempt that has it. A missing attempt has 0."""
    scores = [0.0 if one is None else one.success if name == SUCCESS else one.scores.get(name) for one in counted]
    return [score for score in scores if score is not None]


def _mean_over_tasks(tasks: Sequence[Sequence[ScoredAttempt | None]], name: str) -> float | None:
    means = [fmean(own) for one in tasks if (own := _values(one, name))]
    return fmean(means) if means else None


def _reasons(files: Sequence[ScoredFile]) -> str:
    said = [problem for one in files for problem in one.file.problems]
    said += [f"{one.file.path}: no task {name!r}" for one in files for name in one.file.unknown]
    said += [f"{one.attempt.place}: {one.message}" for file in files for one in file.attempts if one.error]
    return "".join(f"; {reason}" for reason in said[:3])


def _attempt_json(one: ScoredAttempt) -> dict[str, Any]:
    said = {"result": one.result, "verdict": one.verdict, "message": one.message, "error": one.error}
    return {
        "place": one.attempt.place,
        SUCCESS: one.success,
        **one.scores,
        **{name: text for name, text in said.items() if text},
        **({"n_unused": one.n_unused} if one.n_unused else {}),
    }


def _arm_json(one: ArmScores, figures: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: figures[name] for name in ("success", "pass_at", "pass_hat", "n_tasks", "n_samples")}
    return {
        **kept,
        "majority_at": {k: mean._asdict() for k, mean in one.majority_at.items()},
        "scores": {name: mean._asdict() for name, mean in one.scores.items()},
        "by_difficulty": {
            level: {"n": summary.n, "success": summary.success, "main": summary.progress}
            for level, summary in one.by_difficulty.items()
        },
        "n_attempts": one.n_attempts,
        "n_missing": one.n_missing,
        "missing": list(one.missing),
        "errors": dict(one.errors),
        "verdicts": dict(one.verdicts),
        "n_unused": one.n_unused,
    }

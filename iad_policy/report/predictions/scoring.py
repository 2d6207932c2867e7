"""Figures of scored attempts: means with intervals, votes, and paired differences between arms."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from random import Random
from statistics import fmean
from typing import Any

from iad_policy.errors import UnknownName
from iad_policy.ledger.predictions.formats import SUCCESS, PredictionFormat
from iad_policy.ledger.predictions.prediction_files import PredictionFile, RecordedAttempt
from iad_policy.report.compare import ArmFigures, Comparison, TaskMean, compare, over_tasks
from iad_policy.report.metrics import UNMARKED, LevelSummary, from_easy_to_hard
from iad_policy.report.samples import ID, REWARD, CountingRules, Samples, SampleScore, TaskSample

WRONG, LEFT_OUT = MISSING_RULES = ("wrong", "left-out")
"""How a task without a prediction counts: as a wrong answer, as officially in BIRD, or not at all."""
UNFINISHED = "unfinished"
"""Verdict of an attempt whose actions end before the episode."""


@dataclass(frozen=True, slots=True)
class ScoredAttempt:
    """A scored attempt.

    Attributes:
        attempt: The attempt.
        success: Success as 1.0 or 0.0. None if it is not known.
        scores: Name -> score: progress, reward, grounding, and the parts of the reward.
        result: Name of the result, for votes; "" for none.
        verdict: The verdict in a word, or why the episode ended: `done`, `max_steps` ...; `unfinished` if the actions
            end before it.
        message: Explanation of the scores, if there is one.
        n_unused: Actions after the end of the episode.
        error: Kind of the failure because of which there are no scores, "" for none.
    """

    attempt: RecordedAttempt
    success: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    result: str = ""
    verdict: str = ""
    message: str = ""
    n_unused: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """How attempts count and are compared.

    Attributes:
        missing: How a task without a prediction counts, one of `MISSING_RULES`.
        baseline: Arm to compare with; "" for the first.
        ks: Numbers of attempts for pass@k, pass^k and votes. If empty: 2, 4, 8 ... and the largest that all arms have.
    """

    missing: str = WRONG
    baseline: str = ""
    ks: Sequence[int] = ()

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
        whole, arms = self.comparison.as_json(), {}
        for arm, one in self.arms.items():
            figures = whole["arms"][arm]
            arms[arm] = {
                **{name: figures[name] for name in ("success", "pass_at", "pass_hat", "n_tasks", "n_samples")},
                "majority_at": {k: mean._asdict() for k, mean in one.majority_at.items()},
                "scores": {name: mean._asdict() for name, mean in one.scores.items()},
                "by_difficulty": {
                    level: {"n": summary.n, "success": summary.success, "main": summary.progress}
                    for level, summary in one.by_difficulty.items()
                },
                **{name: getattr(one, name) for name in ("n_attempts", "n_missing", "missing", "errors", "verdicts")},
                "n_unused": one.n_unused,
            }
        return {
            "missing": self.missing,
            "n_tasks": len(self.difficulties),
            "main": whole["score"],
            "arms": arms,
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
                attempts = []
                for tried in one.attempts:
                    said = {
                        name: getattr(tried, name) for name in ("result", "verdict", "message", "error", "n_unused")
                    }
                    known = {name: value for name, value in said.items() if value}
                    attempts.append({"place": tried.attempt.place, SUCCESS: tried.success, **tried.scores, **known})
                yield {
                    "task_id": task,
                    "arm": arm,
                    "difficulty": self.difficulties.get(task, ""),
                    "n_attempts": len(one.attempts),
                    "n_missing": one.n_missing,
                    **{name: fmean(own) if (own := _values(counted, name)) else None for name in names},
                    "attempts": attempts,
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
        said = [problem for one in files for problem in one.file.problems]
        said += [f"{one.file.path}: no task {name!r}" for one in files for name in one.file.unknown]
        said += [f"{one.attempt.place}: {one.message}" for file in files for one in file.attempts]
        reasons = "".join(f"; {reason}" for reason in said[:3])
        raise ValueError(f"expected predictions that can be scored, got none{reasons}; name other files")
    by_arm = _by_arm(files, difficulties)
    main = form.main if any(form.main in one.scores for one in scored) else REWARD
    samples = []
    for arm, tasks in by_arm.items():
        for task, scores in tasks.items():
            for place, one in enumerate(scores.counted(rules.missing), 1):
                score = SampleScore(0.0, 0.0) if one is None else SampleScore(one.scores.get(main), one.success)
                samples.append(TaskSample(task, arm, str(place), {main: score}))
            for place, tried in enumerate(scores.attempts, 1):
                if tried.error:
                    samples.append(TaskSample(task, arm, f"{tried.error} {place}", {}, error=tried.error))
    comparison = compare(
        Samples(parts={arm: {"arm": arm} for arm in by_arm}, samples=samples, score=main),
        CountingRules(score=main, pair_by=ID),
        baseline=rules.baseline,
        ks=rules.ks,
    )
    arms = {}
    for arm, tasks in by_arm.items():
        figures, tried_ones = comparison.arms[arm], [one for own in tasks.values() for one in own.attempts]
        counted = {task: own for task in sorted(tasks) if (own := tasks[task].counted(rules.missing))}
        names = dict.fromkeys(name for own in counted.values() for one in own if one for name in one.scores)
        values = {name: [known for own in counted.values() if (known := _values(own, name))] for name in names}
        majorities = {k: _majority(counted, k, form) for k in figures.pass_at}
        arms[arm] = ArmScores(
            figures=figures,
            scores={name: mean for name, own in values.items() if (mean := over_tasks(own))},
            by_difficulty=_by_difficulty(counted, difficulties, main),
            majority_at={k: mean for k, mean in majorities.items() if mean is not None},
            n_attempts=len(tried_ones),
            n_missing=sum(one.n_missing for one in tasks.values()),
            missing=[task for task, one in tasks.items() if not one.attempts],
            errors=dict(Counter(one.error for one in tried_ones if one.error)),
            verdicts=dict(Counter(one.verdict for one in tried_ones if one.verdict)),
            n_unused=sum(one.n_unused > 0 for one in tried_ones),
            tasks=tasks,
        )
    return PredictionScores(arms, comparison, [one.file for one in files], rules.missing, difficulties)


Counted = Sequence[ScoredAttempt | None]
"""A task's attempts that count, with None for a missing one."""


def _by_difficulty(
    counted: Mapping[str, Counted], difficulties: Mapping[str, str], main: str
) -> dict[str, LevelSummary]:
    by_level: dict[str, list[Counted]] = {}
    for task, own in counted.items():
        by_level.setdefault(difficulties.get(task, ""), []).append(own)
    if by_level.keys() <= {""}:
        return {}
    found = {}
    for level in from_easy_to_hard(by_level):
        known = [[values for one in by_level[level] if (values := _values(one, name))] for name in (SUCCESS, main)]
        means = (fmean(map(fmean, values)) if values else None for values in known)
        found[level or UNMARKED] = LevelSummary(len(by_level[level]), *means)
    return found


def _majority(counted: Mapping[str, Counted], k: int, form: PredictionFormat) -> TaskMean | None:
    """Return the mean over tasks of the votes of all groups of k attempts, or of 300 drawn ones; None for no votes."""
    values = []
    for task, own in counted.items():
        if len(own) < k:
            continue
        results = [(one and one.result) or "error" for one in own]  # which does not vote
        is_right = [bool(one and one.success) for one in own]
        groups: Iterable[Sequence[int]] = combinations(range(len(own)), k)
        if comb(len(own), k) > 300:
            rng = Random(f"0 {task}")
            groups = [rng.sample(range(len(own)), k) for _ in range(300)]
        votes = []
        for group in groups:
            vote = form.majority_right([results[place] for place in group], [is_right[place] for place in group])
            if vote is None:
                return None
            votes.append(vote)
        values.append([fmean(votes)])
    return over_tasks(values)


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


def _values(counted: Counted, name: str) -> list[float]:
    """Return a score of each attempt that has it. A missing attempt has 0."""
    scores = [0.0 if one is None else one.success if name == SUCCESS else one.scores.get(name) for one in counted]
    return [score for score in scores if score is not None]

"""Scoring whole prediction files: every pair by both rules, reported by difficulty, and voting over several systems."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isnan
from pathlib import Path
from typing import NamedTuple, TypeVar

from iad_envs.bird.data import BirdData
from iad_envs.bird.official import TIMEOUT_S
from iad_envs.bird.scoring import NO_GOLD, PairScore, QueryScorer

T = TypeVar("T")


class ScoringJob(NamedTuple):
    """All predictions for one question: the gold is run once for them."""

    path: Path
    gold: str
    predicted: Sequence[str]


class ReportRow(NamedTuple):
    """Means over the questions of one difficulty, in percent; None where there is none."""

    difficulty: str
    n: int
    ex: float | None
    soft_f1: float | None
    sound: float | None
    n_rejected: int


def run_jobs(
    jobs: Sequence[ScoringJob],
    score: Callable[[QueryScorer, str, str], T],
    *,
    workers: int = 1,
    timeout_s: float = TIMEOUT_S,
) -> list[list[T]]:
    """Return `score(scorer, predicted, gold)` for every prediction of every job, in order.

    Args:
        jobs: Jobs on the same database are best next to each other.
        score: Such as `QueryScorer.ex`.
        workers: Jobs scored side by side, each by a worker process of its own.
        timeout_s: For a pair.
    """
    results: list[list[T]] = [[] for _ in jobs]
    places = iter(range(len(jobs)))  # shared: whoever is free takes the next

    def work(_: int) -> None:
        scorer: QueryScorer | None = None
        try:
            for place in places:
                job = jobs[place]
                if scorer is None or scorer.path != job.path:
                    if scorer is not None:
                        scorer.close()
                    scorer = QueryScorer(job.path, timeout_s=timeout_s)
                results[place] = [score(scorer, sql, job.gold) for sql in job.predicted]
        finally:
            if scorer is not None:
                scorer.close()

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    return results


def evaluate(data: BirdData, predictions: Mapping[str, str], *, workers: int = 1) -> dict[str, PairScore]:
    """Return the scores of predictions by task id.

    Args:
        data: The split.
        predictions: SQL by task id; a missing one counts as a blank query.
        workers: Side by side.
    """
    asked = [question for question in data.questions.values() if question.task_id in data.golds]
    jobs = [
        ScoringJob(
            data.database(question.db_id), data.golds[question.task_id], [predictions.get(question.task_id, " ")]
        )
        for question in asked
    ]
    found = run_jobs(jobs, QueryScorer.score, workers=workers)
    scores = {question.task_id: scored[0] for question, scored in zip(asked, found, strict=True)}
    return {task_id: scores.get(task_id, NO_GOLD) for task_id in data.questions}


def report(data: BirdData, scores: Mapping[str, PairScore]) -> list[ReportRow]:
    """Return means by difficulty, looked up by question id, and over all; questions without gold are left out."""
    by_difficulty: dict[str, list[PairScore]] = {}
    for task_id, score in scores.items():
        if not isnan(score.ex):
            by_difficulty.setdefault(data.questions[task_id].difficulty or "unknown", []).append(score)
    every = [score for scored in by_difficulty.values() for score in scored]
    order = ["simple", "moderate", "challenging"]
    names = [*order, *sorted(by_difficulty.keys() - set(order))]
    rows = [_row(name, by_difficulty.get(name, ())) for name in names]
    return [*rows, _row("total", every)]


def _row(difficulty: str, scores: Sequence[PairScore]) -> ReportRow:
    def mean(values: Iterable[float]) -> float | None:
        return 100 * sum(values) / len(scores) if scores else None

    return ReportRow(
        difficulty,
        len(scores),
        mean(score.ex for score in scores),
        mean(score.soft_f1 for score in scores),
        mean(score.sound for score in scores),
        sum(score.verdict == "rejected" for score in scores),
    )


def majority_right(results: Sequence[str], is_right: Sequence[bool]) -> float:
    """Return the chance that the vote by result is right, ties broken by chance.

    Args:
        results: What names each sample's result: `error`, `timeout`, `limit` and `rejected` don't vote, `empty` only
            where nothing else does.
        is_right: Whether each sample is.
    """
    failed = ("error", "timeout", "limit", "rejected")
    voters = [place for place, result in enumerate(results) if result not in failed]
    voters = [place for place in voters if results[place] != "empty"] or voters
    votes = Counter(results[place] for place in voters)
    if not votes:
        return 0.0
    leading = [result for result, n in votes.items() if n == max(votes.values())]
    # Equal results are equally right, so any of them speaks for its group.
    right = [is_right[results.index(result)] for result in leading]
    return sum(right) / len(right)

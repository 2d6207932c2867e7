"""BIRD's prediction files, as submitted and as systems publish them, and how they are scored."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import gymnasium as gym

from iad_envs.bird import official
from iad_envs.bird.data import SEPARATOR, load_data
from iad_envs.bird.page import result_name
from iad_envs.bird.scoring import QueryScorer, ScoringJob, ScoringRule, reward_of, run_jobs
from iad_envs.errors import DataNotFound
from iad_envs.predictions import PredictedAnswer, ReadAnswers, ScoredAnswer

T = TypeVar("T")
BLANK = " "
"""What the official evaluator takes for a value that is no text."""


class Entry(NamedTuple):
    """A prediction before its question is known: its place for messages, the question's id or position, and queries."""

    place: str
    key: str
    is_id: bool
    queries: Sequence[Any]


class BirdPredictions:
    """Prediction files of BIRD.

    An object has SQL by question id or position, and an array of texts has it by position. Objects in an array, or on
    lines, name the question (`question_id`, `task_id` or `id`) and the SQL (`predicted_sql`, `sql`, `SQL` ...). If none
    of them names a question, they are read by position. A list of queries has several samples of one question. The
    database behind `----- bird -----` is not used.

    Args:
        env: The environment.
    """

    env_args: Mapping[str, Any] = {"scoring": "official"}
    headings: Mapping[str, str] = {"success": "EX", "soft_f1": "Soft-F1", "r_ves": "R-VES", "sound": "sound"}
    main = "soft_f1"
    suffix = ""
    missing_as = "BIRD's evaluator"

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        inner: Any = env.unwrapped
        given = {} if env.spec is None else env.spec.kwargs
        self._data = load_data(Path(inner.data.folder), inner.split)
        self._is_sqlite = given.get("dialect", "sqlite") == "sqlite"
        self._limit_s = float(given.get("score_limit_s", official.TIMEOUT_S))
        self._rule: ScoringRule = given.get("scoring", "ex")
        rules = {
            "official": "EX is the official verdict, also for queries that are rejected here, such as one that writes.",
            "ex": "EX is the official verdict, but 0 for what is not a single reading query.",
            "sound": "EX is by the rule `sound`: order, duplicates and a tolerance for numbers count.",
        }
        self.notes: Sequence[str] = (rules[self._rule],)

    def read(self, items: Sequence[tuple[str, int, str | None, Any]]) -> ReadAnswers:
        """Return the answers of a file."""
        problems: list[str] = []
        entries = list(_entries(items, problems))
        at = {str(position): task_id for position, task_id in enumerate(self._data.questions)}
        keys = [entry.key for entry in entries if not entry.is_id]
        by_position = sum(key in at for key in keys) > sum(key in self._data.questions for key in keys)
        answers, unknown, n_elsewhere = [], [], 0
        for place, key, is_id, queries in entries:
            task_id = at.get(key, "") if by_position and not is_id else key
            question = self._data.questions.get(task_id)
            if question is None:
                unknown.append(key)
                continue
            for query in queries:
                if not isinstance(query, str):
                    counted = "it counts as a blank query, as officially"
                    problems.append(f"{place}: expected SQL, got {query!r:.60}; {counted}")
                sql, _, db_id = (query if isinstance(query, str) else BLANK).partition(SEPARATOR)
                n_elsewhere += db_id.strip() not in ("", question.db_id)
                answers.append(PredictedAnswer(question.task_id, sql, f"submit[{sql}]", place))
        said = f"Predictions that name another database than their question's, which is used: {n_elsewhere}"
        return ReadAnswers(answers, problems, unknown, [said] if n_elsewhere else [])

    def score(
        self, answers: Sequence[tuple[str, str]], *, workers: int, timings: int, advance: Callable[[], object]
    ) -> list[ScoredAnswer] | None:
        """Return the scores of queries by the official rules and by our own, without the environment.

        Args:
            answers: Task id and query of each answer.
            workers: Number of worker processes that run queries.
            timings: How often a right query and its gold are run for R-VES (officially 100), 0 for no R-VES. Times are
                measured one by one.
            advance: Called after each answer.

        Raises:
            ValueError: R-VES is asked for on a server.
        """
        if not self._is_sqlite:
            if timings:
                raise ValueError("expected --r-ves for databases in SQLite, got a server; leave it out")
            return None

        def score(scorer: QueryScorer, sql: str, gold: str) -> ScoredAnswer:
            try:
                pair, result = scorer.judged(sql, gold)
            except OSError as error:  # the file is no database, or can't be opened
                return _unscored("database", str(error))
            finally:
                advance()
            scores = {"ex": pair.ex, "soft_f1": pair.soft_f1, "sound": pair.sound}
            scores["rejected"] = float(pair.verdict == "rejected")
            return ScoredAnswer(reward_of(pair, self._rule), scores, result_name(result), pair.verdict, pair.message)

        found: dict[int, ScoredAnswer] = {}
        for place, (task_id, _) in enumerate(answers):
            try:
                if task_id in self._data.golds:
                    self._data.database(self._data.questions[task_id].db_id)
                    continue
                found[place] = _unscored("no gold", "the question has no gold query")
            except DataNotFound as error:
                found[place] = _unscored("no database", str(error))
            advance()
        found |= self._run(answers, [place for place in range(len(answers)) if place not in found], score, workers)
        if timings:
            right = [place for place, one in found.items() if one.scores.get("ex")]
            rewards = self._run(answers, right, partial(QueryScorer.time_reward, iterations=timings), 1)
            for place, one in found.items():
                if not one.error:
                    r_ves = official.r_ves([rewards.get(place, 0.0)])
                    found[place] = one._replace(scores={**one.scores, "r_ves": r_ves})
            self.notes = (
                *self.notes,
                f"R-VES (at most 111.80, no percentage): measured here, each right query and its gold {timings} times. "
                "It depends on the machine and what else it does: compare R-VES only within one run.",
            )
        return [found[place] for place in range(len(answers))]

    def result_of(self, info: Mapping[str, Any]) -> str:
        """Return the name of the submitted query's result, "" without one."""
        kind, _, name = str(info["facts"]["result"]).partition(":")
        return name if kind == "submit" else ""

    @staticmethod
    def majority_right(results: Sequence[str], is_right: Sequence[bool]) -> float:
        """Return the probability that a majority vote over results is correct. Ties are broken at random.

        Args:
            results: Name of each sample's result. `error`, `timeout`, `limit` and `rejected` do not vote. `empty` votes
                only if there is no other vote.
            is_right: Whether each sample is correct.
        """
        failed = ("error", "timeout", "limit", "rejected")
        voters = [place for place, result in enumerate(results) if result not in failed]
        voters = [place for place in voters if results[place] != "empty"] or voters
        votes = Counter(results[place] for place in voters)
        leading = [result for result, n in votes.items() if n == max(votes.values())]
        # Equal results are equally correct, so any of them represents its group.
        right = [is_right[results.index(result)] for result in leading]
        return sum(right) / len(right) if right else 0.0

    def _run(
        self,
        answers: Sequence[tuple[str, str]],
        places: Sequence[int],
        score: Callable[[QueryScorer, str, str], T],
        workers: int,
    ) -> dict[int, T]:
        """Return `score(scorer, query, gold)` for the answers at these places, by place."""
        by_task: dict[str, list[int]] = {}
        for place in sorted(places, key=lambda place: self._data.questions[answers[place][0]].db_id):
            by_task.setdefault(answers[place][0], []).append(place)
        jobs = [
            ScoringJob(
                self._data.database(self._data.questions[task_id].db_id),
                self._data.golds[task_id],
                [answers[place][1] for place in own],
            )
            for task_id, own in by_task.items()
        ]
        results = run_jobs(jobs, score, workers=workers, timeout_s=self._limit_s)
        return {
            place: one
            for own, found in zip(by_task.values(), results, strict=True)
            for place, one in zip(own, found, strict=True)
        }


def _entries(items: Sequence[tuple[str, int, str | None, Any]], problems: list[str]) -> Iterator[Entry]:
    """Yield the predictions of a file. Items that are none are problems."""
    has_ids = any(isinstance(value, dict) and _id_of(value) is not None for *_, value in items)
    for place, position, key, value in items:
        named = str(position) if key is None else key
        if not isinstance(value, dict):
            yield Entry(place, named, False, value if isinstance(value, list) else [value])
            continue
        task = _id_of(value)
        names = ("predicted_sql", "pred_sql", "prediction", "pred", "sql", "SQL", "query")
        queries = next(([value[name]] for name in names if name in value), None)
        if queries is None or isinstance(task, bool) or not isinstance(task, str | int | None):
            problems.append(f"{place}: expected question_id and one of {', '.join(names)}, got {value!r:.60}")
            continue
        is_id = task is not None
        if has_ids and not is_id and key is None:
            problems.append(
                f"{place}: expected question_id, as other objects of the file have one, got {value!r:.60}; add it"
            )
            continue
        yield Entry(
            place, str(task) if is_id else named, is_id, queries[0] if isinstance(queries[0], list) else queries
        )


def _id_of(value: Mapping[str, Any]) -> Any:
    """Return what an object has as the id of its question, None without one."""
    return next((value[name] for name in ("question_id", "task_id", "id") if value.get(name) is not None), None)


def _unscored(kind: str, message: str) -> ScoredAnswer:
    return ScoredAnswer(None, {}, "", "", message, kind)

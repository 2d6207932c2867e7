"""Scores a prediction against a gold query, by the official rule and by a sound rule (`strict_match`).

The gold query runs separately and read-only, and its result is cached, so that a prediction can't change it. The
official evaluator lets predictions write. For such a prediction its procedure is repeated on a temporary copy:
`official` gives the verdict of the official evaluator, `sound` rejects the prediction, and the database is unchanged.
"""

import math
import shutil
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeVar

from iad_envs.bird import official
from iad_envs.bird import strict_match as sound
from iad_envs.bird.database import EXPLORING, SCORING, DatabaseClient, Queried, QueryResult
from iad_envs.bird.sql import is_volatile, refusal

T = TypeVar("T")
Row = tuple[Any, ...]
QueryVerdict = Literal["right", "wrong", "error", "timeout", "limit", "rejected", "no gold"]
ScoringRule = Literal["ex", "official", "sound"]
"""What the reward is: `ex` is the official EX with 0 for a rejected query, `official` is EX also for that one."""


class PairScore(NamedTuple):
    """The scores of a prediction.

    Attributes:
        ex: Official execution accuracy, 0 or 1. NaN without gold.
        soft_f1: Official Soft-F1, 0-1. NaN without gold.
        sound: Score by the sound rule, 0 or 1. NaN without gold.
        verdict: Verdict by the sound rule. `rejected` for anything but a single reading query.
        message: Explanation of a verdict other than right or wrong.
    """

    ex: float
    soft_f1: float
    sound: float
    verdict: QueryVerdict
    message: str


def reward_of(pair: PairScore, rule: ScoringRule) -> float:
    """Return the reward of a submitted query, 0 or 1. NaN without gold."""
    if pair.verdict == "rejected" and rule != "official":
        return 0.0
    return pair.sound if rule == "sound" else pair.ex


@dataclass(slots=True)
class Gold:
    """A gold query's result, prepared for comparisons.

    Attributes:
        result: The result.
        distinct: Its different rows.
        ranks: Sort key of each row, None if the query does not sort, `unknown` until somebody asks.
    """

    result: QueryResult
    distinct: frozenset[Row]
    ranks: tuple[Any, ...] | Literal["unknown"] | None = "unknown"


class GoldCache:
    """Cache of gold results, by database identity and query text. Thread-safe, bounded by the number of cells."""

    def __init__(self, max_cells: int = 4_000_000) -> None:
        self._max_cells = max_cells
        self._kept: OrderedDict[tuple[Any, ...], tuple[Gold, int]] = OrderedDict()
        self._n_cells = 0
        self._lock = Lock()

    def get(self, key: tuple[Any, ...]) -> Gold | None:
        """Return a cached result, or None."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def put(self, key: tuple[Any, ...], gold: Gold) -> None:
        """Add a result, and evict the oldest ones."""
        n_cells = 1 + sum(map(len, gold.result.rows[:1])) * len(gold.result.rows)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = gold, n_cells
                self._n_cells += n_cells
            while self._n_cells > self._max_cells and len(self._kept) > 1:
                self._n_cells -= self._kept.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._kept.clear()
            self._n_cells = 0


GOLDS = GoldCache()


def identity(path: Path) -> tuple[Any, ...]:
    """Return an identifier of a database file's content that is cheaper than a hash."""
    status = path.stat()
    return (str(path.resolve()), status.st_size, status.st_mtime_ns, status.st_ino)


class QueryScorer:
    """Scores predictions on one database.

    Args:
        path: The SQLite file. None for another kind of database, on which rejected queries score 0 by every rule.
        database: Worker to use. The caller must close it. By default the scorer starts its own.
        roomy: Worker with wider limits, for scoring. Only for another kind of database.
        timeout_s: Time limit in seconds for prediction, gold and comparison together (official: 30).
        golds: Cache of gold results.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        database: Queried | None = None,
        roomy: Queried | None = None,
        timeout_s: float = official.TIMEOUT_S,
        golds: GoldCache = GOLDS,
    ) -> None:
        self.path = path
        self.timeout_s = timeout_s
        self._owns_database = database is None
        if path is not None:
            self.database: Queried = database or DatabaseClient(path, EXPLORING)
            self._roomy: Queried = roomy or DatabaseClient(path, SCORING)
            self._identity = identity(path)
        elif database is not None and roomy is not None:
            self.database, self._roomy = database, roomy
            # Changes of a server's data can't be detected, so the cache lives as long as this scorer.
            self._identity = (object(),)
        else:
            raise ValueError("expected a path, or database and roomy, got neither; give one of them")
        self._golds = golds

    def ex(self, predicted: str, gold: str, result: QueryResult | None = None) -> int:
        """Return only the official EX. The arguments are those of `score`."""
        given = self._run(predicted, result)
        if given.status == "rejected":
            return int(self._replica(predicted, gold)[0])
        if given.status != "ok" or given.undecodable:
            return 0
        expected = self.gold(gold)
        return int(self._is_usable(expected, given) and expected.distinct == set(given.rows))

    def score(self, predicted: str, gold: str, result: QueryResult | None = None) -> PairScore:
        """Return all scores of a pair.

        Args:
            predicted: The query to score.
            gold: The gold query, or "".
            result: The prediction's result on `database`, if it was already executed.
        """
        if not gold:
            return PairScore(math.nan, math.nan, math.nan, "no gold", "the question has no gold query")
        return self.judged(predicted, gold, result)[0]

    def judged(self, predicted: str, gold: str, result: QueryResult | None = None) -> tuple[PairScore, QueryResult]:
        """Return all scores of a pair, and the prediction's result. The arguments are those of `score`."""
        given = self._run(predicted, result)
        if given.status == "rejected":
            ex, soft_f1 = self._replica(predicted, gold)
            return PairScore(ex, soft_f1, 0.0, "rejected", given.message), given
        return self.compared(predicted, gold, given), given

    def compared(self, predicted: str, gold: str, given: QueryResult) -> PairScore:
        """Return all scores of a given result. Only the gold query is executed."""
        expected = self.gold(gold)
        ex, soft_f1 = self._official(given, expected)
        if refused := refusal(predicted):
            return PairScore(ex, soft_f1, 0.0, "rejected", refused)
        if given.status != "ok":
            return PairScore(ex, soft_f1, 0.0, given.status, given.message)
        if expected.result.status != "ok":
            return PairScore(ex, soft_f1, 0.0, "error", f"the gold query failed: {expected.result.message}")
        if expected.ranks == "unknown":
            expected.ranks = self._ranks(gold, expected.result)
        is_right = sound.sound_match(given.rows, expected.result.rows, expected.ranks)
        return PairScore(ex, soft_f1, float(is_right), "right" if is_right else "wrong", "")

    def gold(self, sql: str) -> Gold:
        """Return a gold query's result. It is cached, unless it depends on time or chance."""
        key = (*self._identity, sql, self.timeout_s)
        kept = self._golds.get(key)
        if kept is None:
            result = self._run(sql)
            kept = Gold(result, frozenset(result.rows))
            if not is_volatile(sql):
                self._golds.put(key, kept)
        return kept

    def time_reward(self, predicted: str, gold: str, *, iterations: int) -> float:
        """Return R-VES's reward of a pair: 0 unless EX is 1 and the prediction only reads.

        Prediction and gold run alternately, each on a new connection. Cursor, execution and fetching are timed.
        """
        if refusal(predicted) or not self.ex(predicted, gold):
            return 0.0
        ratios = []
        for _ in range(iterations):
            times = [self._roomy.run(sql, self.timeout_s, fresh=True) for sql in (predicted, gold)]
            if any(result.status != "ok" for result in times):
                return 0.0
            ratios.append(times[1].seconds / times[0].seconds)
        return official.time_reward(official.time_ratio(ratios))

    def close(self) -> None:
        """End the workers. Closing twice is harmless."""
        self._roomy.close()
        if self._owns_database:
            self.database.close()

    def __enter__(self) -> "QueryScorer":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, sql: str, known: QueryResult | None = None) -> QueryResult:
        """Run a query within the official limits, which are wider than an agent's."""
        result = known or self.database.run(sql, self.timeout_s)
        was_short = known is not None and result.status == "timeout" and self.database.limits.seconds < self.timeout_s
        if result.status == "limit" or result.is_cut or was_short:
            result = self._roomy.run(sql, self.timeout_s)
            self._roomy.close()
            if result.is_cut:
                message = "the result is larger than can be compared"
                return result._replace(status="limit", message=message, rows=(), is_cut=False)
        return result

    def _official(self, given: QueryResult, expected: Gold) -> tuple[float, float]:
        if given.undecodable or not self._is_usable(expected, given):
            return 0.0, 0.0
        rows = expected.result.rows
        return float(expected.distinct == set(given.rows)), official.soft_f1(given.rows, rows)

    def _is_usable(self, expected: Gold, given: QueryResult) -> bool:
        gold = expected.result
        is_fine = gold.status == "ok" and not gold.undecodable and given.status == "ok"
        return is_fine and gold.seconds + given.seconds <= self.timeout_s

    def _ranks(self, sql: str, gold: QueryResult) -> tuple[Any, ...] | None:
        """Return the sort key of each row of a gold result, or None if the query does not sort."""
        query, places = sound.ranking_query(sql, gold.columns)
        if not places:
            return None
        rows = gold.rows
        if query:
            result = self._run(query)
            n = len(gold.columns)
            if tuple(row[:n] for row in result.rows) == gold.rows:
                rows = result.rows
        if rows and max(places) >= len(rows[0]):
            return tuple(range(len(rows)))  # the sort keys can't be determined, so the gold's own order counts
        return tuple(tuple(row[place] for place in places) for row in rows)

    def _replica(self, predicted: str, gold: str) -> tuple[float, float]:
        """Return EX and Soft-F1 by the official procedure, which allows writes, on a copy of the database."""
        if self.path is None:
            return 0.0, 0.0
        with TemporaryDirectory(prefix="iad-bird-") as folder:
            copy = Path(folder) / self.path.name
            shutil.copyfile(self.path, copy)
            with DatabaseClient(copy, SCORING, writable=True) as database:
                given = database.run(predicted, self.timeout_s)
                expected = database.run(gold, max(0.0, self.timeout_s - given.seconds))
        return self._official(given, Gold(expected, frozenset(expected.rows)))


class ScoringJob(NamedTuple):
    """Predictions for one question. The gold query is run once for all of them."""

    path: Path
    gold: str
    predicted: Sequence[str]


def run_jobs(
    jobs: Sequence[ScoringJob],
    score: Callable[[QueryScorer, str, str], T],
    *,
    workers: int = 1,
    timeout_s: float = official.TIMEOUT_S,
) -> list[list[T]]:
    """Return `score(scorer, predicted, gold)` for every prediction of every job, in order.

    Args:
        jobs: The jobs. For speed, put jobs on the same database next to each other.
        score: Scoring function, for example `QueryScorer.ex`.
        workers: Number of jobs scored in parallel, each in its own worker process.
        timeout_s: Time limit in seconds for a pair of prediction and gold.
    """
    results: list[list[T]] = [[] for _ in jobs]
    places = iter(range(len(jobs)))  # shared: the next free worker takes the next job

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
        try:
            list(pool.map(work, range(workers)))
        finally:
            for _ in places:  # after an error or a Ctrl-C, no worker takes another job
                pass
    return results

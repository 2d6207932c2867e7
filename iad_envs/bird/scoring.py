"""Scores a prediction against a gold query, by the official rule and by a sound rule (`strict_match`).

The gold query runs separately and read-only, and its result is cached, so that a prediction can't change it. The
official evaluator lets predictions write. For such a prediction its procedure is repeated on a temporary copy:
`official` gives the verdict of the official evaluator, `sound` rejects the prediction, and the database is unchanged.
"""

import math
import shutil
from collections import OrderedDict
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from types import TracebackType
from typing import Any, Literal, NamedTuple

from iad_envs.bird import official
from iad_envs.bird import strict_match as sound
from iad_envs.bird.database import EXPLORING, SCORING, DatabaseClient, Queried, QueryResult
from iad_envs.bird.sql import is_volatile, refusal

Row = tuple[Any, ...]
MAX_CELLS_KEPT = 4_000_000
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


NO_GOLD = PairScore(math.nan, math.nan, math.nan, "no gold", "the question has no gold query")


class Gold(NamedTuple):
    """A gold query's result, prepared for comparisons."""

    result: QueryResult
    distinct: frozenset[Row]


class GoldCache:
    """Cache of gold results, by database identity and query text. Thread-safe, bounded by the number of cells."""

    def __init__(self, max_cells: int = MAX_CELLS_KEPT) -> None:
        self._max_cells = max_cells
        self._kept: OrderedDict[tuple[Any, ...], Gold] = OrderedDict()
        self._ranks: dict[tuple[Any, ...], tuple[Any, ...] | None] = {}
        self._n_cells = 0
        self._lock = Lock()

    def get(self, key: tuple[Any, ...]) -> Gold | None:
        """Return a cached result, or None."""
        return self._kept.get(key)

    def put(self, key: tuple[Any, ...], gold: Gold) -> None:
        """Add a result, and evict the oldest ones."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = gold
                self._n_cells += _cells(gold)
            while self._n_cells > self._max_cells and len(self._kept) > 1:
                old, gone = self._kept.popitem(last=False)
                self._ranks.pop(old, None)
                self._n_cells -= _cells(gone)

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._kept.clear()
            self._ranks.clear()
            self._n_cells = 0

    def ranks(self, key: tuple[Any, ...]) -> tuple[Any, ...] | Literal["unknown"] | None:
        """Return the cached sort keys of a result's rows."""
        return self._ranks.get(key, "unknown")

    def put_ranks(self, key: tuple[Any, ...], ranks: tuple[Any, ...] | None) -> None:
        """Add the sort keys of a cached result's rows."""
        if key in self._kept:
            self._ranks[key] = ranks


def _cells(gold: Gold) -> int:
    return 1 + sum(map(len, gold.result.rows[:1])) * len(gold.result.rows)


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
            self.database, self._roomy = (
                database or DatabaseClient(path, EXPLORING),
                roomy or DatabaseClient(path, SCORING),
            )
            self._identity = identity(path)
        elif database is not None and roomy is not None:
            self.database, self._roomy = database, roomy
            self._identity = (
                object(),
            )  # changes of a server's data can't be detected, so the cache lives as long as this scorer
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
        return self.judged(predicted, gold, result)[0] if gold else NO_GOLD

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
        is_right = sound.sound_match(given.rows, expected.result.rows, self._ranks(gold, expected))
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

    def time_reward(self, predicted: str, gold: str, *, iterations: int = official.R_VES_ITERATIONS) -> float:
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    def _ranks(self, sql: str, expected: Gold) -> tuple[Any, ...] | None:
        key = (*self._identity, sql, self.timeout_s)
        known = self._golds.ranks(key)
        if known == "unknown":
            known = self._computed_ranks(sql, expected.result)
            self._golds.put_ranks(key, known)
        return known

    def _computed_ranks(self, sql: str, gold: QueryResult) -> tuple[Any, ...] | None:
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

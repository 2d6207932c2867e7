"""Predicts success and spending of each strategy and n on further tasks like those of a pilot.

Four sources, each named in the table:

- `pilot`: n within the pilot. What the episodes or their attempts gave, task by task.
- `between`: n between two that were run, where only whole episodes are known: on a straight line over log n.
- `model`: larger n, where a task takes one decision. Success with all n of the pilot changed by so much from that with
  half of them. It changes further by .5 to 1.1 times as much per doubling of n, on the complementary log-log scale.
  Attempts that are right equally often at all tasks change by as much. Where tasks differ, easy ones are solved first,
  and it is less. Two votes elect nothing, so that of votes is the change from n = 1, and they change by up to 1.6 times
  as much.
- `trend`: larger n, where it takes several, or is solved more or less well. From no further change to the same change
  per doubling of n, on the scale of log odds.

In both, each draw takes its own share of the last change.

Which tasks the pilot happens to have is drawn, too (the Bayesian bootstrap, Rubin 1981, with one more task that is half
right), the same in all rows. So differences between rows are paired. Each row solves its own part of the one more task.
Without that, an option that won one task of the pilot and lost none would be better for sure.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_policy.report.advice.pilot import Pilot, PilotAttempt, PilotLine
from iad_policy.report.advice.within import METHODS, first
from iad_policy.report.samples import SUCCESS
from iad_policy.report.statistics import CONFIDENCE, Interval
from iad_policy.types.hashing import seed_of

Array = NDArray[np.float64]

N_DRAWS = 800
NS = (2, 4, 8, 16)
LARGEST_N = 256
"""Largest n that is predicted. No pilot says anything of more."""
PILOT, BETWEEN, MODEL, TREND = "pilot", "between", "model", "trend"


class RunnableOption(NamedTuple):
    """What could be run: a row of the pilot, and n."""

    line: str
    n: int


@dataclass(frozen=True)
class OptionForecast:
    """One option on further tasks.

    Attributes:
        success: Expected success.
        success_95: 95 % interval of the success that so many further tasks will show.
        spent: Expected spending of an episode.
        spent_95: 95 % interval of the mean spending that so many further tasks will show.
        source: `pilot`, `between`, `model` or `trend`.
        rates: Draws of the success over all tasks like the pilot's.
        costs: Draws of the spending.
        by_task: Expected success at each of the pilot's tasks. Beyond the pilot it is that with the largest n, moved
            to the mean that is predicted.
        grain: The pilot's.
        calls: Expected calls of an episode: proposals, verdicts and texts of roles. NaN where they are not known.
    """

    success: float
    success_95: Interval
    spent: float
    spent_95: Interval
    source: str
    rates: Array = field(repr=False, compare=False)
    costs: Array = field(repr=False, compare=False)
    by_task: Array = field(repr=False, compare=False)
    grain: float = 1.0
    calls: float = math.nan


def predict(
    pilot: Pilot, *, n_tasks: int | None = None, ns: Sequence[int] = NS, seed: int = 0
) -> dict[RunnableOption, OptionForecast]:
    """Return what each row of the pilot would give with each n, in the order of the rows.

    Args:
        pilot: The pilot.
        n_tasks: Number of further tasks; by default as many as the pilot has.
        ns: Numbers of proposals, besides those of the pilot.
        seed: Seed of the draws.

    Raises:
        ValueError: An n or the number of tasks is below 1, or an n is above `LARGEST_N`.
    """
    if min(ns, default=1) < 1:
        raise ValueError(f"expected n of 1 or more, got {min(ns)}")
    if max(ns, default=1) > LARGEST_N:
        raise ValueError(f"expected n of at most {LARGEST_N}, got {max(ns)}; a pilot says nothing of more")
    if n_tasks is not None and n_tasks < 1:
        raise ValueError(f"expected 1 further task or more, got {n_tasks}; leave it out for as many as the pilot has")
    predicting = _Predicting(pilot, n_tasks or len(pilot.tasks), seed)
    found = {}
    for name, line in pilot.lines.items():
        for n in sorted({*line.success, *(ns if line.strategy != "single" else ())}):
            one = predicting.option(name, n)
            if one is not None:
                found[RunnableOption(name, n)] = one
    return found


class _Predicting:
    """Draws of one pilot."""

    def __init__(self, pilot: Pilot, n_tasks: int, seed: int) -> None:
        self._pilot = pilot
        self._n_tasks = n_tasks
        self._seed = seed
        weights = self._rng("tasks").dirichlet(np.ones(len(pilot.tasks) + 1), size=N_DRAWS)
        self._weights, self._one_more = weights[:, :-1], weights[:, -1]
        independent = [one for one in pilot.lines.values() if one.strategy in ("bon", "bon-sc")]
        self._independent = max(independent, key=_n_attempts, default=PilotLine("", "", {}, {}))
        self._reference = next((one for one in pilot.lines.values() if one.strategy == "single"), None)

    def option(self, name: str, n: int) -> OptionForecast | None:
        """Return the prediction of a row with one n, or None if nothing can be said of it."""
        line = self._pilot.lines[name]
        is_read = line.strategy in METHODS and _n_attempts(line) > 0
        points = {} if is_read else self._points({one: own for one, (own, _) in self._measured(line).items()})
        ns: Sequence[int] = range(1, _n_attempts(line) + 1) if is_read else sorted(points)
        last = ns[-1]
        if n < ns[0] or (n > last and len(ns) == 1):
            return None

        def at(one: int) -> Array:
            return self._within(line, one) if is_read else _between(points, one, np.log2)

        by_task = at(min(n, last))
        rates, source = self._rates(name, n, by_task), PILOT if n in ns else BETWEEN
        if n > last:
            is_vote = line.strategy == "bon-sc"
            before = (1 if is_vote else (last + 1) // 2) if is_read else ns[-2]
            both = [self._rates(name, last, at(one)) for one in (before, last)]
            # How attempts that are right or wrong go on is known; how grades do is not.
            is_modelled = is_read and self._pilot.metric == SUCCESS
            share, n_changes = self._rng("trend").random(N_DRAWS), np.log2(n / last) / np.log2(last / before)
            if is_modelled:
                low, high = (np.log(-np.log1p(-np.clip(one, 1e-3, 1 - 1e-3))) for one in both)
                rates = -np.expm1(-np.exp(high + (0.5 + (1.1 if is_vote else 0.6) * share) * (high - low) * n_changes))
            else:
                low, high = (np.log(odds / (1 - odds)) for odds in np.clip(both, 1e-3, 1 - 1e-3))
                rates = 1 / (1 + np.exp(-(high + share * (high - low) * n_changes)))
            source = MODEL if is_modelled else TREND
        rates = np.clip(rates, 0.0, 1.0)
        if n > last:
            by_task = _moved(by_task, float(rates.mean()))
        spent, tail = self._spent(line, n), (1 - CONFIDENCE) / 2
        if self._pilot.metric == SUCCESS:
            shown = self._rng("shown").binomial(self._n_tasks, rates) / self._n_tasks
        else:
            error = np.sqrt(self._pilot.grain * rates * (1 - rates) / self._n_tasks)
            shown = np.clip(rates + error * self._rng("shown").standard_normal(N_DRAWS), 0.0, 1.0)
        weights = self._weights / self._weights.sum(axis=1, keepdims=True)
        costs = weights @ spent
        spread = np.sqrt(np.maximum(weights @ spent**2 - costs**2, 0.0) / self._n_tasks)
        totals = np.maximum(costs + spread * self._rng("spent").standard_normal(N_DRAWS), 0.0)
        return OptionForecast(
            float(rates.mean()),
            Interval(*map(float, np.quantile(shown, [tail, 1 - tail]))),
            float(spent.mean()),
            Interval(*map(float, np.quantile(totals, [tail, 1 - tail]))),
            source,
            rates,
            costs,
            by_task,
            self._pilot.grain,
            float(self._spent(line, n, "calls").mean()) if line.calls else math.nan,
        )

    def _within(self, line: PilotLine, n: int) -> Array:
        """Return the expected success at each task with n that the attempts allow."""
        found = self._each(line, lambda own: METHODS[line.strategy](own, min(n, len(own))))
        if line.strategy in ("bon", "bon-sc") or not self._independent.attempts:
            return found
        pairs = [
            (one[0], other[0])
            for task in self._pilot.tasks
            for one, other in zip(line.attempts[task], self._independent.attempts[task], strict=False)
            if one and other
        ]
        if not pairs or any(one.key != other.key for one, other in pairs):
            return found
        # Its first attempts are a part of the independent ones. Where they were lucky by chance, so was it.
        luck = self._each(line, lambda own: own[0].value) - self._each(self._independent, lambda own: first(own, 1))
        spread = float(np.var(luck))
        slope = float(np.cov(luck, found, bias=True)[0, 1]) / spread if spread > 0 else 0.0
        return found - min(1.0, max(0.0, slope)) * luck

    def _each(self, line: PilotLine, value: Callable[[Sequence[PilotAttempt]], float]) -> Array:
        """Return the mean of a value over the episodes of each task; an episode without an attempt has failed."""
        of_tasks = (line.attempts[task] for task in self._pilot.tasks)
        return np.array([np.mean([value(own) if own else 0.0 for own in episodes]) for episodes in of_tasks])

    def _spent(self, line: PilotLine, n: int, of: str = "spent") -> Array:
        """Return the spending (or `calls`) at each task: on a straight line between two n, and beyond the last one.

        Below the first n, and with one n only, it is proportional to n.
        """
        points = self._points({one: spent for one, (_, spent) in self._measured(line, of).items()})
        ns = sorted(points)
        if len(ns) == 1 or n < ns[0]:
            return points[ns[0]] * n / ns[0]
        if n <= ns[-1]:
            return _between(points, n, float)
        before, last = ns[-2:]
        return points[last] + (points[last] - points[before]) / (last - before) * (n - last)

    def _measured(
        self, line: PilotLine, of: str = "spent"
    ) -> dict[int, tuple[Mapping[str, float], Mapping[str, float]]]:
        """Return success and spending of each n that was run, and of the reference where that is n = 1."""
        found = {n: (line.success[n], getattr(line, of)[n]) for n in line.success}
        reference = self._reference
        if 1 not in found and reference is not None and line.starts_at_reference:
            least = min(line.success)
            # Its one proposal would be checked, too.
            checking = line.checking.get(least, {}) if of == "spent" else {}
            spent = {task: one + checking.get(task, 0.0) / least for task, one in getattr(reference, of)[1].items()}
            found[1] = reference.success[1], spent
        return found

    def _points(self, values: Mapping[int, Mapping[str, float]]) -> dict[int, Array]:
        return {n: np.array([own[task] for task in self._pilot.tasks]) for n, own in values.items()}

    def _rates(self, name: str, n: int, by_task: Array) -> Array:
        part = self._rng(f"one more {name} {n}").beta(0.5, 0.5, size=N_DRAWS)
        found: Array = self._weights @ by_task + self._one_more * part
        return found

    def _rng(self, purpose: str) -> np.random.Generator:
        return np.random.default_rng(seed_of("advice", self._seed, purpose))


def _n_attempts(line: PilotLine) -> int:
    """Return how many attempts every episode of a row has; a chain that stopped early counts as the longest."""
    return max((len(own) for episodes in line.attempts.values() for own in episodes), default=0)


def _between(points: Mapping[int, Array], n: int, scale: "type[float] | np.ufunc") -> Array:
    """Return the values at n, on a straight line between the two points around it on a scale of n."""
    if n in points:
        return points[n]
    ns = sorted(points)
    above = next(one for one in ns if one > n)
    below = max(one for one in ns if one < n)
    share = (scale(n) - scale(below)) / (scale(above) - scale(below))
    return points[below] + share * (points[above] - points[below])


def _moved(by_task: Array, mean: float) -> Array:
    """Return success by task with another mean: a share of the tasks that fail is solved, or of the solved ones lost.

    Easy tasks stay easy. If all had the mean, two options would seem to disagree on far more tasks than they do.
    """
    now = float(by_task.mean())
    if mean >= now:
        return by_task + (mean - now) / (1 - now) * (1 - by_task) if now < 1 else by_task
    return by_task * (mean / now)

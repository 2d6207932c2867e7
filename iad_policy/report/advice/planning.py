"""Turns a pilot into the plan of `adaptive`, by backward induction.

A decision goes by the verdicts on all candidates so far, as it will commit by them. What it would have come to is read
off the pilot: its attempts, judged together, in several orders (`paths`). A state is the range of the incumbent's
score, the number of samples and that of refinements. How often the incumbent is right there, and where one more
proposal leads, are counted over the paths; a state that few tasks reach is drawn towards all states of its range.
So a low score after many samples, or after refinements in vain, counts as what it was at the pilot's tasks.

From the last proposal backwards, each state takes what is worth most: to stop, which gives the worth of a success times
its chance, or the state after a sample or a refinement, less what that costs. A plan goes no further than its pilot.

What a plan gives is measured on tasks that it was not made of: it is made again without a part of them, and walks their
paths. It refines only if it gains from that there.

Where tasks take several decisions no candidate has a result of its own. There the plan is one of the pilot's rows,
`bon` or `iad` with one of their n, by what whole episodes gave and spent; it refines under the same condition.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_policy.report.advice.paths import PilotPath
from iad_policy.report.advice.pilot import Pilot, PilotLine
from iad_policy.report.curves import usage_on
from iad_policy.types.plan import REFINE, SAMPLE, STOP, AdaptivePlan, refinement_of

Array = NDArray[np.float64]
At = tuple[int, int]
"""Numbers of samples and of refinements."""

N_RANGES = 7
"""Most ranges of scores. More are too thin for a pilot."""
LEAST_IN_RANGE = 6
LEAST_OPEN = 30
"""Fewest refinements of wrong incumbents, or whole episodes, from which the use of refining can be told."""
STRENGTH = 4.0
"""How many tasks all states of a range count as, beside the tasks of one state."""
N_PARTS = 10
"""Parts of the tasks, each of which is walked by a plan made of the others."""
SURE = 1.04
"""Standard errors by which refining must gain: the lower 15 % of a normal distribution."""
CLOSE = 1.02
"""Ratio of two worths that are as good as equal."""
STEPS: Mapping[str, At] = MappingProxyType({SAMPLE: (1, 0), REFINE: (0, 1)})


class PlanSettings(NamedTuple):
    """What a plan is for.

    Attributes:
        worth: What a success is worth, on the pilot's axis; None to keep to a mean spending.
        spending: Mean spending of a decision to keep to; None for that of the pilot's `bon`.
        n: Most proposals of a decision; None for as many as the pilot's samples and refinements.
    """

    worth: float | None = None
    spending: float | None = None
    n: int | None = None


class PlannedTables(NamedTuple):
    """What decisions follow.

    Attributes:
        worth: What a success is worth.
        dear: Samples and refinements -> a letter for each range.
        cheap: What the other decisions follow.
        share: Share of the decisions that follow `dear`.
    """

    worth: float
    dear: Mapping[At, str]
    cheap: Mapping[At, str]
    share: float = 1.0


def plan_of(pilot: Pilot, settings: PlanSettings, options: Mapping[str, Any] = MappingProxyType({})) -> AdaptivePlan:
    """Return the plan that a pilot leads to.

    Args:
        pilot: The pilot, read with its paths. Its `bon` gives the samples, its `iad` the refinements; without that,
            nothing is refined.
        settings: What it is for.
        options: The options of its `iad`.

    Raises:
        ValueError: The pilot has no scored samples whose result is known, or a setting is out of range.
    """
    if settings.worth is not None and settings.spending is not None:
        raise ValueError("expected what a success is worth, or a mean spending, got both; leave one out")
    for name in ("worth", "spending"):
        if (given := getattr(settings, name)) is not None and not 0 < given < math.inf:
            raise ValueError(f"expected a {name} above 0, got {given}")
    if settings.n is not None and settings.n < 1:
        raise ValueError(f"expected n of 1 or more, got {settings.n}")
    sampled, refined = pilot.planned_lines
    if sampled is None or (pilot.one_decision and not pilot.paths):
        raise ValueError(
            "expected a pilot with bon and a verifier that can be asked again, got one without; without a plan "
            "adaptive samples until the verifier passes a candidate or the votes are settled"
        )
    told: dict[str, Any] = {"env": pilot.env, "agent": pilot.agent, "verifier": sampled.verifier, "axis": pilot.axis}
    told |= refinement_of(options)
    if not pilot.one_decision:
        return _of_episodes(pilot, settings, told)
    costs = _costs(sampled, refined)
    spending = settings.spending or sampled.n * costs[SAMPLE]
    n = settings.n or sampled.n + (refined.n - 1 if refined else 0)
    whole = _Walks([pilot.paths[task] for task in pilot.tasks], costs, n)

    def found(walks: _Walks, moves: str) -> PlannedTables:
        if settings.worth is None:
            return walks.for_spending(moves, spending)
        table = walks.table(moves, settings.worth)
        return PlannedTables(settings.worth, table, table)

    def chain(walks: _Walks) -> PlannedTables:
        return walks.chain(settings.worth, spending)

    tables, gain, error, why = found(whole, SAMPLE), 0.0, 0.0, ""
    given = whole.elsewhere(lambda walks: found(walks, SAMPLE))
    if refined is None:
        why = "the pilot has no iad with this verifier"
    elif whole.n_open < LEAST_OPEN:
        why = f"the pilot has {whole.n_open} refinements of wrong attempts; it takes {LEAST_OPEN} to tell"
    else:
        refining = whole.elsewhere(lambda walks: found(walks, SAMPLE + REFINE))
        gain, error = _gain(refining, given, settings.worth)
        if gain > SURE * error:
            tables, given = found(whole, SAMPLE + REFINE), refining
            # Where scores tell little a table follows noise, and `iad` with all its refinements may do better.
            chained = whole.elsewhere(chain)
            if _gain(chained, refining, settings.worth)[0] > 0 and (whole_chain := chain(whole)).dear:
                tables, given = whole_chain, chained
        else:
            why = f"on tasks it was not made of, a plan that refines gains {gain:+.3f}: no clear gain"
    success, spent = map(float, given.mean(axis=0))
    return AdaptivePlan(
        **told,
        worth=tables.worth,
        n=n,
        edges=whole.edges,
        rows=_reachable(tables.dear),
        cheaper=_reachable(tables.cheap) if tables.share < 1 else {},
        share=tables.share,
        success=success,
        spent=spent,
        pilot=_told_of(pilot, costs, gain, error),
        only_samples=why,
    )


def _gain(refining: Array, sampling: Array, worth: float | None) -> tuple[float, float]:
    """Return what refining gains in success per decision, less its price, and the standard error over tasks.

    Without a worth both keep to the same spending.
    """
    gains = refining - sampling
    gains = gains[:, 0] - (gains[:, 1] / worth if worth else 0.0)
    return float(gains.mean()), float(gains.std(ddof=1) / math.sqrt(len(gains)))


def _told_of(pilot: Pilot, costs: Mapping[str, float], gain: float, error: float) -> dict[str, float]:
    """Return what the pilot was, as a plan has it."""
    return {
        "tasks": len(pilot.tasks),
        "spent": usage_on(pilot.usage, pilot.axis),
        "sample_costs": costs[SAMPLE],
        "refinement_costs": costs[REFINE],
        "gain_of_refining": gain,
        "standard_error": error,
        **pilot.usage.as_dict(),
    }


def _of_episodes(pilot: Pilot, settings: PlanSettings, told: Mapping[str, Any]) -> AdaptivePlan:
    """Return the plan of tasks that take several decisions: one of the rows of the pilot, for each decision alike."""
    sampled, refined = pilot.planned_lines
    assert sampled is not None
    rows: dict[tuple[str, int], Array] = {}
    for move, line in ((SAMPLE, sampled), (REFINE, refined)):
        for n in line.success if line else ():
            if line and n <= (settings.n or n):
                rows[move, n] = np.array([(line.success[n][task], line.spent[n][task]) for task in pilot.tasks])
    if not any(move == SAMPLE for move, _ in rows):
        raise ValueError(f"expected n of {min(sampled.success)} or more, the pilot's least, got {settings.n}")
    spending = settings.spending or float(rows[max(row for row in rows if row[0] == SAMPLE)][:, 1].mean())

    def best(moves: str, at: NDArray[np.bool_]) -> tuple[str, int]:
        """Return the row that is worth most, or the most successful that keeps to the spending; else the cheapest."""
        means = {row: own[at].mean(axis=0) for row, own in rows.items() if row[0] in moves}
        if settings.worth is not None:
            worth = settings.worth
            return max(means, key=lambda row: worth * means[row][0] - means[row][1])
        kept = [row for row, own in means.items() if own[1] <= 1.02 * spending]
        return max(kept, key=lambda row: means[row][0]) if kept else min(means, key=lambda row: means[row][1])

    def elsewhere(moves: str) -> Array:
        """Return success and spending of each task, with the row that is best at the other parts of the tasks."""
        found = np.zeros((len(pilot.tasks), 2))
        for part in range(N_PARTS):
            here = np.arange(len(pilot.tasks)) % N_PARTS == part
            if here.any():
                found[here] = rows[best(moves, here if here.all() else ~here)][here]
        return found

    given, everywhere, gain, error, why = elsewhere(SAMPLE), np.ones(len(pilot.tasks), dtype=bool), 0.0, 0.0, ""
    moves = SAMPLE
    if refined is None:
        why = "the pilot has no iad with this verifier"
    elif len(pilot.tasks) < LEAST_OPEN:
        why = f"the pilot has {len(pilot.tasks)} tasks; it takes {LEAST_OPEN} to tell"
    else:
        refining = elsewhere(SAMPLE + REFINE)
        gain, error = _gain(refining, given, settings.worth)
        if gain > SURE * error:
            moves, given = SAMPLE + REFINE, refining
        else:
            why = f"on tasks it was not made of, refining gains {gain:+.3f}: no clear gain"
    move, n = best(moves, everywhere)
    costs = {SAMPLE: _per_proposal(sampled), REFINE: _per_proposal(refined) if refined else 0.0}
    success, spent = map(float, given.mean(axis=0))
    return AdaptivePlan(
        **told,
        worth=settings.worth or 0.0,
        n=n,
        edges=(),
        # Where a refinement has nothing to go on it is a sample, so both numbers may grow.
        rows={f"{k},{j}": move for k in range(1, n) for j in range(n - k)},
        cheaper={},
        share=1.0,
        success=success,
        spent=spent,
        pilot=_told_of(pilot, costs, gain, error),
        only_samples=why,
    )


def _per_proposal(line: PilotLine) -> float:
    return float(np.mean(list(line.spent[line.n].values()))) / line.n


def ranges_of(paths: Sequence[Sequence[PilotPath]]) -> tuple[float, ...]:
    """Return the scores between which the share of right incumbents rises, ascending; equal scores stay together.

    The pools of isotonic regression, of which neighbours with the most similar shares are joined until there are at
    most `N_RANGES`, each with the weight of `LEAST_IN_RANGE` tasks or more. A task has the weight 1.

    Args:
        paths: The paths of each task.
    """
    by_score: dict[float, list[float]] = {}
    for task in paths:
        here = [found for path in task for found in path.values()]
        for score, is_right in here:
            own = by_score.setdefault(score, [0.0, 0.0])
            own[0] += 1 / len(here)
            own[1] += is_right / len(here)
    pools: list[list[float]] = []
    for score in sorted(by_score):
        n, n_right = by_score[score]
        pools.append([score, n, n_right])
        while len(pools) > 1 and (pools[-1][2] / pools[-1][1] <= pools[-2][2] / pools[-2][1]):
            _, n, n_right = pools.pop()
            pools[-1][1] += n
            pools[-1][2] += n_right

    def gap(place: int) -> float:
        one, two = pools[place - 1], pools[place]
        weight = one[1] * two[1] / (one[1] + two[1])
        return weight * (two[2] / two[1] - one[2] / one[1]) ** 2

    while len(pools) > 1:
        thin = min(range(len(pools)), key=lambda place: pools[place][1])
        if pools[thin][1] < LEAST_IN_RANGE:
            joined = thin if thin and (thin == len(pools) - 1 or gap(thin) <= gap(thin + 1)) else thin + 1
        elif len(pools) > N_RANGES:
            joined = min(range(1, len(pools)), key=gap)
        else:
            break
        _, n, n_right = pools.pop(joined)
        pools[joined - 1][1] += n
        pools[joined - 1][2] += n_right
    return tuple(pool[0] for pool in pools[1:])


class _Walks:
    """The paths of some tasks: what a table gives on them, and the table that is best for them.

    Args:
        tasks: The paths of each task.
        costs: Move -> what it costs.
        n: Most proposals.
        edges: Scores between the ranges; None to find them.
    """

    def __init__(
        self,
        tasks: Sequence[Sequence[PilotPath]],
        costs: Mapping[str, float],
        n: int,
        edges: tuple[float, ...] | None = None,
    ) -> None:
        self._tasks, self._costs, self._n = tasks, costs, n
        self.edges = ranges_of(tasks) if edges is None else edges
        states = sorted({at for task in tasks for path in task for at in path if sum(at) <= n}, key=sum)
        k = len(self.edges) + 1
        self._right = {at: np.zeros((k, 2)) for at in states}
        self._after = {(at, move): np.zeros((k, k)) for at in states for move in STEPS}
        self._paths: list[list[dict[At, tuple[int, bool]]]] = []
        self.n_open = 0
        for task in tasks:
            own = [
                {at: (bisect_right(self.edges, score), right) for at, (score, right) in path.items()} for path in task
            ]
            # Orders without refinements would follow a table that refines only as far as they go.
            longest = max(map(len, own))
            self._paths.append([path for path in own if len(path) == longest])
            self.n_open += sum(
                not right for at, (_, right) in own[0].items() if (at[0], at[1] + 1) in own[0] and at[0] == 1
            )
            for path in own:
                for at, (here, right) in path.items():
                    if sum(at) > n:
                        continue
                    self._right[at][here, int(right)] += 1 / len(own)
                    for move in STEPS:
                        if (there := path.get(_after(at, move))) is not None and sum(at) < n:
                            self._after[at, move][here, there[0]] += 1 / len(own)

    def table(self, moves: str, worth: float) -> dict[At, str]:
        """Return what is best by these tasks if a success is worth so much."""
        of_range = sum(self._right.values()) + np.array((1.0, 1.0)) / 2
        rate = of_range[:, 1] / of_range.sum(axis=1)
        pooled = {move: sum(self._after[at, move] for at in self._right) + np.eye(len(rate)) / 2 for move in moves}
        pooled = {move: own / own.sum(axis=1, keepdims=True) for move, own in pooled.items()}
        values: dict[At, Array] = {}
        table: dict[At, str] = {}
        for at in sorted(self._right, key=sum, reverse=True):
            counts = self._right[at]
            options = {STOP: worth * (counts[:, 1] + STRENGTH * rate) / (counts.sum(axis=1) + STRENGTH)}
            for move in moves:
                there = values.get(_after(at, move))
                if there is not None:
                    led = self._after[at, move]
                    chances = (led + STRENGTH * pooled[move]) / (led.sum(axis=1, keepdims=True) + STRENGTH)
                    options[move] = chances @ there - self._costs[move]
            every = np.stack(list(options.values()))
            values[at] = every.max(axis=0)
            table[at] = "".join(list(options)[place] for place in every.argmax(axis=0))  # the first of equals: to stop
        return table

    def given(self, table: Mapping[At, str]) -> Array:
        """Return the success and the spending of each task under a table: (tasks, 2)."""
        walks = [[self._walk(path, table) for path in own] for own in self._paths]
        return np.array([[sum(values) / len(own) for values in zip(*own, strict=True)] for own in walks])

    def for_spending(self, moves: str, spending: float) -> PlannedTables:
        """Return the tables below and above a mean spending, and the share of the latter that meets it.

        Where no worth spends as much, the lowest worth that spends most is the only one.
        """

        def spent(table: Mapping[At, str]) -> float:
            return float(self.given(table)[:, 1].mean())

        low, high = 0.0, spending
        dearest = low, self.table(moves, low)
        while spent(found := self.table(moves, high)) <= spending:
            if spent(found) > spent(dearest[1]):
                dearest = high, found
            low, high = high, high * 4
            if high > spending * 1e6:
                return PlannedTables(dearest[0], dearest[1], dearest[1])
        for _ in range(20):
            if high < low * CLOSE:
                break
            middle = (low + high) / 2
            low, high = (middle, high) if spent(self.table(moves, middle)) <= spending else (low, middle)
        cheap, dear = self.table(moves, low), self.table(moves, high)
        share = (spending - spent(cheap)) / (spent(dear) - spent(cheap))
        return PlannedTables(high, dear, cheap, share)

    def chain(self, worth: float | None, spending: float) -> PlannedTables:
        """Return the tables of `iad`, which refines whatever the verdicts are: for a worth, or for a mean spending.

        It goes as far as there are refinements of every task: where feedback had nothing to go on, there are fewer.
        """
        letters = REFINE * (len(self.edges) + 1)
        n = min(self._n, *(max(at[1] for path in own for at in path) + 1 for own in self._paths))
        tables: list[Mapping[At, str]] = [{(1, j): letters for j in range(k)} for k in range(n)]
        means = [self.given(table).mean(axis=0) for table in tables]
        if worth is not None:
            best = tables[max(range(n), key=lambda k: worth * means[k][0] - means[k][1])]
            return PlannedTables(worth, best, best)
        spent = [own[1] for own in means]
        k = max(sum(own <= spending for own in spent) - 1, 0)
        if k + 1 == n or spent[k] >= spending:
            return PlannedTables(0.0, tables[k], tables[k])
        return PlannedTables(0.0, tables[k + 1], tables[k], (spending - spent[k]) / (spent[k + 1] - spent[k]))

    def elsewhere(self, find: "Callable[[_Walks], PlannedTables]") -> Array:
        """Return each task's success and spending under tables that `find` makes of others: (tasks, 2)."""
        found = []
        for made, others in self._parts:
            tables = find(made)
            found.append(tables.share * others.given(tables.dear) + (1 - tables.share) * others.given(tables.cheap))
        return np.concatenate(found)

    @cached_property
    def _parts(self) -> "list[tuple[_Walks, _Walks]]":
        """Some tasks and the others, each task once among the others."""
        n_parts = min(N_PARTS, len(self._tasks))
        every = range(len(self._tasks))

        def only(places: Sequence[int]) -> "_Walks":
            return _Walks([self._tasks[place] for place in places], self._costs, self._n, self.edges)

        return [
            (only([place for place in every if place % n_parts != part]), only(every[part::n_parts]))
            for part in range(n_parts)
        ]

    def _walk(self, path: Mapping[At, tuple[int, bool]], table: Mapping[At, str]) -> tuple[float, float]:
        at, spent = (1, 0), self._costs[SAMPLE]
        while at in table and (move := table[at][path[at][0]]) != STOP and (there := _after(at, move)) in path:
            at, spent = there, spent + self._costs[move]
        return float(path[at][1]), spent


def _after(at: At, move: str) -> At:
    return at[0] + STEPS[move][0], at[1] + STEPS[move][1]


def _reachable(table: Mapping[At, str]) -> dict[str, str]:
    """Return the rows that a decision can come to, with a letter for each range."""
    reached, rows = {(1, 0)}, {}
    for at in sorted(table, key=lambda one: (sum(one), one[1])):
        if at in reached:
            rows[f"{at[0]},{at[1]}"] = table[at]
            reached |= {_after(at, letter) for letter in table[at] if letter != STOP}
    return {row: letters for row, letters in rows.items() if set(letters) != {STOP} or row == "1,0"}


def _costs(sampled: PilotLine, refined: PilotLine | None) -> dict[str, float]:
    def mean(line: PilotLine) -> float:
        values = line.spent[line.n].values()
        return math.fsum(values) / len(values)

    sample = mean(sampled) / sampled.n
    if refined is None or refined.n == 1:
        return {SAMPLE: sample, REFINE: sample}
    return {SAMPLE: sample, REFINE: max(0.0, mean(refined) - sample) / (refined.n - 1)}

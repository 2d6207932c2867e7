"""Turns a pilot into the plan of `adaptive`, by backward induction.

A decision goes by the score that the verifier gives a candidate alone, which does not depend on how many there are.

What an attempt gives is counted in cells: a range of scores, and whether it is right. Ranges are those between which
the share of right attempts rises (isotonic regression). A task's chances are Dirichlet distributed, that of a right
attempt as well as those of the ranges of right and of wrong ones: its counts, beside those of all tasks with as much
weight as the counts themselves say (the likeliest concentration of a Dirichlet-multinomial). Each task of the pilot
gives `N_DRAWS` kinds of tasks, drawn from it. How refining changes the chance of a right attempt is a ratio over all
tasks, after a wrong incumbent and after a right one. A task's own refinements then count as its own samples do. A plan
refines only if that still pays with both ratios as low as a bootstrap over tasks makes them: refining in vain costs
more than not refining.

A decision's task is of any kind, as likely as it makes the best score so far. So after low scores it is probably
a hard one, and after refinements in vain one at which they do not help. From the last proposal backwards, each state
(range of the best score, samples, refinements) takes what is worth most: to stop, which gives the worth of a success
times its chance, or the best state after a sample or a refinement, less what that costs.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from iad_policy.report.advice.pilot import Pilot, PilotAttempt, PilotLine
from iad_policy.types.hashing import seed_of
from iad_policy.types.plan import REFINE, SAMPLE, STOP, AdaptivePlan, refinement_of

Array = NDArray[np.float64]

N_RANGES = 7
"""Most ranges of scores. More are too thin for a pilot."""
LEAST_IN_RANGE = 6
LEAST_OPEN = 30
"""Fewest refinements of wrong incumbents from which their use can be told."""
N_DRAWS = 8
N_BOOTSTRAPS = 400
CAUTION = 0.15
"""Quantile of the bootstrap at which refining must still pay."""
LEAST_GAIN = 0.002
"""What it must gain then, in successes per decision."""
CONCENTRATIONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 1000.0)
"""How many attempts the mean of all tasks may count as, beside a task's own."""
MOST_RIGHT = 0.98
TINY = 1e-9


class PlanSettings(NamedTuple):
    """What a plan is for.

    Attributes:
        worth: What a success is worth, on the pilot's axis; None to keep to a mean spending.
        spending: Mean spending of a decision to keep to; None for that of the pilot's `bon`.
        n: Most proposals of a decision.
        seed: Seed of the bootstrap.
    """

    worth: float | None = None
    spending: float | None = None
    n: int = 12
    seed: int = 0


class Kinds(NamedTuple):
    """The kinds of tasks, as a pilot shows them.

    Attributes:
        edges: Scores between the ranges, ascending.
        fresh: Chance of a cell by kind, range and whether it is right, of an attempt without feedback.
        refined: The same of an attempt with feedback, after a wrong incumbent and after a right one.
        least: What `refined` would be with the lowest likely ratios.
        ratios: How many times as often a refined attempt is right as a fresh one, in both cases.
        n_open: Number of refinements of wrong incumbents.
    """

    edges: tuple[float, ...]
    fresh: Array
    refined: tuple[Array, Array]
    least: tuple[Array, Array]
    ratios: tuple[float, float]
    n_open: int


def plan_of(pilot: Pilot, settings: PlanSettings, options: Mapping[str, Any] = MappingProxyType({})) -> AdaptivePlan:
    """Return the plan that a pilot leads to.

    Args:
        pilot: The pilot. Its `bon` gives the samples, its `iad` the refinements; without that, nothing is refined.
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
    if settings.n < 1:
        raise ValueError(f"expected n of 1 or more, got {settings.n}")
    sampled = next((own for own in pilot.lines.values() if own.strategy == "bon" and _is_scored(own)), None)
    if sampled is None:
        why = "whose tasks take several decisions" if not pilot.one_decision else "without bon and a verifier"
        raise ValueError(
            f"expected a pilot whose candidates have a score and a result of their own, got one {why}; without a plan "
            "adaptive samples until the verifier passes a candidate or the votes are settled"
        )
    refined = next(
        (own for own in pilot.lines.values() if own.strategy == "iad" and own.verifier == sampled.verifier), None
    )
    kinds = kinds_of(pilot.tasks, sampled, refined, seed=settings.seed)
    costs = _costs(sampled, refined)
    spending = settings.spending or sampled.n * costs[SAMPLE]

    def found(solving: _Induction) -> tuple[float, _Solution, _Solution, float]:
        if settings.worth is None:
            return _for_spending(solving, spending)
        only = solving.solve(settings.worth)
        return settings.worth, only, only, 1.0

    worth, cheap, dear, share = found(_Induction(kinds, costs, settings.n, moves=(SAMPLE,)))
    why = ""
    if refined is None:
        why = "the pilot has no iad with this verifier"
    elif kinds.n_open < LEAST_OPEN:
        why = f"the pilot has {kinds.n_open} refinements of wrong attempts; it takes {LEAST_OPEN} to tell"
    else:
        low = _Induction(kinds._replace(refined=kinds.least), costs, settings.n).solve(worth)
        if low.value(worth) - dear.value(worth) < LEAST_GAIN * worth:
            why = (
                f"after wrong attempts, refined ones were right {kinds.ratios[0]:.2f} times as often as samples: no "
                "clear gain"
            )
        else:
            worth, cheap, dear, share = found(_Induction(kinds, costs, settings.n))
    told = refinement_of(options)
    tasks, every = pilot.tasks, pilot.lines.values()
    spent_by_pilot = math.fsum(own.spent[n][task] for own in every for n in own.spent for task in tasks)
    return AdaptivePlan(
        env=pilot.env,
        agent=pilot.agent,
        verifier=sampled.verifier,
        feedback=told["feedback"],
        instruct=told["instruct"],
        axis=pilot.axis,
        worth=worth,
        n=settings.n,
        edges=kinds.edges,
        rows=dear.rows,
        cheaper=cheap.rows if share < 1 else {},
        share=share,
        success=share * dear.success + (1 - share) * cheap.success,
        spent=share * dear.spent + (1 - share) * cheap.spent,
        pilot={
            "tasks": len(tasks),
            "spent": spent_by_pilot,
            "sample_costs": costs[SAMPLE],
            "refinement_costs": costs[REFINE],
            "right_after_wrong": kinds.ratios[0],
            "right_after_right": kinds.ratios[1],
        },
        only_samples=why,
    )


def kinds_of(tasks: Sequence[str], sampled: PilotLine, chained: PilotLine | None, *, seed: int = 0) -> Kinds:
    """Return the kinds of tasks that a pilot shows.

    Args:
        tasks: Its tasks.
        sampled: The row with independent, scored attempts.
        chained: The row with chains; None for none.
        seed: Seed of the bootstrap.
    """
    rng = np.random.default_rng(seed_of(seed, "kinds"))
    fresh_attempts = [[one for own in sampled.attempts[task] for one in own] for task in tasks]
    chains = [list(chained.attempts[task]) if chained else [] for task in tasks]
    edges = ranges_of(fresh_attempts)
    counts = np.stack([_cells(own, edges) for own in fresh_attempts])
    mean = (counts.sum(axis=0) + 0.5) / (counts.sum() + counts[0].size / 2)
    towards = np.broadcast_to(mean, counts.shape)
    fresh, expected = _drawn(counts, towards, rng)
    after = [np.stack([_refined_cells(own, edges, case) for own in chains]) for case in (False, True)]
    uses = [_use(chains, counts.sum(axis=1), case, rng) for case in (False, True)]
    refined = [
        _drawn(case, _tilted(expected, ratio), rng, each=_tilted(fresh, ratio))[0]
        for case, (ratio, _) in zip(after, uses, strict=True)
    ]
    return Kinds(
        edges,
        fresh,
        (refined[0], refined[1]),
        (_tilted(fresh, uses[0][1]), _tilted(fresh, uses[1][1])),
        (uses[0][0], uses[1][0]),
        int(after[0].sum()),
    )


def ranges_of(attempts: Sequence[Sequence[PilotAttempt]]) -> tuple[float, ...]:
    """Return the scores between which the share of right attempts rises, ascending; equal scores stay together.

    The pools of isotonic regression, of which neighbours with the most similar shares are joined until there are at
    most `N_RANGES`, each with the weight of `LEAST_IN_RANGE` tasks or more. Attempts at one task are alike, so a task
    has the weight 1, however many there are.

    Args:
        attempts: The attempts of each task.
    """
    by_score: dict[float, list[float]] = {}
    for task in attempts:
        for one in task:
            own = by_score.setdefault(alone_of(one), [0.0, 0.0])
            own[0] += 1 / len(task)
            own[1] += one.is_right / len(task)
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


class _Situation(NamedTuple):
    """What is known after so many samples and refinements, by the range of the best score.

    Attributes:
        right: Chance that the best is right.
        after: Move -> chances of the ranges that the best score is in after it.
    """

    right: Array
    after: Mapping[str, Array]


class _Solution(NamedTuple):
    """A table of letters, with the success and the spending that are expected of it."""

    rows: dict[str, str]
    success: float
    spent: float

    def value(self, worth: float) -> float:
        """What a decision is worth, less what it spends."""
        return worth * self.success - self.spent


class _Induction:
    """Backward induction over (range of the best score, samples, refinements)."""

    def __init__(
        self, kinds: Kinds, costs: Mapping[str, float], n: int, *, moves: Sequence[str] = (SAMPLE, REFINE)
    ) -> None:
        self._costs = costs
        self._n = n
        self._kinds = kinds
        self._moves = moves
        self._situations = {
            (samples, total - samples): self._situation(samples, total - samples)
            for total in range(1, n + 1)
            for samples in range(total, 0 if REFINE in moves else total - 1, -1)
        }

    def _situation(self, samples: int, refinements: int) -> _Situation:
        fresh, (after_wrong, after_right) = self._kinds.fresh, self._kinds.refined
        n_ranges = fresh.shape[1]
        right, after = np.empty(n_ranges), {move: np.zeros((n_ranges, n_ranges)) for move in self._moves}
        # Refinements were made after what was mostly wrong.
        up_to, also = (np.cumsum(cells.sum(axis=2), axis=1) for cells in (fresh, after_wrong))
        chance = up_to**samples * also**refinements
        chance[:, 1:] -= chance[:, :-1].copy()
        for now in range(n_ranges):
            weights = chance[:, now] / max(chance[:, now].sum(), TINY)  # of the kinds of tasks
            best = samples * fresh[:, now] + refinements * after_wrong[:, now]
            is_right = best[:, 1] / np.maximum(best.sum(axis=1), TINY)
            right[now] = weights @ is_right
            chances = {SAMPLE: weights @ fresh.sum(axis=2)}
            if REFINE in self._moves:
                chances[REFINE] = (weights * (1 - is_right)) @ after_wrong.sum(axis=2)
                chances[REFINE] += (weights * is_right) @ after_right.sum(axis=2)
            for move, of_range in chances.items():
                after[move][now, now] = of_range[: now + 1].sum()
                after[move][now, now + 1 :] = of_range[now + 1 :]
        return _Situation(right, after)

    def solve(self, worth: float) -> "_Solution":
        """Return what is best if a success is worth so much."""
        values: dict[tuple[int, int], Array] = {}
        table: dict[tuple[int, int], list[str]] = {}
        for at, here in reversed(self._situations.items()):
            options = {STOP: worth * here.right}
            if sum(at) < self._n:
                for move in self._moves:
                    options[move] = here.after[move] @ values[_after(at, move)] - self._costs[move]
            every = np.stack(list(options.values()))
            values[at] = every.max(axis=0)
            table[at] = [list(options)[place] for place in every.argmax(axis=0)]  # the first of equals: to stop
        return _Solution(_reachable(table), *self._forward(table))

    def _forward(self, table: Mapping[tuple[int, int], Sequence[str]]) -> tuple[float, float]:
        reached = {(1, 0): self._kinds.fresh.sum(axis=2).mean(axis=0)}
        success, spent = 0.0, self._costs[SAMPLE]
        for at, here in self._situations.items():
            for now, chance in enumerate(reached.get(at, ())):
                move = table[at][now]
                if move == STOP:
                    success += chance * here.right[now]
                else:
                    spent += chance * self._costs[move]
                    there = _after(at, move)
                    reached[there] = reached.get(there, 0.0) + chance * here.after[move][now]
        return float(success), float(spent)


def _after(at: tuple[int, int], move: str) -> tuple[int, int]:
    return (at[0] + 1, at[1]) if move == SAMPLE else (at[0], at[1] + 1)


def _reachable(table: Mapping[tuple[int, int], Sequence[str]]) -> dict[str, str]:
    """Return the rows that a decision can come to, with a letter for each range."""
    reached, rows = {(1, 0): set(range(len(table[1, 0])))}, {}
    for at, letters in sorted(table.items(), key=lambda one: (sum(one[0]), one[0][1])):
        for now in reached.get(at, ()):
            if letters[now] != STOP:
                reached.setdefault(_after(at, letters[now]), set()).update(range(now, len(letters)))
        if at in reached:
            rows[f"{at[0]},{at[1]}"] = "".join(letters)
    return {row: letters for row, letters in rows.items() if set(letters) != {STOP} or row == "1,0"}


def _for_spending(solving: _Induction, spending: float) -> tuple[float, _Solution, _Solution, float]:
    """Return the worth at which the spending passes a mean, the solutions below and above, and the share of the latter.

    Where no worth spends as much, the lowest worth that spends most is the only one.
    """
    low, high = 0.0, spending
    dearest = low, solving.solve(low)
    while (found := solving.solve(high)).spent <= spending:
        if found.spent > dearest[1].spent:
            dearest = high, found
        low, high = high, high * 4
        if high > spending * 1e6:
            return dearest[0], dearest[1], dearest[1], 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if solving.solve(middle).spent <= spending else (low, middle)
    cheap, dear = solving.solve(low), solving.solve(high)
    share = (spending - cheap.spent) / (dear.spent - cheap.spent)
    return high, cheap, dear, min(max(share, 0.0), 1.0)


def _costs(sampled: PilotLine, refined: PilotLine | None) -> dict[str, float]:
    def mean(line: PilotLine) -> float:
        values = line.spent[line.n].values()
        return math.fsum(values) / len(values)

    sample = mean(sampled) / sampled.n
    if refined is None or refined.n == 1:
        return {SAMPLE: sample, REFINE: sample}
    return {SAMPLE: sample, REFINE: max(0.0, mean(refined) - sample) / (refined.n - 1)}


def _is_scored(line: PilotLine) -> bool:
    return any(not math.isnan(one.alone) for given in line.attempts.values() for own in given for one in own)


def alone_of(attempt: PilotAttempt) -> float:
    """Return the score of an attempt alone: -inf without one."""
    return -math.inf if math.isnan(attempt.alone) else attempt.alone


def _cells(attempts: Sequence[PilotAttempt], edges: Sequence[float]) -> Array:
    cells = np.zeros((len(edges) + 1, 2))
    for one in attempts:
        cells[np.searchsorted(edges, alone_of(one), side="right"), int(one.is_right)] += 1
    return cells


def _refined_cells(chains: Sequence[Sequence[PilotAttempt]], edges: Sequence[float], is_right: bool) -> Array:
    """Return the cells of refinements whose incumbent was right, or wrong."""
    found = [
        one
        for chain in chains
        for place, one in enumerate(chain[1:], 1)
        if one.is_told and max(chain[:place], key=alone_of).is_right is is_right
    ]
    return _cells(found, edges)


def _drawn(
    counts: Array, towards: Array, rng: np.random.Generator, *, each: Array | None = None
) -> tuple[Array, Array]:
    """Return chances of the cells, drawn for each task, and their means by task.

    The chance of a right attempt, and those of the ranges of right and of wrong ones, have a concentration each.

    Args:
        counts: A task's counts by task, range, and whether an attempt is right.
        towards: What its chances would be without counts.
        rng: Source of the draws.
        each: The same for each draw, if it differs.
    """
    each = np.repeat(towards, N_DRAWS, axis=0) if each is None else each

    def part(own: Array, base: Array, bases: Array) -> tuple[Array, Array]:
        base, bases = (one / one.sum(axis=1, keepdims=True) for one in (base, bases))
        concentration = _concentration(own, base)
        drawn = rng.standard_gamma(concentration * bases + np.repeat(own, N_DRAWS, axis=0)) + TINY
        means = (own + concentration * base) / (own.sum(axis=1, keepdims=True) + concentration)
        return drawn / drawn.sum(axis=1, keepdims=True), means

    drawn, means = part(counts.sum(axis=1), towards.sum(axis=1), each.sum(axis=1))
    ranges = [part(counts[:, :, side], towards[:, :, side], each[:, :, side]) for side in (0, 1)]
    return (
        np.stack([drawn[:, side, None] * ranges[side][0] for side in (0, 1)], axis=2),
        np.stack([means[:, side, None] * ranges[side][1] for side in (0, 1)], axis=2),
    )


def _concentration(counts: Array, base: Array) -> float:
    """Return the concentration of a Dirichlet-multinomial under which counts by task are likeliest."""

    def likelihood(concentration: float) -> float:
        prior, n = concentration * base, counts.sum(axis=1)
        total = prior.sum(axis=1)
        parts = gammaln(total) - gammaln(total + n) + (gammaln(prior + counts) - gammaln(prior)).sum(axis=1)
        return float(parts.sum())

    return max(CONCENTRATIONS, key=likelihood)


def _use(
    chains: Sequence[Sequence[Sequence[PilotAttempt]]], counts: Array, is_right: bool, rng: np.random.Generator
) -> tuple[float, float]:
    """Return how many times as often refined attempts are right as samples would be, and the lowest that is likely.

    What a sample would give is expected of the task's samples and its refinements so far, as if refining changed
    nothing: a chain goes on being wrong at hard tasks. Two right attempts, and two expected, are added to both.

    Args:
        chains: The chains of each task.
        counts: How many of its samples are wrong and right, by task.
        is_right: Whether the incumbent is to be right.
        rng: Source of the bootstrap over tasks.
    """
    base = counts.sum(axis=0) / counts.sum()
    prior = _concentration(counts, np.broadcast_to(np.clip(base, TINY, None), counts.shape)) * base
    found = np.zeros((len(chains), 2))
    for own, (n_wrong, n_right), into in zip(chains, counts, found, strict=True):
        for chain in own:
            seen = prior + np.array((n_wrong, n_right))
            for place, one in enumerate(chain[1:], 1):
                if max(chain[:place], key=alone_of).is_right is is_right:
                    into += float(one.is_right), seen[1] / seen.sum()
                seen[int(one.is_right)] += 1
    chosen = rng.integers(len(found), size=(N_BOOTSTRAPS, len(found)))
    right, expected = found[chosen].sum(axis=1).T + 2
    total = found.sum(axis=0) + 2
    return float(total[0] / total[1]), float(np.quantile(right / expected, CAUTION))


def _tilted(fresh: Array, ratio: float) -> Array:
    """Return the chances of the cells where right attempts come so many times as often."""
    right = fresh[:, :, 1].sum(axis=1)
    there = np.minimum(MOST_RIGHT, right * ratio)
    tilted = fresh.copy()
    tilted[:, :, 1] *= (there / right)[:, None]
    tilted[:, :, 0] *= ((1 - there) / (1 - right))[:, None]
    return tilted

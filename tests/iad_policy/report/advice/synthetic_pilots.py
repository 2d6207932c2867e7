"""Pilots of worlds whose truth is known: tasks of many kinds, of which one half is the pilot and the other comes later.

The worlds are not those of the model: rates are continuous, scores are normal, and votes fall where they fall.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from iad_policy.report.advice.pilot import Pilot, PilotAttempt, PilotLine
from iad_policy.report.advice.prediction import OptionForecast, RunnableOption, predict
from iad_policy.report.advice.within import METHODS

Rng = np.random.Generator


class SyntheticTask(NamedTuple):
    """How often an attempt is right, how far right ones score above, how many answers agree, and what feedback does."""

    rate: float
    ahead: float
    right_agree: float
    wrong_agree: float
    uptake: float


WORLDS: Mapping[str, Callable[[Rng], tuple[float, float]]] = {
    "wide": lambda rng: (rng.beta(0.4, 0.8), rng.normal(1, 0.5)),
    "all alike": lambda rng: (float(np.clip(rng.normal(0.3, 0.05), 0, 1)), 1.0),
    "half impossible": lambda rng: (0.0 if rng.random() < 0.5 else rng.beta(2, 2), rng.normal(0.5, 1.5)),
    "easy": lambda rng: (rng.beta(3, 0.6), rng.normal(2, 0.5)),
    "hard": lambda rng: (rng.beta(0.15, 1.5), rng.normal(2.5, 0.8)),
}


def task(rng: Rng, world: str) -> SyntheticTask:
    rate, ahead = WORLDS[world](rng)
    return SyntheticTask(rate, ahead, rng.choice([1, 0.8]), rng.choice([0.1, 0.5, 0.9]), rng.choice([0.2, 0.5, 1]))


def attempt(rng: Rng, at: SyntheticTask, *, rate: float | None = None) -> PilotAttempt:
    is_right = bool(rng.random() < (at.rate if rate is None else rate))
    score = rng.normal(at.ahead if is_right else 0)
    agrees = rng.random() < (at.right_agree if is_right else at.wrong_agree)
    name = ("right" if is_right else "wrong") + ("" if agrees else str(rng.integers(1, 10**9)))
    return PilotAttempt(is_right, float(score), (2, name), name, rate is not None)


def chain(rng: Rng, at: SyntheticTask, n: int, first: PilotAttempt) -> list[PilotAttempt]:
    found = [first]
    for _ in range(n - 1):
        solved = any(one.is_right for one in found)
        found.append(attempt(rng, at, rate=0.85 if solved else min(1.0, at.rate * at.uptake)))
    return found


def attempts(rng: Rng, at: SyntheticTask, strategy: str, n: int) -> list[PilotAttempt]:
    first = attempt(rng, at)
    return chain(rng, at, n, first) if strategy == "iad" else [first, *(attempt(rng, at) for _ in range(n - 1))]


def pilot_of(rng: Rng, tasks: Sequence[SyntheticTask], n: int) -> Pilot:
    """Return a pilot with all methods, which share their first samples."""
    names = tuple(map(str, range(len(tasks))))
    independent = {name: [[attempt(rng, at) for _ in range(n)]] for name, at in zip(names, tasks, strict=True)}
    chains = {name: [chain(rng, at, n, independent[name][0][0])] for name, at in zip(names, tasks, strict=True)}
    firsts = {name: [own[0][:1]] for name, own in independent.items()}
    own = {"single": (firsts, 1), "bon": (independent, n), "bon-sc": (independent, n), "iad": (chains, n)}
    lines = {
        strategy: PilotLine(
            strategy,
            "",
            {size: {name: METHODS[strategy](found[name][0], size) for name in names}},
            {size: dict.fromkeys(names, float(size))},
            found,
            starts_at_reference=strategy != "single",
        )
        for strategy, (found, size) in own.items()
    }
    return Pilot("world", "train", "agent", names, 0, "calls", True, lines)


class Replicate(NamedTuple):
    """What was predicted from one half of the tasks, and the success of the other half."""

    forecast: OptionForecast
    came: float

    @property
    def is_covered(self) -> bool:
        low, high = self.forecast.success_95
        return low - 1e-9 <= self.came <= high + 1e-9


N_TASKS, N = 60, 4
"""Tasks of a pilot, and attempts at each."""


def replicate(world: str, seed: int, *, ns: Sequence[int]) -> dict[RunnableOption, Replicate]:
    rng = np.random.default_rng([seed, sorted(WORLDS).index(world)])
    tasks = [task(rng, world) for _ in range(2 * N_TASKS)]
    pilot = pilot_of(rng, tasks[:N_TASKS], N)
    found = {}
    for option, forecast in predict(pilot, ns=ns, seed=seed).items():
        strategy = pilot.lines[option.line].strategy
        came = [METHODS[strategy](attempts(rng, at, strategy, option.n), option.n) for at in tasks[N_TASKS:]]
        # A tie counts as what it gives on average, and comes out one way or the other.
        found[option] = Replicate(forecast, float(np.mean([rng.random() < one for one in came])))
    return found

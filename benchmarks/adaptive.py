"""Measures `adaptive` in synthetic worlds, beside `bon` and `iad` at equal mean spending, and what deciding costs.

A world says how often an attempt is right (it differs by task), how many times as often a refined one is, and how well
the verifier tells. A pilot of 60 tasks with n = 4 makes the plan; `adaptive`, `bon` and `iad` then decide other tasks
of that world. In `mixed`, refining helps at every second task and hurts at the others.

`--full` has more pilots, and pilots of 200 tasks.
"""

import math
from collections.abc import Generator, Sequence
from itertools import product
from statistics import NormalDist, median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from reference import Reference
from support.figures import FULL, figure

import iad_envs  # noqa: F401 (registers)
from iad_policy import Candidate, Commit, Propose, State, Verdict
from iad_policy.report.advice.paths import paths_of
from iad_policy.report.advice.pilot import Pilot, PilotAttempt, PilotLine
from iad_policy.report.advice.planning import PlanSettings, plan_of
from iad_policy.strategies import load_strategy

AUCS = (0.6, 0.8, 0.98)
USES = {"useless": (1.0,), "harmful": (0.4,), "x1.5": (1.5,), "x2.5": (2.5,), "mixed": (0.4, 2.5)}
"""World -> how many times as often a refined attempt is right, by task in turn."""
N = 4
N_PILOTS, N_TASKS = (40, 500) if FULL else (12, 300)
SIZES = (60, 200) if FULL else (60,)
Rng = np.random.Generator


class SyntheticTask(NamedTuple):
    """How often a sample is right, how many times as often a refinement is, and how far right ones score above."""

    rate: float
    use: float
    ahead: float


class Decided(NamedTuple):
    """What a decision came to."""

    is_right: bool
    n: int
    n_refined: int


def tasks_of(rng: Rng, world: str, auc: float, n: int) -> list[SyntheticTask]:
    """Return tasks of a world."""
    ahead = math.sqrt(2) * NormalDist().inv_cdf(auc)
    uses = USES[world]
    return [SyntheticTask(rng.beta(0.4, 0.8), uses[place % len(uses)], ahead) for place in range(n)]


def attempt(rng: Rng, task: SyntheticTask, *, is_told: bool) -> PilotAttempt:
    """Return one attempt, with feedback or without, and its score between 0 and 1."""
    is_right = bool(rng.random() < min(1.0, task.rate * (task.use if is_told else 1)))
    score = 1 / (1 + math.exp(-rng.normal(task.ahead if is_right else 0)))
    return PilotAttempt(is_right, score, (2, ""), "", is_told)


def pilot_of(rng: Rng, tasks: Sequence[SyntheticTask]) -> Pilot:
    """Return a pilot with `bon` and `iad`, which share their first attempts."""
    names = tuple(map(str, range(len(tasks))))
    named = dict(zip(names, tasks, strict=True))
    sampled = {name: [[attempt(rng, at, is_told=False) for _ in range(N)]] for name, at in named.items()}
    chains = {
        name: [[sampled[name][0][0], *(attempt(rng, at, is_told=True) for _ in range(N - 1))]]
        for name, at in named.items()
    }
    lines = {
        name: PilotLine(
            name,
            "proxy",
            {N: {task: float(max(one[0], key=lambda own: own.score).is_right) for task, one in own.items()}},
            {N: dict.fromkeys(names, float(N))},
            own,
        )
        for name, own in (("bon", sampled), ("iad", chains))
    }
    paths = {
        at: list(paths_of(sampled[at][0], chains[at][0], lambda own: [one.score for one in own], name=at))
        for at in names
    }
    return Pilot("synthetic", "", "agent", names, 0, "proposals", True, lines, paths=paths)


def decide(strategy: Any, task: SyntheticTask, name: str, rng: Rng) -> Decided:
    """Run one decision of a strategy, which is asked as its driver would."""
    n = n_refined = 0
    asking: Generator[Any, Any, Any] = strategy(State("", {}, id=name))
    request = next(asking)
    while not isinstance(request, Commit):
        if isinstance(request, Propose):
            is_told = request.feedback is not None
            n, n_refined = n + request.n, n_refined + is_told * request.n
            answer = [Candidate(attempt(rng, task, is_told=is_told), key=str(n + place)) for place in range(request.n)]
        else:
            answer = [
                Candidate(one.action, key=one.key, verdict=Verdict(one.action.score)) for one in request.candidates
            ]
        request = asking.send(answer)
    asking.close()
    return Decided(request.candidate.action.is_right, n, n_refined)


def measure(world: str, auc: float, size: int) -> None:
    """Print the difference to the better of `bon` and `iad`, and how often the plan refines."""
    rows, spent, refines = [], [], []
    for seed in range(N_PILOTS):
        rng = np.random.default_rng([seed, size, round(auc * 100), list(USES).index(world)])
        plan = plan_of(pilot_of(rng, tasks_of(rng, world, auc, size)), PlanSettings())
        strategies = {
            "bon": load_strategy("bon", n=N),
            "iad": load_strategy("iad", n=N),
            "adaptive": load_strategy("adaptive", plan=plan),
        }
        tasks = tasks_of(rng, world, auc, N_TASKS)
        found = {
            name: [decide(own, task, str(place), rng) for place, task in enumerate(tasks)]
            for name, own in strategies.items()
        }
        rows.append([float(np.mean([one.is_right for one in own])) for own in found.values()])
        spent.append(float(np.mean([one.n for one in found["adaptive"]])))
        refines.append(float(np.mean([one.n_refined for one in found["adaptive"]])))
    bon, iad, own = map(float, np.mean(rows, axis=0))
    name = f"adaptive.{world}.auc_{auc:g}.pilot_{size}"
    figure(f"{name}.over_better", own - max(bon, iad), "success", n=N_PILOTS, target=-0.02, better="higher")
    figure(f"{name}.success", own, "success", n=N_PILOTS, baseline=max(bon, iad), better="higher")
    figure(f"{name}.spent", float(np.mean(spent)), "proposals", n=N_PILOTS, baseline=N)
    figure(f"{name}.pilots_that_refine", float(np.mean([one > 0.1 for one in refines])), "share", n=N_PILOTS)


def deciding() -> None:
    """Print what one look at the plan takes."""
    rng = np.random.default_rng(0)
    start = perf_counter()
    plan = plan_of(pilot_of(rng, tasks_of(rng, "x1.5", 0.8, 60)), PlanSettings())
    figure("adaptive.planning_s", perf_counter() - start, "s", better="lower")
    reference, table, scores, took_s = Reference(), plan.table_for("task"), rng.random(1000), []
    for _ in range(5):
        reference.sample()
        start = perf_counter()
        for score in scores:
            plan.move(table, float(score), 1, 0)
        took_s.append((perf_counter() - start) / len(scores))
    reference.figure("adaptive.deciding_ms", median(took_s) * 1e3, "ms", n=5 * len(scores), target=1.0)


def main() -> None:
    deciding()
    for size, world, auc in product(SIZES, USES, AUCS):
        measure(world, auc, size)


if __name__ == "__main__":
    main()

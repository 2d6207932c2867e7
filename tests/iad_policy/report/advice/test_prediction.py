"""Predictions hold at the rate that they state, on worlds whose truth is known."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from iad_policy.report.advice.pilot import Pilot, PilotAttempt, PilotLine
from iad_policy.report.advice.prediction import MODEL, PILOT, RunnableOption, predict
from iad_policy.report.advice.within import METHODS
from tests.iad_policy.report.snapshots import require_snapshot

Rng = np.random.Generator
RIGHT, WRONG = PilotAttempt(True, 1.0, key="r"), PilotAttempt(False, 0.0, key="w")


WORLDS: Mapping[str, Callable[[Rng], tuple[float, float]]] = {
    "wide": lambda rng: (rng.beta(0.4, 0.8), rng.normal(1, 0.5)),
    "all alike": lambda rng: (float(np.clip(rng.normal(0.3, 0.05), 0, 1)), 1.0),
    "half impossible": lambda rng: (0.0 if rng.random() < 0.5 else rng.beta(2, 2), rng.normal(0.5, 1.5)),
    "easy": lambda rng: (rng.beta(3, 0.6), rng.normal(2, 0.5)),
    "hard": lambda rng: (rng.beta(0.15, 1.5), rng.normal(2.5, 0.8)),
}
"""Worlds whose truth is known, and which are not those of the model: how often a task's attempts are right, and how far
right ones score above."""


class SyntheticTask:
    """A task of a world: how often its answers agree, and how well a refinement does, as a share of a sample."""

    def __init__(self, rng: Rng, world: str) -> None:
        (self.rate, self.ahead), self.rng = WORLDS[world](rng), rng
        self.agree = {True: rng.choice([1, 0.8]), False: rng.choice([0.1, 0.5, 0.9])}
        self.uptake = rng.choice([0.2, 0.5, 1])

    def attempt(self, rate: float | None = None) -> PilotAttempt:
        is_right = bool(self.rng.random() < (self.rate if rate is None else rate))
        score = float(self.rng.normal(self.ahead if is_right else 0))
        agrees = self.rng.random() < self.agree[is_right]
        name = ("right" if is_right else "wrong") + ("" if agrees else str(self.rng.integers(1, 1e9)))
        return PilotAttempt(is_right, score, (2, name), name, rate is not None)

    def attempts(self, strategy: str, n: int, first: PilotAttempt | None = None) -> list[PilotAttempt]:
        found = [first or self.attempt()]
        while len(found) < n:
            solved = any(one.is_right for one in found)
            found.append(self.attempt((0.85 if solved else self.rate * self.uptake) if strategy == "iad" else None))
        return found


def replicate(world: str, seed: int, n_tasks: int = 60, n: int = 4) -> Iterator[tuple[RunnableOption, Any, float]]:
    """What is predicted from a pilot of some tasks, and the success of as many others."""
    rng = np.random.default_rng([seed, sorted(WORLDS).index(world)])
    tasks = {str(place): SyntheticTask(rng, world) for place in range(n_tasks)}
    sampled = {name: [one.attempts("bon", n)] for name, one in tasks.items()}
    firsts = {name: [own[0][:1]] for name, own in sampled.items()}
    chained = {name: [one.attempts("iad", n, sampled[name][0][0])] for name, one in tasks.items()}
    lines = {}
    for strategy, own in {"single": firsts, "bon": sampled, "bon-sc": sampled, "iad": chained}.items():
        size = len(own["0"][0])
        solved = {name: METHODS[strategy](attempts[0], size) for name, attempts in own.items()}
        spent = {size: dict.fromkeys(tasks, float(size))}
        lines[strategy] = PilotLine(strategy, "", {size: solved}, spent, own, strategy != "single")
    given = Pilot("world", "train", "agent", tuple(tasks), 0, "calls", True, lines)
    for option, found in predict(given, ns=(2, 4, 16), seed=seed).items():
        others = (SyntheticTask(rng, world).attempts(option.line, option.n) for _ in tasks)
        # A tie counts as what it gives on average, and comes out one way or the other.
        came = [rng.random() < METHODS[option.line](one, option.n) for one in others]
        yield option, found, float(np.mean(came))


def is_covered(found: Any, came: float) -> bool:
    low, high = found.success_95
    return bool(low - 1e-9 <= came <= high + 1e-9)


@pytest.mark.parametrize("world", ["wide", "hard"])
def test_half_of_the_tasks_predict_the_other_half(world: str) -> None:
    """Of all predictions together, within the pilot's n and beyond."""
    found = [one for seed in range(6) for one in replicate(world, seed)]
    assert np.mean([is_covered(own, came) for _, own, came in found]) > 0.85
    assert abs(np.mean([own.success - came for _, own, came in found])) < 0.05


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("world", sorted(WORLDS))
def test_500_replicates_are_covered_at_the_nominal_rate(world: str) -> None:
    """95 % within the pilot's n, less what 500 replicates may show by chance; less beyond, as no world is the model."""
    found: defaultdict[tuple[RunnableOption, str], list[bool]] = defaultdict(list)
    for option, own, came in (one for seed in range(500) for one in replicate(world, seed)):
        found[option, own.source].append(is_covered(own, came))
    for (option, source), covered in found.items():
        assert np.mean(covered) >= (0.92 if source == PILOT else 0.87), option


def pilot(success: dict[str, dict[int, list[float]]], attempts: Mapping[str, Any] | None = None) -> Pilot:
    tasks = tuple(f"t{place}" for place in range(len(next(iter(next(iter(success.values())).values())))))
    lines = {}
    for name, by_n in success.items():
        solved = {n: dict(zip(tasks, own, strict=True)) for n, own in by_n.items()}
        spent = {n: dict.fromkeys(tasks, 2.0 * n) for n in by_n}
        lines[name] = PilotLine(name, "", solved, spent, (attempts or {}).get(name, {}), name != "search")
    return Pilot("E", "train", "a", tasks, 0, "calls", attempts is not None, lines)


def of_tasks(n: int, attempts: Callable[[int], list[PilotAttempt]]) -> dict[str, list[list[PilotAttempt]]]:
    return {f"t{place}": [attempts(place)] for place in range(n)}


def test_the_predictions_of_small_pilots_are_those_that_were_looked_at() -> None:
    """What smaller n, n between those of the pilot, and larger ones give; and of which n nothing is said."""
    grades = [0.5 + 0.1 * (place % 3) for place in range(60)]
    pair = of_tasks(60, lambda at: [PilotAttempt(grades[at] - less, 1 - less, key=str(less)) for less in (0, 0.2)])
    graded = pilot({"bon": {2: grades}}, {"bon": pair})
    verified = pilot({"single": {1: [0.0, 1.0]}, "bon": {4: [1.0, 1.0]}})
    single, bon = verified.lines.values()  # in calls, best-of-n takes 2n; the reference takes one, and no verdict
    single = replace(single, spent={1: dict.fromkeys(verified.tasks, 1.0)})
    bon = replace(bon, spent={4: dict.fromkeys(verified.tasks, 8.0)}, checking={4: dict.fromkeys(verified.tasks, 4.0)})
    some_failed = {"bon": of_tasks(10, lambda at: [RIGHT] if at < 5 else [])}
    easy = {"bon": of_tasks(20, lambda at: [RIGHT, RIGHT] if at < 10 else [WRONG, WRONG])}
    tree = pilot({"single": {1: [0.0] * 60 + [1.0] * 40}, "tree": {4: [0.0] * 20 + [1.0] * 80}})
    luck = [place % 4 != 0 for place in range(40)]
    lucky = {
        "single": of_tasks(40, lambda at: [RIGHT if luck[at] else WRONG]),
        "bon": of_tasks(40, lambda at: [RIGHT, WRONG] if luck[at] else [WRONG, RIGHT]),
        "iad": of_tasks(40, lambda at: [RIGHT if luck[at] else WRONG, WRONG]),
    }
    solved = {"single": {1: [*map(float, luck)]}, "bon": {2: [1.0] * 40}, "iad": {2: [*map(float, luck)]}}
    cases: dict[str, tuple[Pilot, dict[str, Any]]] = {
        "several decisions": (tree, {"ns": (2, 8, 16)}),
        "grades as successes": (graded, {"ns": (1, 2, 4)}),
        "grades": (replace(graded, metric="reward"), {"ns": (1, 2, 4)}),
        "one n, no reference": (pilot({"tree": {4: [0.0, 1.0]}}), {}),
        "an n that counts something else": (pilot({"single": {1: [0.0, 1.0]}, "search": {4: [0.0, 1.0]}}), {}),
        "two n": (pilot({"tree": {4: [0.0, 1.0], 8: [1.0, 1.0]}}), {"ns": (2, 6)}),
        "one attempt, and failures": (pilot({"bon": {1: [1.0] * 5 + [0.0] * 5}}, some_failed), {"ns": (1, 2)}),
        "lucky first samples": (pilot(solved, lucky), {"ns": (2,)}),
        "no success": (pilot({"single": {1: [0.0] * 10}}), {"n_tasks": 10}),
        "many further tasks": (pilot({"single": {1: [0.0, 1.0] * 50}}), {"n_tasks": 2000}),
        "few further tasks": (pilot({"single": {1: [0.0, 1.0] * 50}}), {"n_tasks": 20}),
        "verdicts are paid": (replace(verified, lines={"single": single, "bon": bon}), {"ns": (1, 2, 8)}),
        "easy tasks stay easy": (pilot({"bon": {2: [1.0] * 10 + [0.0] * 10}}, easy), {"ns": (8,)}),
    }
    found = {name: predict(given, **asked) for name, (given, asked) in cases.items()}

    def figures(one: Any) -> list[Any]:
        told = [one.success, one.success_95, one.spent, one.spent_95, one.source, one.grain, one.calls]
        return [*told, one.rates.std(), one.by_task.min(), one.by_task.max()]

    shown = {
        name: {f"{option.line} {option.n}": figures(one) for option, one in of_pilot.items()}
        for name, of_pilot in found.items()
    }
    require_snapshot("predictions.json", shown)
    last, beyond = (found["several decisions"][RunnableOption("tree", n)] for n in (4, 8))
    # From no further change to the same change again, which is that of the log odds per doubling of n.
    again = 1 / (1 + np.exp(-(np.log(4) + (np.log(4) + np.log(1.5)) / 2)))
    assert last.success < beyond.success < again
    assert [one.success for one in found["lucky first samples"].values()][::2] == pytest.approx([0.5, 0.5], abs=0.02)
    assert [one.spent for one in found["verdicts are paid"].values()] == pytest.approx([1, 2, 4, 8, 16])


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_attempts_that_are_all_right_equally_often_follow_their_rate_beyond_the_pilot(rate: float) -> None:
    """A verifier that knows solves a task with 1 - (1 - rate)^n, which is near the upper end of the model."""
    rng = np.random.default_rng(1)
    attempts = of_tasks(2000, lambda at: [RIGHT if rng.random() < rate else WRONG for _ in range(4)])
    found = predict(pilot({"bon": {4: [0.0] * 2000}}, {"bon": attempts}), ns=(2, 4, 8, 16))
    for (_, n), option in found.items():
        true = 1 - (1 - rate) ** n
        assert option.source == (PILOT if n <= 4 else MODEL)
        if n <= 4:
            assert option.success == pytest.approx(true, abs=0.03)
        else:
            assert option.rates.min() < true - 0.03 < option.rates.max() == pytest.approx(true, abs=0.07)


def test_one_task_won_and_none_lost_is_no_certainty() -> None:
    """One more of each kind is in the draws: as often as a vote of 1 to 0 for the better one, .82 to .88."""
    for n_won, low, high in ((1, 0.8, 0.93), (6, 0.98, 1.01)):
        given = pilot({"single": {1: [0.0] * 12}, "tree": {4: [1.0] * n_won + [0.0] * (12 - n_won)}})
        single, tree = predict(given, ns=(4,)).values()
        assert low < np.mean(tree.rates > single.rates) < high
    for wrong, said in (({"ns": (2, 1000)}, "n of at most 256, got 1000"), ({"n_tasks": 0}, "1 further task or more")):
        with pytest.raises(ValueError, match=said):
            predict(pilot({"single": {1: [0.0, 1.0]}}), **wrong)

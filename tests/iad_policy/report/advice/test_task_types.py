"""The model of tasks: its formulas against simulations, and what it learns from attempts."""

import math

import numpy as np
import pytest

from iad_policy.report.advice.pilot import PilotAttempt
from iad_policy.report.advice.task_types import (
    LINKS,
    ODDS,
    RATES,
    SHARES,
    UPTAKES,
    draws,
    refining,
    selecting,
    voting,
)

N = 4000


def simulated_best(n: int, rate: float, odds: float, *, is_normal: bool) -> float:
    rng = np.random.default_rng(0)
    right = rng.random((N, n)) < rate
    if is_normal:
        ahead = math.sqrt(2) * _inverse(odds / (1 + odds))
        scores = rng.standard_normal((N, n)) + ahead * right
    else:
        scores = rng.gumbel(size=(N, n)) + math.log(odds) * right
    return float(right[np.arange(N), scores.argmax(axis=1)].mean())


def _inverse(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


@pytest.mark.parametrize("n", [1, 3, 16])
def test_the_best_of_n_is_right_as_often_as_in_a_simulation(n: int) -> None:
    found = selecting([[PilotAttempt(True, 1.0)]]).success(n).reshape(len(LINKS), len(RATES), len(ODDS))
    for rate, odds in ((4, 2), (6, 6), (3, 7)):
        for place, is_normal in enumerate((False, True)):
            expected = simulated_best(n, RATES[rate], ODDS[odds], is_normal=is_normal)
            assert found[place, rate, odds] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_most_frequent_answer_is_right_as_often_as_in_a_simulation(n: int) -> None:
    found = voting([[PilotAttempt(True, 1.0, (0, "a"))]]).success(n).reshape(len(RATES), len(SHARES), len(SHARES))
    rng = np.random.default_rng(0)
    for rate, right, wrong in ((5, 3, 1), (6, 1, 2), (8, 2, 3)):
        won = 0.0
        for _ in range(N):
            is_right = rng.random(n) < RATES[rate]
            agrees = rng.random(n) < np.where(is_right, SHARES[right], SHARES[wrong])
            votes = [
                f"{own}" if same else f"{own}{place}"
                for place, (own, same) in enumerate(zip(is_right, agrees, strict=True))
            ]
            won += is_right[votes.index(max(votes, key=votes.count))]
        assert found[rate, right, wrong] == pytest.approx(won / N, abs=0.03)


def test_scores_that_say_nothing_speak_for_even_odds() -> None:
    blind = [[PilotAttempt(place % 2 == 0, 0.5) for place in range(4)] for _ in range(40)]
    keen = [[PilotAttempt(place % 2 == 0, float(place % 2 == 0)) for place in range(4)] for _ in range(40)]
    perverse = [[PilotAttempt(place % 2 == 0, float(place % 2 == 1)) for place in range(4)] for _ in range(40)]
    found = [draws(selecting(own), [16], np.random.default_rng(0)).mean() for own in (perverse, blind, keen)]
    assert found[0] < 0.1
    assert found[1] == pytest.approx(0.5, abs=0.06)
    assert found[2] > 0.95


def test_feedback_that_helps_is_told_from_feedback_that_does_not() -> None:
    rng = np.random.default_rng(0)
    wrong, right = PilotAttempt(False, 0.0, key="w"), PilotAttempt(True, 1.0, key="r")

    def chains(share: float) -> list[list[PilotAttempt]]:
        return [[wrong, *(right if rng.random() < share else wrong for _ in range(3))] for _ in range(60)]

    own = [[wrong, wrong, right, wrong] for _ in range(60)]  # a quarter of independent attempts is right
    found = [draws(refining(own, chains(share)), [16], rng).mean() for share in (0.0, 0.25)]
    assert found[0] < 0.35
    assert found[1] > 0.9
    assert len(UPTAKES) * len(LINKS) == refining(own, chains(0.1)).likelihoods.shape[0]


def test_few_tasks_and_few_attempts_leave_more_open() -> None:
    def spread(n_tasks: int, n_attempts: int) -> float:
        own = [[PilotAttempt(False, 0.0)] * n_attempts for _ in range(n_tasks)]
        return float(np.std(draws(selecting(own), [16], np.random.default_rng(0))))

    assert spread(5, 2) > 1.5 * spread(60, 2)
    assert spread(60, 2) > 1.5 * spread(60, 40)

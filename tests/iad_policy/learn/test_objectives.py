"""Objectives: their slopes, and the optima that they are known to have."""

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iad_policy.learn.objectives import Clipped, Objective, Preference, cross_entropy, logistic, squared_error
from iad_policy.trained.heads import Array
from tests.iad_policy.learn.bandits import policy, probabilities, pull

N = 6
STEP = 1e-6


def numbers(seed: int, n: int = N) -> Array:
    return np.random.default_rng(seed).normal(0, 1, n)


def stored(seed: int) -> dict[str, Array]:
    """Everything that any objective reads, at random."""
    rng = np.random.default_rng(seed + 1)
    return {
        "weight": rng.uniform(0.5, 2, N),
        "target": rng.uniform(0, 1, N),
        "reference": -rng.exponential(1, N),
        "behaviour": -rng.exponential(1, N),
        "advantage": rng.normal(0, 1, N),
        "side": np.array([0, 0, 1, 2, 3, 3], float),
        "p": np.array([0.9, 0.9, 0.9, 0.6, 0.6, 0.6]),
    }


OBJECTIVES: dict[str, Objective] = {
    "cross entropy": cross_entropy,
    "squared error": squared_error,
    "logistic": logistic,
    "preference": Preference(beta=0.7),
    "preference with cloning": Preference(beta=0.7, sft_weight=0.3),
    "clipped": Clipped(kl=0.2),
    "clipped higher": Clipped(high=0.28),
}


@pytest.mark.parametrize("name", list(OBJECTIVES))
@given(seed=st.integers(0, 10_000))
@example(seed=9420)  # its value is large
def test_slopes_are_those_of_finite_differences(name: str, seed: int) -> None:
    objective, at, given_with = OBJECTIVES[name], numbers(seed), stored(seed)
    found = objective(at, given_with).slopes
    for row in range(N):
        moved = np.zeros(N)
        moved[row] = STEP
        up, down = objective(at + moved, given_with).value, objective(at - moved, given_with).value
        rounding = np.finfo(float).eps * max(abs(up), abs(down)) / STEP  # of large values, as of large ratios
        assert found[row] == pytest.approx((up - down) / (2 * STEP), rel=1e-8, abs=1e-6 + 4 * rounding)


@pytest.mark.parametrize(("beta", "best"), [(0.5, 0.7), (1.0, 0.5), (2.0, 0.395644)])
def test_soft_preferences_end_at_the_reference_times_the_odds(beta: float, best: float) -> None:
    # pi(a) / pi(b) = (.3 / .7) * (.7 / .3)^(1 / beta) for two arms with the reference (.3, .7) and p = .7.
    model = policy([0.3, 0.7], rate=0.05)
    batch = model.batch([pull(0), pull(1)])
    given_with = {"side": np.array([0.0, 1.0]), "p": np.full(2, 0.7), "reference": model.outputs(batch)}
    for _ in range(600):
        model.step(batch, Preference(beta), given_with)
    assert probabilities(model)[0] == pytest.approx(best, abs=1e-4)


def test_soft_labels_of_values_end_at_the_reference_times_exp_q_over_beta() -> None:
    start, q, beta = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.9, 0.1, 0.5, 0.3]), 0.8
    model = policy(start.tolist(), rate=0.03)
    pairs = [(one, other) for one, other in permutations(range(4), 2) if q[one] > q[other]]
    batch = model.batch([pull(arm) for pair in pairs for arm in pair])
    p = np.repeat([1 / (1 + np.exp(q[other] - q[one])) for one, other in pairs], 2)
    given_with = {"side": np.arange(2.0 * len(pairs)), "p": p, "reference": model.outputs(batch)}
    for _ in range(2000):
        model.step(batch, Preference(beta), given_with)
    best = start * np.exp(q / beta)
    assert probabilities(model) == pytest.approx(best / best.sum(), abs=1e-3)


def test_the_log_probability_of_an_episode_is_the_sum_over_its_actions() -> None:
    both, p = [numbers(5, 5), numbers(6, 5)], np.ones(5)
    at, reference = ([one[:3].sum(), one[3:].sum()] for one in both)
    long = Preference(0.3)(both[0], {"side": np.array([0.0, 0, 0, 1, 1]), "p": p, "reference": both[1]})
    one_each = {"side": np.array([0.0, 1.0]), "p": p[:2], "reference": np.array(reference)}
    short = Preference(0.3)(np.array(at), one_each)
    assert long.value == pytest.approx(short.value)
    assert long.slopes == pytest.approx(short.slopes[[0, 0, 0, 1, 1]])


@pytest.mark.parametrize(
    ("rho", "advantage", "slope"),
    [(1.5, 1.0, 0.0), (1.5, -1.0, 1.5), (0.5, -1.0, 0.0), (0.5, 1.0, -0.5), (1.0, 2.0, -2)],
)
def test_the_clip_stops_what_went_far_enough(rho: float, advantage: float, slope: float) -> None:
    given_with = {"behaviour": np.array([-1.0]), "advantage": np.array([advantage])}
    assert Clipped()(np.array([-1.0 + np.log(rho)]), given_with).slopes == pytest.approx([slope])


def test_at_the_sampling_policy_the_surrogate_is_reinforce() -> None:
    at, advantage = -np.abs(numbers(7)), numbers(8)
    found = Clipped()(at, {"behaviour": at, "advantage": advantage})
    assert found.slopes == pytest.approx(-advantage / N)


def test_the_penalty_is_zero_at_the_reference_and_an_estimate_of_the_kl() -> None:
    rng = np.random.default_rng(0)
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.3, 0.4])
    drawn = rng.choice(3, 20_000, p=p)
    given_with = {"behaviour": np.log(p)[drawn], "advantage": np.zeros(len(drawn)), "reference": np.log(q)[drawn]}
    found = Clipped(kl=1.0)(np.log(p)[drawn], given_with).value
    assert found == pytest.approx(float((p * np.log(p / q)).sum()), abs=0.02)
    same = Clipped(kl=1.0)(np.log(p)[drawn], {**given_with, "reference": np.log(p)[drawn]})
    assert same.value == pytest.approx(0.0)
    assert same.slopes == pytest.approx(np.zeros(len(drawn)))


@pytest.mark.parametrize("objective", [Preference(0.1), Clipped(), logistic], ids=["preference", "clipped", "logistic"])
def test_far_from_the_start_losses_stay_numbers(objective: Callable[..., object]) -> None:
    at = np.array([-300.0, 0.0, -300.0, 0.0, -200.0, 0.0])
    found = objective(at, stored(1))
    assert np.isfinite(found.value)  # type: ignore[attr-defined]
    assert np.isfinite(found.slopes).all()  # type: ignore[attr-defined]

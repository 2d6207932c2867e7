"""Intervals and tests against tables, SciPy, enumeration, and experiments whose truth is known."""

from collections.abc import Callable
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_policy.report.statistics import (
    MANY,
    bootstrap_mean,
    by_cluster,
    detectable_mean,
    discordance,
    holm,
    mcnemar_exact,
    mean_interval,
    minimum_detectable_effect,
    pass_at_k,
    pass_hat_k,
    sign_flip,
    wilson,
)

N_TABLES = 150


@pytest.mark.parametrize(
    ("n_successes", "n", "low", "high"),
    [  # Newcombe 1998, table I: the score interval without continuity correction
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_is_newcombes_table(n_successes: int, n: int, low: float, high: float) -> None:
    assert wilson(n_successes, n) == pytest.approx((low, high), abs=5e-5)
    assert wilson(n - n_successes, n) == pytest.approx((1 - high, 1 - low), abs=5e-5)


def test_the_bootstrap_is_close_to_the_normal_interval_and_repeatable() -> None:
    values = np.random.default_rng(1).normal(0.5, 0.2, 400)
    half = 1.96 * values.std() / 20
    found = bootstrap_mean(values.tolist(), seed=3)
    assert found == pytest.approx((values.mean() - half, values.mean() + half), abs=0.1 * half)
    assert bootstrap_mean(values.tolist(), seed=3) == found != bootstrap_mean(values.tolist(), seed=4)
    assert bootstrap_mean([0.25] * 5) == (0.25, 0.25)
    # Many values are drawn in blocks, of which the last one is smaller.
    assert bootstrap_mean([0.0, 1.0] * (MANY // 2), n_resamples=1210) == pytest.approx((0.4781, 0.5219), abs=2e-3)


def test_the_interval_of_equal_values_is_wilsons_over_tasks() -> None:
    assert mean_interval([0.0] * 20) == wilson(0, 20)
    assert mean_interval([1.0] * (MANY + 1)) == wilson(MANY + 1, MANY + 1)
    assert mean_interval([1 / 3] * 6) == wilson(2, 6)
    assert mean_interval([1.0 + 1e-15] * 6) == wilson(6, 6)
    assert mean_interval([0.0, 0.5, 1.0], seed=1) == bootstrap_mean([0.0, 0.5, 1.0], seed=1)
    assert mean_interval([7.0] * 3) == (7.0, 7.0), "how much values of another range vary is not known"


@given(value=st.floats(0, 1), n=st.integers(1, 300))
def test_the_interval_of_equal_values_has_a_width_and_holds_their_mean(value: float, n: int) -> None:
    low, high = mean_interval([value] * n)
    assert 0 <= low <= value + 1e-9
    assert value - 1e-9 <= high <= 1
    assert high - low > 1 / (n + 4)


def test_clusters_are_resampled_whole() -> None:
    """In any order; one value each is no cluster; seeds that agree are no further tasks."""
    for clusters, expected in (("bac", ([0.5, 0.25, 1.0], [1.0] * 3)), ("bab", ([1.5, 0.25], [2.0, 1.0]))):
        assert tuple(one.tolist() for one in by_cluster([0.5, 0.25, 1.0], list(clusters))) == expected
    tasks = np.random.default_rng(12).random(40)
    values, clusters = np.repeat(tasks, 4).tolist(), np.repeat(np.arange(40), 4).tolist()
    naive, clustered = bootstrap_mean(values), bootstrap_mean(values, clusters=clusters)
    assert clustered == bootstrap_mean(tasks.tolist())
    assert np.ptp(clustered) / np.ptp(naive) == pytest.approx(2, rel=0.15)
    assert bootstrap_mean([0.2, 0.4], clusters=["one", "one"]) == pytest.approx((0.3, 0.3))


def test_tests_on_random_tables_are_enumerated() -> None:
    rng = np.random.default_rng(7)
    for _ in range(N_TABLES):
        signs = rng.choice([-1.0, 0.0, 1.0], size=int(rng.integers(1, 10)), p=[0.2, 0.4, 0.4])
        patterns = np.array(list(product([-1, 1], repeat=int(np.count_nonzero(signs)))))
        extreme = np.abs(patterns @ np.abs(signs[signs != 0])) >= abs(signs.sum())
        p = float(extreme.mean())
        assert mcnemar_exact(int((signs > 0).sum()), int((signs < 0).sum())) == pytest.approx(p)
        assert sign_flip(signs.tolist()) == pytest.approx(p)
        values = rng.normal(0.3, 1, size=int(rng.integers(2, 9)))
        flipped = np.abs(np.array(list(product([-1, 1], repeat=values.size))) @ values)
        p = float((flipped >= abs(values.sum()) - 1e-12).mean())
        assert sign_flip(values.tolist()) == pytest.approx(p)


def test_sign_flip_by_chance_is_near_the_enumerated_one() -> None:
    values = np.random.default_rng(9).normal(0.35, 1, size=14).tolist()
    exact, drawn = sign_flip(values, n_resamples=1 << 14), sign_flip(values, n_resamples=8000)
    assert exact != drawn == pytest.approx(exact, abs=0.02)
    assert sign_flip([0.0, 0.0]) == sign_flip([0.7]) == 1.0


def test_holm_is_the_worked_example_and_the_closed_test_on_random_tables() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    rng = np.random.default_rng(10)
    for _ in range(N_TABLES):
        p_values = rng.uniform(0, 0.4, size=int(rng.integers(1, 6))).tolist()
        places = range(len(p_values))
        subsets = [own for size in range(1, len(p_values) + 1) for own in combinations(places, size)]
        bonferroni = {own: min(1.0, len(own) * min(p_values[one] for one in own)) for own in subsets}
        # A hypothesis falls when every intersection that holds it falls to Bonferroni's test.
        closed = [max(p for own, p in bonferroni.items() if place in own) for place in places]
        assert holm(p_values) == pytest.approx(closed)


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.data())
def test_pass_at_k_and_pass_hat_k_are_shares_of_choices(samples: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(samples)))
    for estimate, of in ((pass_at_k, any), (pass_hat_k, all)):
        share = np.mean([of(chosen) for chosen in combinations(samples, k)])
        assert estimate(len(samples), sum(samples), k) == pytest.approx(share)


def test_detectable_effects_are_the_formula_by_hand() -> None:
    assert minimum_detectable_effect(0.25, 100) == pytest.approx((1.959964 + 0.841621) * 0.05, rel=1e-6)
    assert (discordance(0, 98), discordance(24, 98)) == (0.01, 0.25)
    assert detectable_mean([0.5]) is None
    assert detectable_mean([0.5, 0]) == pytest.approx(minimum_detectable_effect(0.125, 2))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        *((partial(wilson, k, n), "n_successes") for k, n in ((1, 0), (-1, 3), (4, 3))),
        *((partial(estimate, *given), "1 <= k <= n_samples") for estimate in (pass_at_k, pass_hat_k)
          for given in ((3, 4, 1), (3, 1, 0), (3, 1, 4))),
        (partial(bootstrap_mean, []), "at least one"),
        (partial(bootstrap_mean, [0.2, 0.4], clusters=["one"]), "a cluster for each"),
        (partial(minimum_detectable_effect, 0.25, 0), "n of 1"),
    ],
)  # fmt: skip
def test_what_no_figure_can_be_made_of_is_refused(call: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.slow
def test_intervals_cover_the_truth_in_95_of_100_experiments() -> None:
    """Success of 60 tasks with their own difficulty, three seeds each: a rate, a mean and a paired difference."""
    n_experiments = 2000
    rng = np.random.default_rng(13)
    tasks = np.repeat(np.arange(60), 3).tolist()
    below = 0.5248  # the chance that beta(2, 3) is below 0.4: 1 - 0.6^4 - 4 * 0.4 * 0.6^3
    covered = dict.fromkeys(("wilson", "mean", "difference"), 0)
    for place in range(n_experiments):
        low, high = wilson(int(rng.binomial(100, 0.4)), 100)
        covered["wilson"] += low <= 0.4 <= high
        difficulty = np.repeat(rng.beta(2, 3, size=60), 3)
        base = rng.random(180) < difficulty
        better = rng.random(180) < np.minimum(1, difficulty + 0.2 * (difficulty < 0.4))
        low, high = bootstrap_mean(base.tolist(), clusters=tasks, seed=place, n_resamples=1000)
        covered["mean"] += low <= 0.4 <= high  # the mean of beta(2, 3)
        difference = (better.astype(float) - base).tolist()
        low, high = bootstrap_mean(difference, clusters=tasks, seed=place, n_resamples=1000)
        covered["difference"] += low <= 0.2 * below <= high
    assert all(abs(n / n_experiments - 0.95) <= 0.02 for n in covered.values()), covered


def test_many_values_are_as_if_resampled_and_flipped_one_by_one() -> None:
    rng = np.random.default_rng(3)
    n = MANY + 100
    clusters = np.unique(np.sort(rng.integers(n, size=3 * n)), return_inverse=True)[1]  # of many sizes
    values = (rng.lognormal(0, 1, n) - 1.6)[clusters]
    sums, sizes = np.bincount(clusters, weights=values), np.bincount(clusters)
    picked = (rng.integers(sums.size, size=sums.size) for _ in range(600))
    means = [sums[places].sum() / sizes[places].sum() for places in picked]
    flipped = (2.0 * rng.integers(2, size=(600, sums.size), dtype=np.int8) - 1) @ sums
    low, high = np.quantile(means, [0.025, 0.975])
    assert bootstrap_mean(values.tolist(), clusters=clusters.tolist()) == pytest.approx(
        (low, high), abs=0.08 * (high - low)
    )
    assert sign_flip(sums.tolist()) == pytest.approx(np.mean(np.abs(flipped) >= abs(values.sum())), abs=0.05)
    # Their interval holds no mean that they can't have.
    rare = [1.0] * 2 + [0.0] * MANY
    assert bootstrap_mean(rare).low == 0.0 < bootstrap_mean(rare).high < 0.01
    assert bootstrap_mean([-value for value in rare]).high == 0.0
    assert bootstrap_mean([0.3] * (MANY + 1)) == (0.3, 0.3)

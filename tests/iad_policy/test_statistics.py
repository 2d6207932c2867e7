import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_policy.evaluation.statistics import (
    bootstrap_mean,
    discordance,
    holm,
    mcnemar_exact,
    minimum_detectable_effect,
    wilson,
)


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


@given(st.integers(1, 500), st.data())
def test_wilson_holds_the_rate_and_mirrors(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    low, high = wilson(k, n)
    assert 0 <= low <= k / n + 1e-12
    assert k / n - 1e-12 <= high <= 1
    assert wilson(n - k, n) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize(("k", "n"), [(1, 0), (-1, 3), (4, 3)])
def test_wilson_refuses_impossible_counts(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="n_successes"):
        wilson(k, n)


def test_bootstrap_is_close_to_the_normal_interval_and_repeatable() -> None:
    values = np.random.default_rng(1).normal(0.5, 0.2, 400)
    half = 1.96 * values.std() / 20
    found = bootstrap_mean(values.tolist(), seed=3)
    assert found == pytest.approx((values.mean() - half, values.mean() + half), abs=0.1 * half)
    assert bootstrap_mean(values.tolist(), seed=3) == found
    assert bootstrap_mean(values.tolist(), seed=4) != found


def test_bootstrap_of_equal_values_is_a_point_and_of_none_an_error() -> None:
    assert bootstrap_mean([0.25] * 5) == (0.25, 0.25)
    with pytest.raises(ValueError, match="at least one"):
        bootstrap_mean([])


def test_bootstrap_of_many_values_works_in_blocks() -> None:
    values = [0.0, 1.0] * 5000
    low, high = bootstrap_mean(values, n_resamples=1200)
    assert (low, high) == pytest.approx((0.4902, 0.5098), abs=2e-3)


@pytest.mark.parametrize(
    ("n_better", "n_worse", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (6, 0, 2 / 64), (5, 1, 2 * 7 / 64), (3, 3, 1.0), (10, 2, 2 * 79 / 4096)],
)
def test_mcnemar_is_the_binomial_by_hand(n_better: int, n_worse: int, p: float) -> None:
    assert mcnemar_exact(n_better, n_worse) == pytest.approx(p)
    assert mcnemar_exact(n_worse, n_better) == pytest.approx(p)


def test_mcnemar_takes_thousands_of_pairs() -> None:
    assert mcnemar_exact(2600, 2400) == pytest.approx(0.0049, abs=3e-4)


def test_holm_is_the_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(after >= before for before, after in zip(p_values, adjusted, strict=True))
    assert all(after <= 1 for after in adjusted)
    pairs = sorted(zip(p_values, adjusted, strict=True))
    assert all(a[1] <= b[1] for a, b in pairwise(pairs))


def test_detectable_effect_is_the_formula_by_hand() -> None:
    assert minimum_detectable_effect(0.25, 100) == pytest.approx((1.959964 + 0.841621) * 0.05, rel=1e-6)
    assert math.isclose(minimum_detectable_effect(0.25, 400) * 2, minimum_detectable_effect(0.25, 100))
    with pytest.raises(ValueError, match="n of 1"):
        minimum_detectable_effect(0.25, 0)


def test_discordance_is_never_nothing() -> None:
    assert discordance(0, 98) == 0.01
    assert discordance(24, 98) == 0.25

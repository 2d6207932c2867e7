"""Intervals and tests for paired comparisons; values between 0 and 1 unless said otherwise."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

CONFIDENCE = 0.95
POWER = 0.8
N_RESAMPLES = 10_000
MANY = 2_000
"""Values from which on they are resampled by the binful."""
N_BINS = 48
_MAX_CELLS = 5_000_000  # of one block of resampled indices: 40 MB


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def wilson(n_successes: int, n: int, *, confidence: float = CONFIDENCE) -> Interval:
    """Return Wilson's score interval of a rate (Wilson 1927; no continuity correction)."""
    if not 0 <= n_successes <= n or n == 0:
        raise ValueError(f"expected 0 <= n_successes <= n and n > 0, got {n_successes} of {n}")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = n_successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def bootstrap_mean(
    values: Sequence[float], *, seed: int = 0, n_resamples: int = N_RESAMPLES, confidence: float = CONFIDENCE
) -> Interval:
    """Return the percentile bootstrap interval of a mean; for paired data pass the differences per task."""
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        raise ValueError("expected at least one value to resample, got none")
    rng = np.random.default_rng(seed)
    means = _means_of_many(data, rng, n_resamples) if data.size > MANY else _means(data, rng, n_resamples)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(low), float(high))


def _means(data: "np.ndarray[Any, np.dtype[np.float64]]", rng: np.random.Generator, n_resamples: int) -> Any:
    block = max(1, _MAX_CELLS // data.size)
    means = [
        data[rng.integers(data.size, size=(min(block, n_resamples - done), data.size))].mean(axis=1)
        for done in range(0, n_resamples, block)
    ]
    return np.concatenate(means)


def _means_of_many(data: "np.ndarray[Any, np.dtype[np.float64]]", rng: np.random.Generator, n_resamples: int) -> Any:
    """Return resampled means by drawing how many values fall in each of a few bins instead of which ones.

    Exact where the bins hold equal values, as scores mostly are; the sum of many draws from one narrow bin is normal.
    """
    evenly = np.linspace(0, 1, N_BINS // 2 + 1)[1:]
    edges = np.quantile(data, evenly, method="higher")  # and some by value, so that outliers stand apart
    edges = np.unique(np.concatenate([edges, data.min() + evenly * np.ptp(data), [data.max()]]))
    edges = edges[np.diff(np.searchsorted(np.sort(data), edges, side="right"), prepend=0) > 0]
    place = np.searchsorted(edges, data)
    size = np.bincount(place, minlength=edges.size)
    mean = np.bincount(place, weights=data, minlength=edges.size) / size
    variance = np.bincount(place, weights=(data - mean[place]) ** 2, minlength=edges.size) / size
    drawn = rng.multinomial(data.size, size / data.size, size=n_resamples)
    within = np.sqrt(drawn @ variance) * rng.standard_normal(n_resamples)
    return (drawn @ mean + within) / data.size


def mcnemar_exact(n_better: int, n_worse: int) -> float:
    """Return the two-sided exact p-value that tasks solved by one strategy only fall evenly on both (McNemar 1947).

    Args:
        n_better: Tasks that only the strategy solved.
        n_worse: Tasks that only the baseline solved.
    """
    n = n_better + n_worse
    ways = tail = 1
    for k in range(min(n_better, n_worse)):
        ways = ways * (n - k) // (k + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << n))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number, in the order given (Holm 1979)."""
    adjusted = [0.0] * len(p_values)
    running = 0.0
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for rank, place in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = running
    return adjusted


def minimum_detectable_effect(variance: float, n: int, *, power: float = POWER) -> float:
    """Return the smallest true mean of n paired differences that a two-sided 5 % test finds with this power.

    Args:
        variance: Of the differences, per task.
        n: Tasks.
        power: Chance to find it.
    """
    if n < 1:
        raise ValueError(f"expected n of 1 or more, got {n}")
    normal = NormalDist()
    return (normal.inv_cdf((1 + CONFIDENCE) / 2) + normal.inv_cdf(power)) * math.sqrt(variance / n)


def discordance(n_discordant: int, n: int) -> float:
    """Return the share of tasks that only one of two strategies solves, smoothed by one task of either kind.

    It is the variance of the paired difference in success where there is none, and, smoothed, never 0.
    """
    return (n_discordant + 1) / (n + 2)

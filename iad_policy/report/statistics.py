"""Intervals and tests for paired comparisons. Values are between 0 and 1 unless stated otherwise.

Exact tests and intervals come from SciPy. Importing it takes half a second of CPU, so it is imported late.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

CONFIDENCE = 0.95
N_RESAMPLES = 10_000
MANY = 2_000
"""Number of clusters above which a mean or sum is treated as normal. Resampling would only add noise."""
ROUNDING = 1e-9
"""Largest error by which a mean of equal values, or a cosine, is beside the exact one."""

_Vector = np.ndarray[Any, np.dtype[np.float64]]


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def wilson(n_successes: int, n: int) -> Interval:
    """Return Wilson's score interval of a rate (Wilson 1927, without continuity correction)."""
    if not 0 <= n_successes <= n or n == 0:
        raise ValueError(f"expected 0 <= n_successes <= n and n > 0, got {n_successes} of {n}")
    from scipy.stats import binomtest

    found = binomtest(n_successes, n).proportion_ci(CONFIDENCE, "wilson")
    return Interval(float(found.low), float(found.high))


def bootstrap_mean(
    values: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> Interval:
    """Return the percentile bootstrap interval of a mean. For paired data, pass the differences.

    Whole clusters are resampled. Plain percentiles are too narrow for few clusters, so the tails are widened by their
    number, as in Hesterberg (2015, "What teachers should know about the bootstrap", 5.3). With more than `MANY`
    clusters the mean is treated as normal and nothing is resampled.

    Args:
        values: One value per episode.
        clusters: Cluster of each value, such as its task if tasks have several seeds. By default each value is its own
            cluster.
        seed: Seed of the resampling.
        n_resamples: Number of resamples.
    """
    sums, sizes = by_cluster(values, clusters)
    n = sums.size
    if n == 1:
        mean = float(sums[0] / sizes[0])
        return Interval(mean, mean)
    if n > MANY:
        n_values, means = float(sizes.sum()), sums / sizes
        mean = float(sums.sum()) / n_values
        spread = math.sqrt(float(np.square(sums - mean * sizes).sum()))  # numpy.linalg.norm would start threads
        half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * spread / n_values
        low, high = np.clip([mean - half, mean + half], means.min(), means.max())
        return Interval(float(low), float(high))
    rng, is_even = np.random.default_rng(seed), bool(np.all(sizes == sizes[0]))
    block = max(1, 100_000 // n)  # so many values drawn at once fit in the processor's cache
    resampled = []
    for done in range(0, n_resamples, block):
        drawn = rng.integers(n, size=(min(block, n_resamples - done), n))
        resampled.append(sums.take(drawn).sum(axis=1) / (n * sizes[0] if is_even else sizes.take(drawn).sum(axis=1)))
    tail = tail_of(n)
    low, high = np.quantile(np.concatenate(resampled), [tail, 1 - tail])
    return Interval(float(low), float(high))


def mean_interval(values: Sequence[float], *, seed: int = 0, n_resamples: int = N_RESAMPLES) -> Interval:
    """Return the bootstrap interval of a mean over tasks, each with one value.

    Where all tasks have the same value, a bootstrap has nothing to resample and is of no width. If the values are
    between 0 and 1, the interval is Wilson's over tasks, as if each task were 0 or 1 as a whole. No other tasks with
    this mean vary more. How much values of another range may vary is not known, so they keep the interval of no width.
    """
    if not np.allclose(values, values[:1]) or not is_bounded(values):
        return bootstrap_mean(values, seed=seed, n_resamples=n_resamples)
    return wilson(round(math.fsum(values)), len(values))


def paired_interval(
    differences: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> Interval:
    """Return the bootstrap interval of the mean of paired differences between -1 and 1.

    Where all clusters differ by the same amount, a bootstrap has nothing to resample and would be of no width. Then the
    interval allows for the largest share of other clusters that is likely not to be met among so many (Clopper and
    Pearson 1934), each with the largest difference in either direction.
    """
    sums, sizes = by_cluster(differences, clusters)
    means = sums / sizes
    if np.ptp(means) > 0:
        return bootstrap_mean(differences, clusters=clusters, seed=seed, n_resamples=n_resamples)
    unseen = 1 - ((1 - CONFIDENCE) / 2) ** (1 / means.size)
    middle = float(means[0]) * (1 - unseen)
    return Interval(max(-1.0, middle - unseen), min(1.0, middle + unseen))


def is_bounded(values: Iterable[float]) -> bool:
    """Return whether all values are between 0 and 1.

    Rewards and the scores of others may have any range. Those that were given say whether it is that of the others.
    """
    return all(-ROUNDING <= value <= 1 + ROUNDING for value in values)


def by_cluster(values: Sequence[float], clusters: Sequence[Hashable] | None) -> tuple[_Vector, _Vector]:
    """Return each cluster's sum and size."""
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        raise ValueError("expected at least one value to resample, got none")
    if clusters is None:
        return data, np.ones(data.size)
    if len(clusters) != data.size:
        raise ValueError(f"expected a cluster for each of {data.size} values, got {len(clusters)}")
    if len(set(clusters)) == data.size:
        return data, np.ones(data.size)
    place: dict[Hashable, int] = {}
    index = np.array([place.setdefault(cluster, len(place)) for cluster in clusters])
    sums = np.bincount(index, weights=data).astype(np.float64)
    return sums, np.bincount(index).astype(np.float64)


def tail_of(n: int) -> float:
    """Return the share of resamples below, and above, an interval for `n` clusters; see `bootstrap_mean`."""
    if n < 2:
        return (1 - CONFIDENCE) / 2
    from scipy.special import stdtrit

    reach = math.sqrt(n / (n - 1)) * float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return NormalDist().cdf(-reach)


def mcnemar_exact(n_better: int, n_worse: int) -> float:
    """Return the two-sided p-value of the exact McNemar test (McNemar 1947).

    The null hypothesis is that a task solved by only one strategy is as likely to be solved by either.

    Args:
        n_better: Number of tasks that only the strategy solved.
        n_worse: Number of tasks that only the baseline solved.
    """
    from scipy.stats import binomtest

    n = n_better + n_worse
    return float(binomtest(n_better, n).pvalue) if n else 1.0


def sign_flip(differences: Sequence[float], *, seed: int = 0, n_resamples: int = N_RESAMPLES) -> float:
    """Return the two-sided p-value of the sign-flip permutation test on paired differences (Fisher 1935).

    The null hypothesis is that each difference is as likely positive as negative. Of clusters, pass the sums. Up to
    `n_resamples` sign patterns, all of them are counted. Beyond that, `n_resamples` random ones are drawn, and the
    observed one counts too. With more than `MANY` differences the sum is treated as normal.
    """
    from scipy.stats import permutation_test

    sums = np.asarray(differences, dtype=np.float64)
    sums = sums[sums != 0]  # flipping the sign of 0 changes nothing
    if sums.size < 2:
        return 1.0  # one has two patterns, which are equally extreme
    if sums.size > MANY:
        return 2 * NormalDist().cdf(-abs(float(sums.sum())) / math.sqrt(float(np.square(sums).sum())))
    found = permutation_test(
        (sums,),
        lambda flipped, axis: flipped.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        batch=max(1, 5_000_000 // sums.size),  # blocks of 40 MB
        rng=np.random.default_rng(seed),
    )
    return min(1.0, float(found.pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests, in the given order (Holm 1979)."""
    adjusted = [0.0] * len(p_values)
    running = 0.0
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for rank, place in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = running
    return adjusted


def pass_at_k(n_samples: int, n_correct: int, k: int) -> float:
    """Return the unbiased estimate of pass@k, 1 - C(n-c, k) / C(n, k) (Chen et al. 2021).

    Args:
        n_samples: Number of samples of one task.
        n_correct: Number of correct samples.
        k: Number of samples to choose, at most `n_samples`.
    """
    _require_choice(n_samples, n_correct, k)
    return 1.0 - math.comb(n_samples - n_correct, k) / math.comb(n_samples, k)


def pass_hat_k(n_samples: int, n_correct: int, k: int) -> float:
    """Return the unbiased estimate of pass^k, C(c, k) / C(n, k): that k samples are all correct (Yao et al. 2024).

    Args:
        n_samples: Number of samples of one task.
        n_correct: Number of correct samples.
        k: Number of samples to choose, at most `n_samples`.
    """
    _require_choice(n_samples, n_correct, k)
    return math.comb(n_correct, k) / math.comb(n_samples, k)


def _require_choice(n_samples: int, n_correct: int, k: int) -> None:
    if not 0 <= n_correct <= n_samples or not 1 <= k <= n_samples:
        raise ValueError(
            f"expected 0 <= n_correct <= n_samples and 1 <= k <= n_samples, got {n_correct} of {n_samples}, k {k}"
        )


def minimum_detectable_effect(variance: float, n: int) -> float:
    """Return the smallest true mean of n paired differences that a two-sided 5 % test detects with 80 % power.

    Args:
        variance: Variance of a task's difference.
        n: Number of tasks.
    """
    if n < 1:
        raise ValueError(f"expected n of 1 or more, got {n}")
    normal = NormalDist()
    return (normal.inv_cdf((1 + CONFIDENCE) / 2) + normal.inv_cdf(0.8)) * math.sqrt(variance / n)


def detectable_mean(differences: Sequence[float]) -> float | None:
    """Return the smallest true mean that differences of so many tasks detect, or None for one task (no variance).

    Tasks that all differ by the same amount have no variance, either. Then two more are added, of which one differs by
    1.
    """
    if len(differences) < 2:
        return None
    variance = float(np.var(differences, ddof=1)) or discordance(0, len(differences))
    return minimum_detectable_effect(variance, len(differences))


def discordance(n_discordant: float, n: int) -> float:
    """Return the smoothed share of tasks that only one of two strategies solves.

    One task that counts and one that does not are added, so it is never 0. If the strategies do not differ, the share
    is the variance of the paired difference in success.
    """
    return (n_discordant + 1) / (n + 2)

"""What a method would give with more proposals than the pilot has: a model of tasks that take one decision.

Tasks are of types. A type says how often an attempt is right, and what else matters to the method. How common each type
is follows from the pilot. A few attempts can't tell all types apart (a task never solved in four attempts may be
impossible, or merely hard), so it is drawn many times from what the attempts allow, by Gibbs sampling with a Dirichlet
prior that knows nothing. The spread of the draws is what can't be told.

- Selection. A right attempt beats a wrong one with the odds `theta` of its task. What follows for the best of many
  depends on the distribution of scores, which a few don't tell. Half of the draws follow Plackett and Luce, where one
  of k right ones among n is the best with the chance k theta / (k theta + n - k). Half have normal scores.
- Votes. Of the right answers a share agrees, and of the wrong ones another share. All others are alone.
- Feedback. After wrong attempts only, the next one is right `uptake` times as often as a first one, at every task,
  and at most three times as often. After a right one, it is right as often as the pilot's were.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby, product
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_policy.report.advice.pilot import NO_VOTE, PilotAttempt, score_of

Array = NDArray[np.float64]

RATES = (0.0, 0.01, 0.03, 0.08, 0.16, 0.28, 0.42, 0.58, 0.72, 0.84, 0.92, 0.97, 1.0)
"""How often an attempt is right."""
ODDS = tuple(math.exp(one) for one in (-6, -3, -1.5, -0.7, 0, 0.7, 1.5, 3, 6))
"""Odds of a right attempt against a wrong one. 1 is a blind verifier."""
SHARES = (0.0, 0.4, 0.8, 1.0)
"""Shares of the answers that agree."""
UPTAKES = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0)
"""How often an attempt with feedback is right, in multiples of a first attempt."""
CONCENTRATION = 2.0
"""Weight of the prior, in tasks."""
N_CHAINS, N_ROUNDS, N_BURNED = 32, 50, 25
_STANDARD = NormalDist()


class TaskTypes(NamedTuple):
    """The types of tasks for one method.

    Attributes:
        likelihoods: Logarithm of how likely the pilot's attempts are, for each value of what is the same at all tasks,
            each task and each type. (values, tasks, types).
        success: Function from n to the chance of success for each value and type. (values, types).
    """

    likelihoods: Array
    success: Callable[[int], Array]


def selecting(tasks: Sequence[Sequence[PilotAttempt]]) -> TaskTypes:
    """Return the types for best-of-n, from the independent attempts at each task."""
    types = list(product(RATES, ODDS))
    rates, odds = np.array(types).T
    rows = [_drawn(own, rates) + _ranked(own, odds) for own in tasks]
    return TaskTypes(np.array([rows] * len(LINKS)), lambda n: _best(_binomial(n, rates), odds))


def voting(tasks: Sequence[Sequence[PilotAttempt]]) -> TaskTypes:
    """Return the types for the most frequent of n answers, from the independent attempts at each task."""
    types = list(product(RATES, SHARES, SHARES))
    rates, right, wrong = np.array(types).T
    rows = [
        _drawn(own, rates)
        + _agreeing([one.vote for one in own if one.is_right], right)
        + _agreeing([one.vote for one in own if not one.is_right], wrong)
        for own in tasks
    ]
    return TaskTypes(np.array([rows]), lambda n: _elected(rates, right, wrong, n)[None])


def refining(tasks: Sequence[Sequence[PilotAttempt]], chains: Sequence[Sequence[PilotAttempt]]) -> TaskTypes:
    """Return the types for a chain with feedback, from each task's independent attempts and its chain.

    Where there are independent attempts, the first of them is the chain's first one, too.
    """
    types = list(product(RATES, ODDS))
    rates, odds = np.array(types).T
    told = [np.minimum(rates * uptake, 1.0) for uptake in UPTAKES]
    kept = _kept(chains)
    fixed = [_drawn(own or chain[:1], rates) + _ranked(chain, odds) for own, chain in zip(tasks, chains, strict=True)]
    after = [_next_after_wrong(chain) for chain in chains]
    rows = [[own + _log(one, *counts) for own, counts in zip(fixed, after, strict=True)] for one in told]
    return TaskTypes(
        np.repeat(rows, len(LINKS), axis=0),
        lambda n: np.concatenate([_best(_refined(rates, one, kept, n), odds) for one in told]),
    )


def draws(types: TaskTypes, ns: Sequence[int], rng: np.random.Generator) -> Array:
    """Return the mean success over all tasks like the pilot's for each n, as often as it is drawn. (draws, ns)."""
    success = np.stack([types.success(n) for n in ns], axis=2)
    n_values, n_tasks, n_types = types.likelihoods.shape
    likely = np.exp(types.likelihoods - types.likelihoods.max(axis=(0, 2), keepdims=True)).astype(np.float32)
    prior = np.full(n_types, CONCENTRATION / n_types)
    shares = rng.dirichlet(np.ones(n_types), size=N_CHAINS)
    values = rng.integers(n_values, size=N_CHAINS)
    found = []
    for done in range(N_ROUNDS):
        chosen = _choose(shares.astype(np.float32)[:, None, :] * likely[values], rng)
        counts = np.zeros((N_CHAINS, n_types))
        np.add.at(counts, (np.arange(N_CHAINS)[:, None], chosen), 1)
        shares = rng.standard_gamma(counts + prior)
        shares = shares / shares.sum(axis=1, keepdims=True)
        if n_values > 1:
            fit = types.likelihoods[:, np.arange(n_tasks), chosen].sum(axis=2).T
            values = _choose(np.exp(fit - fit.max(axis=1, keepdims=True)), rng)
        if done >= N_BURNED:
            found.append(np.einsum("ct,ctn->cn", shares, success[values]))
    return np.concatenate(found)


def _choose(weights: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int_]:
    """Return a place along the last axis, drawn by its weights."""
    summed = np.cumsum(weights, axis=-1)
    level = rng.random((*weights.shape[:-1], 1), dtype=np.float32) * summed[..., -1:]
    found: NDArray[np.int_] = np.minimum((summed <= level).sum(axis=-1), weights.shape[-1] - 1)
    return found


def _log(rates: Array, n_right: int, n_wrong: int) -> Array:
    """Return the log-likelihoods of so many right and wrong attempts."""
    with np.errstate(divide="ignore"):
        right = n_right * np.log(rates) if n_right else np.zeros_like(rates)
        wrong = n_wrong * np.log1p(-rates) if n_wrong else np.zeros_like(rates)
    return np.maximum(right + wrong, -700.0)


def _drawn(attempts: Sequence[PilotAttempt], rates: Array) -> Array:
    n_right = sum(one.is_right for one in attempts)
    return _log(rates, n_right, len(attempts) - n_right)


def _ranked(attempts: Sequence[PilotAttempt], odds: Array) -> Array:
    """Return the mean log-likelihoods of the order of right and wrong attempts by score, over all orders of ties.

    The mean of the logarithms, as a tie says that the order is chance: with it, scores that are all equal speak for
    even odds. The logarithm of the mean would say nothing.
    """
    n_right = sum(one.is_right for one in attempts)
    n_wrong = len(attempts) - n_right
    total: Array = np.zeros_like(odds)
    for _, group in groupby(sorted(attempts, key=score_of, reverse=True), key=score_of):
        equal = [one.is_right for one in group]
        right, wrong = sum(equal), len(equal) - sum(equal)
        total += _tied(right, wrong, n_right, n_wrong, odds)
        n_right, n_wrong = n_right - right, n_wrong - wrong
    return total


def _tied(right: int, wrong: int, n_right: int, n_wrong: int, odds: Array) -> Array:
    """Return the mean log-likelihoods of taking tied attempts out in a random order.

    Args:
        right: Number of right attempts in the tie.
        wrong: Number of wrong ones.
        n_right: Number of right attempts from the tie on.
        n_wrong: Number of wrong ones.
        odds: The odds of each type.
    """
    found: dict[tuple[int, int], Array] = {}
    for left in product(range(right + 1), range(wrong + 1)):
        mean: Array = np.zeros_like(odds)
        for place, (one, others) in enumerate(((left[0], left[1]), (left[1], left[0]))):
            if one:
                k, m = n_right - right + left[0], n_wrong - wrong + left[1]
                chance = (k * odds, m)[place] / (k * odds + m)
                after = (left[0] - 1, left[1]) if place == 0 else (left[0], left[1] - 1)
                mean += one / (one + others) * (np.log(chance) + found[after])
        found[left] = mean
    return found[right, wrong]


def _agreeing(votes: Sequence[tuple[int, str]], shares: Array) -> Array:
    """Return the log-likelihoods of how many of the answers agree."""
    if len(votes) < 2:
        return np.zeros_like(shares)
    most = max((votes.count(one) for one in set(votes) if one != NO_VOTE), default=0)
    alike = math.comb(len(votes), most) * shares**most * (1 - shares) ** (len(votes) - most)
    if most <= 1:  # an answer that is alone is one of those that agree, or none is
        alike = len(votes) * shares * (1 - shares) ** (len(votes) - 1) + (1 - shares) ** len(votes)
    found: Array = np.log(np.maximum(alike, 1e-9))
    return found


def _best(chances: Array, odds: Array) -> Array:
    """Return the chance that the best-scored attempt is right, for each distribution of scores. (links, types).

    Args:
        chances: Chance of each number of right attempts. (types, n + 1).
        odds: The odds of each type.
    """
    n = chances.shape[1] - 1
    places = np.searchsorted(ODDS, odds)
    return np.stack([(chances * link(n)[places]).sum(axis=1) for link in LINKS])


@cache
def _plackett_luce(n: int) -> Array:
    """Return the chance that the best of n is right, for each of `ODDS` and each number of right ones."""
    right, odds = np.arange(n + 1)[None, :], np.array(ODDS)[:, None]
    found: Array = right * odds / (right * odds + n - right)
    return found


@cache
def _normal(n: int) -> Array:
    """Return the same for normal scores, whose means differ so that a pair has the same odds."""
    x = np.linspace(-8, 14, 1200)
    below = np.array([_STANDARD.cdf(one) for one in x])
    found = np.zeros((len(ODDS), n + 1))
    for place, odds in enumerate(ODDS):
        ahead = math.sqrt(2) * _STANDARD.inv_cdf(odds / (1 + odds))
        of_right = np.array([_STANDARD.cdf(one - ahead) for one in x])
        for k in range(1, n + 1):
            # The best of the k right ones is at x, and all wrong ones are below.
            found[place, k] = np.sum(np.diff(of_right**k) * (below[1:] ** (n - k) + below[:-1] ** (n - k)) / 2)
    return found


LINKS = (_plackett_luce, _normal)


def _binomial(n: int, rates: Array) -> Array:
    """Return the chance of each number of right ones of n. (types, n + 1)."""
    right = np.arange(n + 1)
    ways = np.array([math.comb(n, int(k)) for k in right], dtype=np.float64)
    found: Array = ways * rates[:, None] ** right * (1 - rates[:, None]) ** (n - right)
    return found


def _elected(rates: Array, right: Array, wrong: Array, n: int) -> Array:
    """Return the chance that the most frequent of n answers is right."""
    agreed_right, agreed_wrong = rates * right, (1 - rates) * wrong
    alone_right, alone_wrong = rates * (1 - right), (1 - rates) * (1 - wrong)
    alone = alone_right + alone_wrong
    right_of_alone = np.divide(alone_right, alone, out=np.zeros_like(alone), where=alone > 0)
    total: Array = np.zeros_like(rates)
    for a in range(n + 1):
        for b in range(n - a + 1):
            rest = n - a - b
            ways = math.comb(n, a) * math.comb(n - a, b)
            chance = ways * agreed_right**a * agreed_wrong**b * alone**rest
            if max(a, b) <= 1:  # all are alone, so the first one is taken
                value = (a + rest * right_of_alone) / n
            else:
                value = np.full_like(rates, 1.0 if a > b else 0.5 if a == b else 0.0)
            total += chance * value
    return total


def _next_after_wrong(chain: Sequence[PilotAttempt]) -> tuple[int, int]:
    """Return how many attempts after wrong ones only were right, and how many were wrong."""
    n_right = n_wrong = 0
    for place, one in enumerate(chain[1:], 1):
        if not any(other.is_right for other in chain[:place]):
            n_right, n_wrong = n_right + one.is_right, n_wrong + (not one.is_right)
    return n_right, n_wrong


def _kept(chains: Sequence[Sequence[PilotAttempt]]) -> float:
    """Return how often an attempt after a right one is right, with one more of each."""
    later = [
        one.is_right
        for chain in chains
        for place, one in enumerate(chain)
        if any(other.is_right for other in chain[:place])
    ]
    return (sum(later) + 1) / (len(later) + 2)


def _refined(rates: Array, told: Array, kept: float, n: int) -> Array:
    """Return the chance of each number of right ones in a chain of n. (types, n + 1)."""
    chances = np.zeros((len(rates), n + 1))
    chances[:, 0], chances[:, 1] = 1 - rates, rates
    for _ in range(n - 1):
        after = np.zeros_like(chances)
        after[:, 0] = chances[:, 0] * (1 - told)
        after[:, 1] = chances[:, 0] * told + chances[:, 1] * (1 - kept)
        after[:, 2:] = chances[:, 1:-1] * kept + chances[:, 2:] * (1 - kept)
        chances = after
    return chances


MODELS: Mapping[str, Any] = {"bon": selecting, "bon-sc": voting}
"""Strategy with independent attempts -> function from them to the types of tasks."""

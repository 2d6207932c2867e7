"""What training minimises, as pure functions of the log-probabilities of actions.

An objective takes `logp`, the log-probability of each row's action under the policy that is trained (or a value model's
output), and what is stored with the rows. It returns the loss and its slope, dloss/dlogp, a number for each row. A
backend then changes its parameters by the slopes: `-rate * sum of slope * grad logp`. So an objective knows no backend,
and every backend trains by every objective.

Losses are means, so that a learning rate means the same for few rows and for many.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from iad_policy.trained.heads import Array, sigmoid

Stored: TypeAlias = Mapping[str, Array]
"""What rows bring besides their action, by name: each an array with a number per row."""


class Loss(NamedTuple):
    """A loss, and its slope for each row."""

    value: float
    slopes: Array


Objective: TypeAlias = Callable[[Array, Stored], Loss]


def cross_entropy(logp: Array, stored: Stored) -> Loss:
    """Return the weighted mean of -logp: behaviour cloning, and whatever is fitted to examples.

    Stored: `weight`.
    """
    weight = stored["weight"]
    total = weight.sum()
    return Loss(float(-(weight * logp).sum() / total), -weight / total)


def squared_error(value: Array, stored: Stored) -> Loss:
    """Return the weighted mean of (value - target)^2, for a value model.

    Stored: `weight`, `target`.
    """
    weight, off = stored["weight"], value - stored["target"]
    total = weight.sum()
    return Loss(float((weight * off**2).sum() / total), 2 * weight * off / total)


def logistic(odds: Array, stored: Stored) -> Loss:
    """Return the weighted mean of the logistic loss, for a value model whose output is the log-odds of a target of 1.

    Stored: `weight`, `target` in [0, 1].
    """
    weight, target = stored["weight"], stored["target"]
    total = weight.sum()
    losses = np.logaddexp(0.0, odds) - target * odds
    return Loss(float((weight * losses).sum() / total), weight * (sigmoid(odds) - target) / total)


@dataclass(frozen=True, slots=True)
class Preference:
    """Direct preference optimisation with stored reference log-probabilities (arXiv 2305.18290, eq. 7).

    A side of a pair is the sum over its rows: one action in step DPO, the actions of an episode in the trajectory form.
    The loss of a pair is -p log s - (1 - p) log (1 - s), with s = sigmoid(beta ((l_w - l_l) - (r_w - r_l))).

    Stored: `side` says which side of which pair a row belongs to (2 i for the chosen one of pair i, 2 i + 1 for the
    rejected one), `reference` is r, and `p` is the probability that the chosen one is better: 1 for hard labels.

    Attributes:
        beta: Strength of the pull towards the reference.
        sft_weight: Weight of an additional -l_w, which keeps the chosen action likely.
    """

    beta: float = 0.1
    sft_weight: float = 0.0

    def __call__(self, logp: Array, stored: Stored) -> Loss:
        """Return the mean over pairs."""
        side = stored["side"].astype(int)
        n_pairs = side.max() // 2 + 1
        ratios = np.bincount(side, logp - stored["reference"], 2 * n_pairs)
        p = np.zeros(n_pairs)
        p[side // 2] = stored["p"]
        margin = self.beta * (ratios[::2] - ratios[1::2])
        losses = np.logaddexp(0.0, -margin) + (1 - p) * margin
        slope = self.beta * (sigmoid(margin) - p) / n_pairs
        slopes = np.where(side % 2, -slope[side // 2], slope[side // 2])
        chosen = side % 2 == 0
        value = losses.mean() - self.sft_weight * logp[chosen].sum() / n_pairs
        return Loss(float(value), slopes - self.sft_weight * chosen / n_pairs)


@dataclass(frozen=True, slots=True)
class Clipped:
    """The clipped surrogate of PPO (arXiv 1707.06347, eq. 7), with a penalty on the distance from a reference.

    With rho = exp(logp - b), the loss of a row is -min(rho A, clip(rho, 1 - low, 1 + high) A).

    Stored: `behaviour` is b, the log-probability when the action was sampled, `advantage` is A, and `reference` is r
    for the penalty.

    Attributes:
        low: How far rho may fall below 1.
        high: How far it may rise above 1.
        kl: Weight of the penalty exp(r - logp) - (r - logp) - 1, an estimate of KL(policy || reference).
    """

    low: float = 0.2
    high: float = 0.2
    kl: float = 0.0

    def __call__(self, logp: Array, stored: Stored) -> Loss:
        """Return the mean over rows."""
        advantage = stored["advantage"]
        rho = np.exp(logp - stored["behaviour"])
        clipped = np.clip(rho, 1 - self.low, 1 + self.high)
        losses = -np.minimum(rho * advantage, clipped * advantage)
        is_clipped = ((advantage > 0) & (rho > 1 + self.high)) | ((advantage < 0) & (rho < 1 - self.low))
        slopes = np.where(is_clipped, 0.0, -advantage * rho)
        if self.kl:
            behind = stored["reference"] - logp
            losses = losses + self.kl * (np.exp(behind) - behind - 1)
            slopes = slopes + self.kl * (1 - np.exp(behind))
        return Loss(float(losses.mean()), slopes / len(logp))

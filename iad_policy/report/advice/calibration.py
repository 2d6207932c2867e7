"""Turns a verifier's scores into one agent's chances of success, by two parameters (Platt 1999).

A verifier is fitted to some agents, and another agent is right more or less often. The order of candidates stays, so
what is committed stays too. Stop rules that read scores as chances (`score:X`, `gain:W`) need it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iad_policy.report.verifier_evidence import ece

N_PARTS = 10
N_STEPS = 50


class Calibration(NamedTuple):
    """The two parameters: the chance is 1 / (1 + exp(-(offset + slope * score))).

    Attributes:
        offset: Log-odds at a score of 0.
        slope: What a score of 1 adds to them.
        error: Calibration error of the chances, of tasks that they were not fitted to.
        error_before: That of the scores; None for scores that are no chances.
    """

    offset: float
    slope: float
    error: float
    error_before: float | None


def calibration_of(scores: Sequence[float], labels: Sequence[bool], tasks: Sequence[str]) -> Calibration | None:
    """Return what calibrates scores; None for scores that don't rise with success, and for a single task.

    Args:
        scores: Scores, one per candidate, of both classes.
        labels: Whether each candidate is right.
        tasks: Task of each candidate.
    """
    values, is_right = np.asarray(scores, float), np.asarray(labels, bool)
    offset, slope = _fitted(values, is_right)
    part = np.unique(tasks, return_inverse=True)[1] % N_PARTS
    if slope <= 0 or not part.any():
        return None
    chances = np.empty(len(values))
    for one in np.unique(part):
        own = part == one
        chances[own] = _chances(_fitted(values[~own], is_right[~own]), values[own])
    is_chance = values.min() >= 0 and values.max() <= 1
    return Calibration(offset, slope, ece(chances.tolist(), labels), ece(scores, labels) if is_chance else None)


def _fitted(scores: NDArray[np.float64], is_right: NDArray[np.bool_]) -> tuple[float, float]:
    """Return offset and slope of the most likely model. Platt's targets keep them finite for classes that part."""
    mean, scale = scores.mean(), max(scores.std(), 1e-12)
    table = np.column_stack([np.ones(len(scores)), (scores - mean) / scale])
    n_right = is_right.sum()
    target = np.where(is_right, (n_right + 1) / (n_right + 2), 1 / (len(scores) - n_right + 2))
    weights = np.zeros(2)
    for _ in range(N_STEPS):  # Newton's method, no step longer than 1 so that it can't overshoot
        chances = _chances((0.0, 1.0), table @ weights)
        hessian = table.T @ (table * (chances * (1 - chances))[:, None]) + 1e-9 * np.eye(2)
        step = np.linalg.solve(hessian, table.T @ (target - chances))
        weights += step / max(1.0, float(np.abs(step).max()))
    slope = weights[1] / scale
    return float(weights[0] - slope * mean), float(slope)


def _chances(fitted: tuple[float, float], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    offset, slope = fitted
    return np.asarray(1 / (1 + np.exp(-(offset + slope * scores))))

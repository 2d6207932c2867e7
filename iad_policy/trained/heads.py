"""What a trained model's outputs are."""

from random import Random
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Head = Literal["policy", "value", "attempt"]
"""A policy's output for a row is the log-probability of its action, a value model's the value. An evaluator of attempts
sees the state where one ended, and its output is the log-odds that it succeeded."""


def sigmoid(x: NDArray[np.floating[Any]]) -> Array:
    """Return 1 / (1 + exp(-x)), also where exp would overflow."""
    odds: Array = np.exp(-np.logaddexp(0.0, -x))
    return odds


def drawn(scores: Array, temperature: float, rng: Random) -> int:
    """Return the place of a score, drawn by softmax(scores / temperature); below 0.001 that of the first highest."""
    if temperature < 1e-3:
        return int(scores.argmax())
    odds = np.exp((scores - scores.max()) / temperature).cumsum()
    return min(int(np.searchsorted(odds, rng.random() * odds[-1], "right")), len(odds) - 1)

"""What a trained model's outputs are."""

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

"""Fits the proxy verifier of `IAD/WebShop-v0`, and prints the weights of `iad_envs/webshop/policy/fit.py`.

It is a logistic regression of success on the features of purchases, on the bundled train and dev tasks. No feature can
speak for success: each says what lacks. It takes half a minute.
Run: python benchmarks/support/fit_webshop_verifier.py
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.webshop_candidates import FITTING, Purchase, purchases

from iad_envs.webshop.policy.fit import WEIGHTS
from iad_envs.webshop.policy.verifier import verdict

BIAS = "bias"
PENALTY = 1e-4
"""Weight of the squared weights in the loss."""

_Floats = NDArray[np.float64]


def fit(given: Sequence[Purchase]) -> dict[str, float]:
    """Return the weight of each feature, and of the bias."""
    names = [name for name in WEIGHTS if name != BIAS]
    details = [verdict(one.state, one.candidate).details for one in given]
    features = np.array([[1.0, *(found[name] for name in names)] for found in details], float)
    found = _regression(features, np.array([one.is_right for one in given], float))
    return dict(zip([BIAS, *names], map(float, found), strict=True))


def _regression(features: _Floats, labels: _Floats) -> _Floats:
    """Return the coefficients: a free one for the first column, and none above 0 for the others."""
    penalties = np.array([0.0, *[PENALTY] * (features.shape[1] - 1)])

    def loss(coefficients: _Floats) -> tuple[float, _Floats]:
        odds = features @ coefficients
        value = np.logaddexp(0.0, np.where(labels > 0.5, -odds, odds)).mean()
        slope = features.T @ (1.0 / (1.0 + np.exp(-odds)) - labels) / len(labels)
        return float(value + penalties @ coefficients**2), slope + 2.0 * penalties * coefficients

    bounds = [(None, None), *[(None, 0.0)] * (features.shape[1] - 1)]
    found = minimize(loss, np.zeros(features.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)


def written(weights: Mapping[str, float]) -> str:
    """Return the weights as they stand in the source."""
    return "\n".join(f'    "{name}": {weight:.2f},' for name, weight in weights.items())


def main() -> None:
    """Print the weights."""
    print(f"WEIGHTS: Mapping[str, float] = {{\n{written(fit(list(purchases(FITTING))))}\n}}")


if __name__ == "__main__":
    main()

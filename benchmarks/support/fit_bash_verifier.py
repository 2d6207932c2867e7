"""Fits the weights of the proxy verifier of `IAD/InterCodeBash-v0`, and writes `iad_envs/bash/policy/weights.toml`.

The attempts are those of `bash_candidates.py` at the tasks for fitting: the bundled tasks of the split `tuning` and, if
`IAD_REAL_DATA` is set, half of InterCode's tasks. It takes about ten minutes on an idle machine; on a
busy one, more commands reach the time limit and count as wrong. `bash_evidence.py` prints the evidence on the other
tasks.
"""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from support.bash_candidates import Tried
from support.bash_evidence import BUNDLED, TaskSet, run_attempts
from support.figures import ROOT

from iad_envs.bash.policy.effects import Done
from iad_envs.bash.policy.findings import CHECKS, findings_of
from iad_policy.report.verifier_evidence import evidence

TARGET = ROOT / "iad_policy" / "domains" / "bash" / "weights.toml"
STARTS = ("change", "answer", "either")
HINTS = ("zero", "loose_or")
"""Findings that are told and have no weight: one is as often right as wrong, and the other is rare."""
SHRINKING = 3.0
"""Strength of the quadratic penalty on weights, in attempts."""
RIGHT_FORMS = frozenset(["gold", "gold after looking", "gold after an error", "same answer"])
PLAIN_ERRORS = frozenset(["looks after gold", "to a file", "only looks", "misspelt", "other task", "cut off"])
N_PER_KIND = 2
N_FOLDS = 10

_Floats = NDArray[np.float64]


def weight_of(row: Tried) -> float:
    """Return the weight of an attempt.

    Most constructed attempts are right ones in another form or plainly wrong ones. Most attempts of language models are
    neither, and about one of four succeeds. So small errors and the attempts of agents weigh more.
    """
    if row.attempt.source in RIGHT_FORMS:
        return 0.3
    return 0.5 if row.attempt.source in PLAIN_ERRORS else 2.0


def design(rows: Sequence[Tried]) -> _Floats:
    """Return the degrees of the findings and what the task asks for, one row per attempt."""
    names = [*_weighted(), *STARTS]
    table = np.zeros((len(rows), len(names)))
    for place, row in enumerate(rows):
        done = Done.until(row.after)
        found = findings_of(done)
        start = {True: "change", False: "answer", None: "either"}[done.instruction.asked.change]
        table[place] = [float(name == start) if name in STARTS else _degree(found, name) for name in names]
    return table


def fit(table: _Floats, is_right: _Floats, weights: _Floats) -> _Floats:
    """Return the weights of a logistic regression in which no finding speaks for success."""
    penalty = np.full(table.shape[1], SHRINKING)
    penalty[-len(STARTS) :] = SHRINKING / 10.0

    def loss(values: _Floats) -> tuple[float, _Floats]:
        odds = table @ values
        value = (weights * (np.logaddexp(0.0, odds) - is_right * odds)).sum() + (penalty * values**2).sum() / 2.0
        return float(value), table.T @ (weights * (_share(odds) - is_right)) + penalty * values

    bounds = [(None, 0.0)] * (table.shape[1] - len(STARTS)) + [(None, None)] * len(STARTS)
    found: Any = minimize(loss, np.zeros(table.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B")
    return np.asarray(found.x, float)


def task_weights(rows: Sequence[Tried]) -> _Floats:
    """Return the weights of attempts, divided by how many the task has."""
    counts = Counter((row.attempt.task_id, row.after.info["instruction"]) for row in rows)
    even = np.array([weight_of(row) / counts[row.attempt.task_id, row.after.info["instruction"]] for row in rows])
    return np.asarray(even * len(rows) / even.sum(), float)


def cross_validated(rows: Sequence[Tried], table: _Floats, is_right: _Floats, weights: _Floats) -> _Floats:
    """Return each attempt's probability of success by a model that was fitted without its task."""
    tasks = [row.after.info["instruction"] for row in rows]
    order = {task: place % N_FOLDS for place, task in enumerate(sorted(set(tasks)))}
    folds = np.array([order[task] for task in tasks])
    scores = np.zeros(len(rows))
    for fold in range(N_FOLDS):
        others = folds != fold
        scores[~others] = _share(table[~others] @ fit(table[others], is_right[others], weights[others]))
    return scores


def _weighted() -> list[str]:
    return [name for name in CHECKS if name not in HINTS]


def _degree(found: Any, name: str) -> float:
    return float(found[name].degree) if name in found else 0.0


def _share(odds: _Floats) -> _Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-odds)), float)


def _folders() -> list[Path]:
    real = os.environ.get("IAD_REAL_DATA")
    return [BUNDLED, *([Path(real) / "intercode"] if real else [])]


def _written(values: _Floats) -> str:
    pairs = dict(zip([*_weighted(), *STARTS], values.round(2), strict=True))
    lines = [
        "# Weights of the proxy verifier, in log-odds, as benchmarks/support/fit_bash_verifier.py writes them.",
        "# `start` is the value without findings, by what the task asks for. `findings` has that of each finding.",
        "\n[start]",
        *(f"{name} = {pairs[name]:.2f}" for name in STARTS),
        "\n[findings]",
        *(f"{name} = {pairs[name]:.2f}" for name in _weighted() if pairs[name]),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Fit, print the evidence, and write the weights."""
    rows = [
        row for folder in _folders() for row in run_attempts(TaskSet(folder, held_out=False), n_per_kind=N_PER_KIND)
    ]
    table, is_right, weights = design(rows), np.array([float(row.is_right) for row in rows]), task_weights(rows)
    tasks = [row.after.info["instruction"] for row in rows]
    scores = cross_validated(rows, table, is_right, weights)
    print(f"cross-validated: {evidence(list(scores), [row.is_right for row in rows], tasks=tasks)}")
    values = fit(table, is_right, weights)
    TARGET.write_text(_written(values), encoding="utf-8")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()

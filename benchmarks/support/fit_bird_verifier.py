"""Fits the proxy verifier of `IAD/BIRD-v0`, and prints the numbers of `iad_envs/bird/policy/calibration.py`.

Run it with `IAD_REAL_DATA` and `IAD_VECTORS` set. It is a logistic regression of success on findings (0 or 1) and on
the log odds of the votes. Findings can only speak against a query. As votes count by their probability, which the
findings give, it is repeated until the numbers stay the same. Each source of candidates, and each task in it, has equal
weight.

First it prints for each finding and source the share of wrong queries among those with it, and how many there are.
"""

import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.bird_candidates import CandidateSet, candidate_sets, sources

from iad_envs.bird.policy.calibration import vote_odds
from iad_envs.bird.policy.verifier import ReadPreview, read_preview

UNFITTED = frozenset({"empty", "quoted_literal", "text_as_number"})
"""Findings without a weight: no query with the first was right, and the others are too rare to tell."""
PENALTY = 3e-4
"""Weight of the squared weights of the findings in the loss. Of 1e-6 to 1e-3 it is the largest whose loss, in five-fold
cross-validation over tasks (0.280), is within a standard error (0.024) of the smallest one (0.272, with 3e-5)."""
N_ROUNDS = 8

_Floats = NDArray[np.float64]


class Example(NamedTuple):
    """A submitted query that gave rows, in a set of candidates."""

    group: tuple[str, str]
    codes: frozenset[str]
    others: tuple[tuple[frozenset[str], bool], ...]
    """Findings of the other candidates that vote, and whether their result is the same."""
    is_right: bool


class Fitted(NamedTuple):
    """The numbers of the model."""

    prior: float
    agreement: float
    weights: Mapping[str, float]


def examples(sets: Mapping[str, Sequence[CandidateSet]]) -> list[Example]:
    """Return all candidates that the model has to score."""
    found = []
    for source, own in sets.items():
        for one in own:
            previews = [read_preview(member.candidate) for member in one.members]
            for place, (member, preview) in enumerate(zip(one.members, previews, strict=True)):
                if preview.kind == "submit" and _votes(preview):
                    others = tuple(
                        (other.codes, other.result == preview.result)
                        for position, other in enumerate(previews)
                        if position != place and _votes(other)
                    )
                    found.append(Example((source, one.task_id), preview.codes, others, member.is_right))
    return found


def _votes(preview: ReadPreview) -> bool:
    return not preview.has_failed and "empty" not in preview.codes


def fit(given: Sequence[Example]) -> Fitted:
    """Return the numbers of the model, fitted to examples."""
    codes = sorted(set().union(*(one.codes for one in given)) - UNFITTED)
    features = np.array([[code in one.codes for code in codes] for one in given], float)
    labels = np.array([one.is_right for one in given], float)
    importance = _importance(given)
    fitted = Fitted(0.0, 0.0, {})
    for _ in range(N_ROUNDS):
        votes = np.array([_vote(one, fitted) for one in given])
        found = _regression(np.column_stack([np.ones(len(given)), votes, features]), labels, importance)
        weights = {code: float(weight) for code, weight in zip(codes, found[2:], strict=True)}
        fitted = Fitted(float(found[0]), float(found[1]), weights)
    return fitted


def _vote(one: Example, fitted: Fitted) -> float:
    sides = {True: 0.0, False: 0.0}
    for codes, is_same in one.others:
        sides[is_same] += 1.0 / (1.0 + np.exp(-fitted.prior - sum(fitted.weights.get(code, 0.0) for code in codes)))
    return vote_odds(sides[True], sides[False])


def _importance(given: Sequence[Example]) -> _Floats:
    """Return a weight for each example. Sources weigh the same, and so do the tasks of a source."""
    sizes: dict[tuple[str, str], int] = defaultdict(int)
    for one in given:
        sizes[one.group] += 1
    n_tasks: dict[str, int] = defaultdict(int)
    for source, _ in sizes:
        n_tasks[source] += 1
    weights = np.array([1.0 / (sizes[one.group] * n_tasks[one.group[0]]) for one in given])
    return np.asarray(weights / weights.sum())


def _regression(features: _Floats, labels: _Floats, importance: _Floats) -> _Floats:
    """Return the coefficients: a free intercept, a vote that can't be negative, and findings that can't be positive."""
    penalties = np.array([0.0, 0.0, *[PENALTY] * (features.shape[1] - 2)])
    bounds = [(None, None), (0.0, None), *[(None, 0.0)] * (features.shape[1] - 2)]

    def loss(coefficients: _Floats) -> tuple[float, _Floats]:
        odds = features @ coefficients
        value = importance @ np.logaddexp(0.0, np.where(labels > 0.5, -odds, odds))
        slope = features.T @ (importance * (1.0 / (1.0 + np.exp(-odds)) - labels))
        return float(value + penalties @ coefficients**2), slope + 2.0 * penalties * coefficients

    found = minimize(loss, np.zeros(features.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)


def precisions(sets: Mapping[str, Sequence[CandidateSet]]) -> dict[str, dict[str, list[bool]]]:
    """Return for each finding and source whether the different queries with it were wrong; "" is any query."""
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for source, own in sets.items():
        known = {(one.task_id, str(m.candidate.action)): m for one in own for m in one.members}
        for member in known.values():
            preview = read_preview(member.candidate)
            if preview.kind == "submit":
                for code in ("", *sorted(preview.codes)):
                    found[code][source].append(not member.is_right)
    return found


def main() -> None:
    """Print the precision of each finding, and the numbers."""
    missing = [name for name in ("IAD_REAL_DATA", "IAD_VECTORS") if not os.environ.get(name)]
    if missing:
        raise SystemExit(f"expected {' and '.join(missing)} in the environment, got none; they hold the predictions")
    sets = {source: candidate_sets(source, "tuning") for source in sources("tuning")}
    print(f"{'finding':24}", *(f"{source:>22}" for source in sets))
    for code, by_source in sorted(precisions(sets).items()):
        shares = [f"{np.mean(by_source[one]):.2f} of {len(by_source[one])}" if by_source[one] else "-" for one in sets]
        print(f"{code or 'any':24}", *(f"{share:>22}" for share in shares))
    fitted = fit(examples(sets))
    print(f"\nPRIOR = {fitted.prior:.2f}\nAGREEMENT = {fitted.agreement:.2f}\nWEIGHTS: Mapping[str, float] = {{")
    for code, weight in sorted(fitted.weights.items(), key=lambda item: item[1]):
        if round(weight, 2):
            print(f'    "{code}": {weight:.2f},')
    print("}")


if __name__ == "__main__":
    main()

"""What the measurements of all environments' verifiers share: candidates with labels, their scores, and a fit."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from iad_policy.report.verifier_evidence import VerifierEvidence, evidence
from iad_policy.types import Candidate, State, Verifier

Floats = NDArray[np.float64]


class Labelled(NamedTuple):
    """A candidate with its preview, where it comes from, and whether it is right. No verifier sees the label."""

    source: str
    candidate: Candidate
    is_right: bool


class CandidateSet(NamedTuple):
    """Candidates of one state, as a strategy holds them."""

    task_id: str
    state: State
    members: tuple[Labelled, ...]


class SetScores(NamedTuple):
    """A set of candidates with the scores of a verifier."""

    one: CandidateSet
    scores: tuple[float, ...]


def scored_sets(given: Sequence[CandidateSet], verifier: Verifier) -> list[SetScores]:
    """Return sets of candidates with a verifier's scores."""
    return [
        SetScores(one, tuple(v.score for v in verifier.verify(one.state, [member.candidate for member in one.members])))
        for one in given
    ]


def evidence_on(scored: Sequence[SetScores], keep: Callable[[Candidate], bool] = lambda _: True) -> VerifierEvidence:
    """Return how well the scores of candidates that end the episode tell success. `keep` may leave some out."""
    rows = [
        (value, member.is_right, one.task_id)
        for one, scores in scored
        for member, value in zip(one.members, scores, strict=True)
        if member.candidate.is_terminal and keep(member.candidate)
    ]
    values, labels, tasks = zip(*rows, strict=True) if rows else ((), (), ())
    return evidence(values, labels, tasks=tasks)


def logistic(
    features: Floats, labels: Floats, weights: Floats, *, penalties: Sequence[float], bounds: Sequence[Any]
) -> Floats:
    """Return the coefficients of a logistic regression.

    Args:
        features: A row for each example.
        labels: 1 for success, else 0.
        weights: Weight of each example.
        penalties: Weight of each coefficient's square in the loss.
        bounds: The least and the largest value of each coefficient, None for no bound.
    """
    penalty = np.array(penalties)

    def loss(coefficients: Floats) -> tuple[float, Floats]:
        odds = features @ coefficients
        value = weights @ np.logaddexp(0.0, np.where(labels > 0.5, -odds, odds))
        slope = features.T @ (weights * (1.0 / (1.0 + np.exp(-odds)) - labels))
        return float(value + penalty @ coefficients**2), slope + 2.0 * penalty * coefficients

    found = minimize(loss, np.zeros(features.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)

"""A verifier's answer, made safe: one verdict per candidate, no NaN, and a failure as a verdict that says why."""

import math
from collections.abc import Sequence
from dataclasses import replace

from iad_policy.errors import ContractError, IADError, ModelError
from iad_policy.types import Candidate, State, Verdict, Verifier

HOPELESS = ("auth", "not_found")
"""Kinds of errors that every further question to the model would meet: missing verdicts would look like a result."""


def verdicts_of(
    verifier: Verifier, at: State, candidates: Sequence[Candidate], among: Sequence[Candidate]
) -> list[Verdict]:
    """Ask a verifier.

    Raises:
        ModelError: Its language model can't be asked at all: a wrong key, no such model.
        ContractError: It gave another number of verdicts than there are candidates.
    """
    try:
        verdicts = list(verifier.verify(at, candidates, among))
    except Exception as error:
        if _is_raised(error):
            raise
        kind = getattr(error, "kind", "crash")
        failed = Verdict(-math.inf, f"verification failed: {error!r:.500}", details={"error_kind": kind})
        return [failed] * len(candidates)
    if len(verdicts) != len(candidates):
        raise ContractError(
            f"expected {len(candidates)} verdicts from {type(verifier).__name__}, one per candidate, got "
            f"{len(verdicts)}; return a Verdict for each, in order"
        )
    return [_without_nan(verdict) for verdict in verdicts]


def _is_raised(error: Exception) -> bool:
    if isinstance(error, ModelError):
        return error.kind in HOPELESS
    return isinstance(error, IADError) or getattr(
        error, "breaks_contract", False
    )  # as the environments' guard marks its error


def _without_nan(verdict: Verdict) -> Verdict:
    if not math.isnan(verdict.score):
        return verdict
    return replace(verdict, score=-math.inf, critique=f"the score was not a number. {verdict.critique}".strip())

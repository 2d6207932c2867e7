"""A verifier's answer, made safe: one verdict per candidate, no NaN, and a failure as a verdict that says why."""

import math
from collections.abc import Sequence
from dataclasses import replace

from iad_policy.errors import ContractError, IADError, ModelError
from iad_policy.types import Candidate, State, Verdict, Verifier


def verdicts_of(
    verifier: Verifier, at: State, candidates: Sequence[Candidate], among: Sequence[Candidate]
) -> list[Verdict]:
    """Ask a verifier.

    Raises:
        ContractError: It gave another number of verdicts than there are candidates.
    """
    try:
        verdicts = list(verifier.verify(at, candidates, among))
    except Exception as error:
        if _breaks_contract(error):
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


def _breaks_contract(error: Exception) -> bool:
    is_ours = isinstance(error, IADError) and not isinstance(error, ModelError)
    return is_ours or getattr(error, "breaks_contract", False)  # as the environments' guard marks its error


def _without_nan(verdict: Verdict) -> Verdict:
    if not math.isnan(verdict.score):
        return verdict
    return replace(verdict, score=-math.inf, critique=f"the score was not a number. {verdict.critique}".strip())

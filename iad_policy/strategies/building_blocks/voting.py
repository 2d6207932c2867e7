"""Voting: candidates with the same action or result share their votes or scores.

Failed candidates do not vote, and empty results vote only if there is nothing else. Ties go to the first candidate.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Simulate
from iad_policy.types import Candidate, State


def rank_of(state: State) -> int:
    """Return 0 for a state after an invalid or failed action, 1 for an empty result, and 2 for all others."""
    if state.failure:
        return 0
    facts: Mapping[str, Any] = state.info.get("facts") or {}
    return 1 if any(finding["code"] == "empty" for finding in facts.get("findings", ())) else 2


def majority(candidates: Sequence[Candidate]) -> Candidate:
    """Return the first candidate of the largest group with the same result.

    Args:
        candidates: At least one candidate. Those with an error or without a preview count only if there are no others.
    """
    seen = voters([candidate for candidate in candidates if candidate.preview is not None])
    if not seen:
        return next((candidate for candidate in candidates if not candidate.error), candidates[0])
    votes = Counter(map(answer_of, seen))
    return max(seen, key=lambda candidate: votes[answer_of(candidate)])


def voters(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates whose votes count: without an error, and of those that were simulated the best ranked."""
    usable = [candidate for candidate in candidates if not candidate.error]
    ranks = [2 if candidate.preview is None else rank_of(candidate.preview) for candidate in usable]
    return [candidate for candidate, rank in zip(usable, ranks, strict=True) if rank == max(ranks)]


def answer_of(candidate: Candidate) -> str:
    """Return the answer that a candidate votes for: its result where it was simulated, else its action."""
    return candidate.key if candidate.preview is None else candidate.preview.result


def heaviest(candidates: Sequence[Candidate]) -> Candidate:
    """Return the first candidate of the action with the highest total score.

    Args:
        candidates: At least one candidate. Those without a usable action or a finite score count only if there are no
            others.
    """
    weights: dict[str, float] = {}
    for candidate in candidates:
        if not candidate.error and math.isfinite(candidate.score):
            weights[candidate.key] = weights.get(candidate.key, 0.0) + candidate.score
    usable = [candidate for candidate in candidates if not candidate.error]
    return max(usable or candidates, key=lambda candidate: weights.get(candidate.key, -math.inf))


def voted(here: State, candidates: Sequence[Candidate]) -> Asking[Candidate]:
    """Simulate the candidates without a preview, as far as the budget goes, and return the majority's choice."""
    return majority((yield from previewed(here, candidates)))


def previewed(here: State, candidates: Sequence[Candidate]) -> Asking[list[Candidate]]:
    """Return the candidates with their simulated results, as far as the budget goes."""
    found = []
    for candidate in candidates:
        if candidate.preview is None and not candidate.error:
            with suppress(BudgetExhausted):
                candidate = replace(candidate, preview=(yield from Simulate(here, candidate)))
        found.append(candidate)
    return found

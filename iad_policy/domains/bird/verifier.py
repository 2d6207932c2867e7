"""The proxy verifier of `IAD/BIRD-v0`: it scores a query's execution, its text, and the agreement of other candidates.

It uses no gold: it reads `info["facts"]` of the previews. The penalties follow how often a finding meant a wrong query
among real predictions. `benchmarks/bird.py` prints that table.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium as gym

from iad_policy.information import Information
from iad_policy.types import Candidate, State, Verdict

INVALID = -1.0
FAILED = -0.5
"""Score of a query without a result."""
EXPLORING = 0.5
"""Score of a query that is executed but not submitted: better than a bad answer, worse than a good one."""
AGREEMENT = 0.5
"""Weight of the share of other candidates with the same result."""
PENALTIES: Mapping[str, float] = {
    "empty": 0.9,
    "all_null": 0.9,
    "single_zero": 0.7,
    "literal_not_found": 0.6,
    "some_null": 0.5,
    "integer_division": 0.5,
    "tied_limit": 0.4,
    "shape": 0.3,
    "fan_out": 0.3,
    "evidence_unused": 0.25,
    "order_nulls": 0.2,
    "text_as_number": 0.2,
    "evidence_literal_unused": 0.1,
}
"""Finding -> penalty, subtracted from a score of 1. The score stays at least 0."""


class BirdVerifier:
    """Scores a query: 1 minus the penalties of its findings, plus the share of others that agree; -1 if invalid."""

    information: Information = "proxy"
    needs_preview = True
    compares = True

    def __init__(self, env: gym.Env[Any, Any] | None = None, *, agreement: float = AGREEMENT) -> None:
        self._agreement = agreement

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Score each candidate's preview, and compare it with the others' results."""
        results = [facts_of(candidate)["result"] for candidate in candidates if _has_result(candidate)]
        return [self._verdict(candidate, results) for candidate in candidates]

    def _verdict(self, candidate: Candidate, results: Sequence[str]) -> Verdict:
        facts = facts_of(candidate)
        if facts["complaint"]:
            return Verdict(INVALID, facts["complaint"])
        findings = facts["findings"]
        messages = " ".join(
            f"{finding['message'].rstrip('.')}." for finding in findings if finding["severity"] != "note"
        )
        codes = {finding["code"]: 1.0 for finding in findings}
        if any(finding["severity"] == "error" for finding in findings):
            return Verdict(FAILED, messages, passed=False, details=codes)
        if facts["kind"] != "submit":
            return Verdict(EXPLORING, messages, details=codes)
        base = max(0.0, 1.0 - sum(PENALTIES.get(code, 0.0) for code in codes))
        # Without its own vote. Otherwise every later candidate would beat one that was verified alone.
        n_others = len(results) - 1
        share = (results.count(facts["result"]) - 1) / n_others if n_others > 0 else 0.0
        agreed = self._agreement * share
        critique = messages or "Nothing odd: it runs, and what it returns fits the question's wording."
        return Verdict(
            base + agreed, critique, passed=not codes.keys() & PENALTIES.keys(), details=codes | {"agreement": share}
        )


def facts_of(candidate: Candidate) -> Mapping[str, Any]:
    """Return the findings about a previewed candidate.

    Raises:
        ValueError: The candidate has no preview.
    """
    if candidate.preview is None:
        raise ValueError(f"expected a preview of {candidate.action!r:.200}, got none; a driver attaches it")
    facts: Mapping[str, Any] = candidate.preview.info["facts"]
    return facts


def _has_result(candidate: Candidate) -> bool:
    facts = facts_of(candidate)
    return not facts["complaint"] and not _has_error(facts["findings"]) and facts["kind"] == "submit"


def _has_error(findings: Iterable[Mapping[str, Any]]) -> bool:
    return any(finding["severity"] == "error" for finding in findings)

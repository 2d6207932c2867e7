"""The fitted model of the proxy verifier: the probability that a query is right, by its findings and by votes.

    sigmoid(PRIOR + sum of the WEIGHTS of its findings + AGREEMENT * log((same + SMOOTHING) / (other + SMOOTHING)))

`same` and `other` are the votes of the other candidates whose result is the same or another one. The numbers are
printed by `benchmarks/support/bird_verifier.py --fit`, which also prints how often each finding meant a wrong query: it
fits them to published systems' queries. Findings that none of these has share one weight.
"""

import math
from collections.abc import Collection, Mapping

PRIOR = 1.39
"""Log odds of a query without findings and without other candidates."""
AGREEMENT = 1.78
"""Weight of the votes."""
SMOOTHING = 0.5
"""Votes added to both sides, so that no votes count as a tie."""
WEIGHTS: Mapping[str, float] = {
    "some_null": -1.83,
    "evidence_unused": -1.28,
    "tied_limit": -1.25,
    "only_number": -1.20,
    "literal_unasked": -1.15,
    "subquery_rows": -1.15,
    "literal_not_found": -1.15,
    "single_zero": -1.15,
    "extra_columns": -1.14,
    "integer_division": -1.14,
    "id_unasked": -1.13,
    "all_null": -1.13,
    "fan_out": -1.13,
    "limit_unasked": -1.13,
    "name_unused": -1.13,
    "number_unused": -1.13,
    "operation_unused": -1.13,
    "percentage": -1.13,
    "shape": -1.13,
}
"""Finding -> log odds that it adds. Findings that are missing here say nothing about success."""


def own_odds(codes: Collection[str]) -> float:
    """Return the log odds that a query with these findings is right, without votes."""
    return PRIOR + math.fsum(WEIGHTS.get(code, 0.0) for code in codes)


def vote_odds(same: float, other: float) -> float:
    """Return the log odds of the votes for the same result against those for others, 0 without votes."""
    return math.log((same + SMOOTHING) / (other + SMOOTHING))


def probability(odds: float) -> float:
    """Return the probability for log odds."""
    return 1.0 / (1.0 + math.exp(-odds))

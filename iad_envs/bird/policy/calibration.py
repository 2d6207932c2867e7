"""The fitted model of the proxy verifier: the probability that a query is right, by its findings and by votes.

    sigmoid(PRIOR + sum of the WEIGHTS of its findings + AGREEMENT * log((same + SMOOTHING) / (other + SMOOTHING)))

`same` and `other` are the votes of the other candidates whose result is the same or another one. The numbers are
printed by `benchmarks/support/bird_verifier.py --fit`, which also prints how often each finding meant a wrong query.
"""

import math
from collections.abc import Collection, Mapping

PRIOR = 0.78
"""Log odds of a query without findings and without other candidates."""
AGREEMENT = 1.61
"""Weight of the votes."""
SMOOTHING = 0.5
"""Votes added to both sides, so that no votes count as a tie."""
WEIGHTS: Mapping[str, float] = {
    "evidence_unused": -3.12,
    "only_number": -3.09,
    "single_zero": -2.74,
    "all_null": -1.99,
    "operation_unused": -1.98,
    "some_null": -1.93,
    "shape": -1.74,
    "fan_out": -1.72,
    "tied_limit": -1.72,
    "extra_columns": -1.71,
    "literal_not_found": -1.69,
    "name_unused": -1.64,
    "number_unused": -1.12,
    "percentage": -1.04,
    "id_unasked": -0.80,
    "limit_unasked": -0.79,
    "integer_division": -0.56,
    "subquery_rows": -0.43,
    "literal_unasked": -0.35,
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

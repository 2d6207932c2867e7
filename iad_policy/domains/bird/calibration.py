"""The fitted model of the proxy verifier: the probability that a query is right, by its findings and by votes.

    sigmoid(PRIOR + sum of the WEIGHTS of its findings + AGREEMENT * log((same + SMOOTHING) / (other + SMOOTHING)))

`same` and `other` are the votes of the other candidates whose result is the same or another one. The numbers are
printed by `benchmarks/support/fit_bird_verifier.py`, which also prints how often each finding meant a wrong query.
"""

import math
from collections.abc import Collection, Mapping

PRIOR = 0.86
"""Log odds of a query without findings and without other candidates."""
AGREEMENT = 1.59
"""Weight of the votes."""
SMOOTHING = 0.5
"""Votes added to both sides, so that no votes count as a tie."""
WEIGHTS: Mapping[str, float] = {
    "only_number": -4.13,
    "single_zero": -3.53,
    "evidence_unused": -3.06,
    "extra_columns": -2.73,
    "operation_unused": -2.56,
    "shape": -2.45,
    "all_null": -2.44,
    "fan_out": -2.42,
    "some_null": -2.24,
    "name_unused": -2.13,
    "tied_limit": -2.00,
    "literal_not_found": -1.98,
    "id_unasked": -1.62,
    "integer_division": -1.53,
    "percentage": -1.43,
    "limit_unasked": -1.39,
    "number_unused": -1.25,
    "subquery_rows": -0.87,
    "literal_unasked": -0.72,
    "many_best": -0.48,
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

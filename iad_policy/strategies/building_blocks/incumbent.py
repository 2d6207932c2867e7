"""The incumbent: which of the candidates tried so far a strategy would commit."""

from collections.abc import Sequence

from iad_policy.types import Candidate, score


def incumbent(tried: Sequence[Candidate], delta: float = 0.0) -> Candidate:
    """Return the candidate that is left when each replaces the one before it only if it is better.

    In order, a candidate replaces the incumbent if its score is higher by more than `delta` (arXiv 2504.01931 v1,
    Algorithm 1), or if it is usable and the incumbent is not. So with `delta` 0 this is the best-scored one, the first
    among equals, and a usable candidate always beats an unusable one.

    Args:
        tried: At least one candidate, oldest first.
        delta: By how much a score must be higher.
    """
    best = tried[0]
    for new in tried[1:]:
        if bool(new.error) != bool(best.error):
            best = best if new.error else new
        elif score(new) - score(best) > delta:
            best = new
    return best

"""Stop rules: when a refining strategy stops before its proposals are used up."""

from collections.abc import Callable
from contextlib import suppress

from iad_policy.errors import UnknownName
from iad_policy.types import Candidate

StopRule = Callable[[Candidate], bool]


def never(best: Candidate) -> bool:
    """Use all proposals."""
    return False


def finalised(best: Candidate) -> bool:
    """Stop when the verifier says "finalise" (the WebShop judge of arXiv 2504.01931)."""
    return best.verdict is not None and best.verdict.passed is True


def score_reached(threshold: float) -> StopRule:
    """Stop at a score of at least `threshold`."""

    def reached(best: Candidate) -> bool:
        return best.score >= threshold

    return reached


def load_stop(name: str) -> StopRule:
    """Return the stop rule named `never`, `finalise` or `score:X`."""
    if name == "never":
        return never
    if name == "finalise":
        return finalised
    kind, _, threshold = name.partition(":")
    if kind == "score":
        with suppress(ValueError):
            return score_reached(float(threshold))
    raise UnknownName("stop rule", name, ["never", "finalise", "score:X"])

"""Stop rules: when a refining strategy stops before its proposals are used up."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from iad_policy.errors import UnknownName
from iad_policy.types import Candidate

StopRule = Callable[[Candidate, Sequence[Candidate]], bool]
"""Function from the incumbent and all candidates tried so far, oldest first, to whether to stop."""


def never(best: Candidate, tried: Sequence[Candidate]) -> bool:
    """Use all proposals."""
    return False


def finalised(best: Candidate, tried: Sequence[Candidate]) -> bool:
    """Stop when the verifier says "finalise" (the WebShop judge of arXiv 2504.01931)."""
    return best.verdict is not None and best.verdict.passed is True


def repeated(best: Candidate, tried: Sequence[Candidate]) -> bool:
    """Stop when the newest candidate has the action of an earlier one: the agent has nothing new to propose."""
    *earlier, newest = tried
    return not newest.error and any(one.key == newest.key for one in earlier if not one.error)


def score_reached(threshold: float) -> StopRule:
    """Stop at a score of at least `threshold`."""

    def reached(best: Candidate, tried: Sequence[Candidate]) -> bool:
        return best.score >= threshold

    return reached


RULES = {"never": never, "finalise": finalised, "repeat": repeated}


def load_stop(name: str) -> StopRule:
    """Return the stop rule named `never`, `finalise`, `repeat` or `score:X`."""
    if name in RULES:
        return RULES[name]
    kind, _, threshold = name.partition(":")
    if kind == "score":
        with suppress(ValueError):
            return score_reached(float(threshold))
    raise UnknownName("stop rule", name, [*RULES, "score:X"])

"""Stop rules: when a strategy that samples or refines stops before its proposals are used up."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from iad_policy.errors import UnknownName
from iad_policy.strategies.building_blocks.voting import answer_of, voters
from iad_policy.types import Candidate, score

StopRule = Callable[[Candidate, Sequence[Candidate]], bool]
"""Function from the incumbent and all candidates tried so far, oldest first, to whether to stop."""


def never(best: Candidate, tried: Sequence[Candidate]) -> bool:
    """Use all proposals."""
    return False


def passed(best: Candidate, tried: Sequence[Candidate]) -> bool:
    """Stop when the verifier passes the incumbent: "finalise" of the WebShop judge of arXiv 2504.01931."""
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


def vote_settled(confidence: float) -> StopRule:
    """Stop when the most frequent answer is ahead of the second for good (Adaptive-Consistency, arXiv 2305.11860).

    That is when the chance that it is the more frequent of the two is above `confidence`: the share above 1/2 of a Beta
    distribution with their votes. Answers are results where candidates were simulated, and actions elsewhere.
    """

    def settled(best: Candidate, tried: Sequence[Candidate]) -> bool:
        votes = [n for _, n in Counter(map(answer_of, voters(tried))).most_common(2)]
        return bool(votes) and chance_ahead(*votes) > confidence

    return settled


def gain_spent(worth: float) -> StopRule:
    """Stop when one more proposal is expected to improve the best score by less than it costs (Weitzman 1979).

    A success is worth so many proposals. The score of the next candidate is expected to be like those so far, or, with
    the weight of one of them, anything between 0 and 1. So scores must be chances of success.
    """

    def spent(best: Candidate, tried: Sequence[Candidate]) -> bool:
        at = min(max(score(best), 0.0), 1.0)
        return worth * (1 - at) ** 2 / 2 / (len(tried) + 1) < 1

    return spent


def chance_ahead(n_first: int, n_second: int = 0) -> float:
    """Return the chance that the first of two answers is the more frequent one, given so many votes for each.

    All shares are equally likely before the votes. For whole numbers the Beta distribution is a sum of binomials.
    """
    n = n_first + n_second + 1
    return math.fsum(math.comb(n, k) / 2**n for k in range(n_first + 1))


RULES = {"never": never, "passed": passed, "repeat": repeated}
RULES_WITH_NUMBER: dict[str, tuple[Callable[[float], StopRule], float, float]] = {
    "score": (score_reached, -math.inf, math.inf),
    "vote": (vote_settled, 0.5, 1.0),
    "gain": (gain_spent, 0.0, math.inf),
}
"""Name -> what makes the rule of a number, and the lowest and the highest such number."""


def reads_verdicts(name: str) -> bool:
    """Return whether a rule, by name, reads verdicts. Without any it would never stop."""
    return name.partition(":")[0] in ("passed", "score", "gain")


def load_stop(name: str) -> StopRule:
    """Return the stop rule named `never`, `passed`, `repeat`, `score:X`, `vote:P` or `gain:W`.

    Raises:
        UnknownName: There is no such rule.
        ValueError: The number is missing or out of range.
    """
    kind, _, number = name.partition(":")
    if kind in RULES and kind == name:
        return RULES[kind]
    if kind not in RULES_WITH_NUMBER:
        told = "stop rule (finalise is gone: use passed)" if name == "finalise" else "stop rule"
        raise UnknownName(told, name, [*RULES, "score:X", "vote:P", "gain:W"])
    make, low, high = RULES_WITH_NUMBER[kind]
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        between = (
            "" if math.isinf(low) else f" of {low:g} or more" if math.isinf(high) else f" from {low:g} to {high:g}"
        )
        raise ValueError(f"expected the stop rule {kind}:X with a number X{between}, got {name!r}; such as {kind}:0.9")
    return make(value)

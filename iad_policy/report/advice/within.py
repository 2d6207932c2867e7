"""What a method would have given with fewer proposals than the pilot has, task by task.

Independent attempts can be chosen in any order, so the mean over all choices of n of them is an estimate without bias
(the idea of pass@k, Chen et al. 2021, for a method that then selects one). Attempts with feedback are a chain, of which
the first n are what a shorter chain would have made.

A score is taken as it was given. That of a verifier which compares (`compares = True`) also depends on the attempts
that a smaller n would not have made.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, groupby
from random import Random

from iad_policy.report.advice.pilot import NO_VOTE, PilotAttempt, score_of

N_CHOICES = 500
"""Choices of attempts that are looked at. If there are more, so many are drawn."""


def first(attempts: Sequence[PilotAttempt], n: int) -> float:
    """Return the success of one attempt, whatever n is."""
    return sum(one.value for one in attempts) / len(attempts)


def best_of(attempts: Sequence[PilotAttempt], n: int, by: Callable[[PilotAttempt], float] = score_of) -> float:
    """Return the expected success of the best-scored of n attempts, the first among equals.

    By their `value` it is what a perfect choice would give: pass@n.
    """
    total, above = 0.0, 0
    n_all = len(attempts)
    for _, group in groupby(sorted(attempts, key=by, reverse=True), key=by):
        equal = list(group)
        # The best is among these if none of the n is above them, and not all of the n are below.
        chance = math.comb(n_all - above, n) - math.comb(n_all - above - len(equal), n)
        total += chance * sum(one.value for one in equal) / len(equal)
        above += len(equal)
    return total / math.comb(n_all, n)


def most_frequent(attempts: Sequence[PilotAttempt], n: int) -> float:
    """Return the expected success of the most frequent vote of n attempts, the first among equals."""
    rng = Random(len(attempts) * 1000 + n)
    if math.comb(len(attempts), n) <= N_CHOICES:
        choices = [list(one) for one in combinations(attempts, n)]
    else:
        choices = [rng.sample(list(attempts), n) for _ in range(N_CHOICES)]
    return sum(map(_voted, choices)) / len(choices)


def longest(attempts: Sequence[PilotAttempt], n: int) -> float:
    """Return the success of a chain that ends after n attempts: that of its best-scored one, the first among equals."""
    return max(attempts[:n], key=score_of).value


METHODS: Mapping[str, Callable[[Sequence[PilotAttempt], int], float]] = {
    "single": first,
    "bon": best_of,
    "bon-sc": most_frequent,
    "iad": longest,
}
"""Strategy -> function from the attempts of an episode and n to the expected success."""


def _voted(chosen: Sequence[PilotAttempt]) -> float:
    """Return the expected success of a vote if the attempts came in any order."""
    rank = max(one.vote[0] for one in chosen)
    voters = [one for one in chosen if one.vote[0] == rank and one.vote != NO_VOTE]
    if not voters:
        return 0.0
    votes = Counter(one.vote for one in voters)
    most = max(votes.values())
    elected = [one for one in voters if votes[one.vote] == most]
    return sum(one.value for one in elected) / len(elected)

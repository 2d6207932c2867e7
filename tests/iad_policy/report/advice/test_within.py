"""What smaller n would have given, against all orders of the attempts."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_policy.report.advice.pilot import NO_VOTE, PilotAttempt
from iad_policy.report.advice.within import best_of, first, longest, most_frequent

ATTEMPT = st.builds(
    PilotAttempt,
    st.booleans(),
    st.sampled_from([-math.inf, 0.0, 0.5, 1.0]),
    st.sampled_from([NO_VOTE, (1, "empty"), (2, "a"), (2, "b")]),
    candidate=st.none(),
)


def in_any_order(attempts: Sequence[PilotAttempt], n: int, choose: Callable[[Sequence[PilotAttempt]], bool]) -> float:
    orders = list(permutations(attempts, n))
    return sum(map(choose, orders)) / len(orders)


def highest(order: Sequence[PilotAttempt]) -> bool:
    return max(order, key=lambda one: one.score).is_right


def elected(order: Sequence[PilotAttempt]) -> bool:
    rank = max(one.vote[0] for one in order)
    voters = [one for one in order if one.vote[0] == rank and one.vote != NO_VOTE]
    votes = Counter(one.vote for one in voters)
    return bool(voters) and max(voters, key=lambda one: votes[one.vote]).is_right


@given(st.lists(ATTEMPT, min_size=1, max_size=5), st.data())
def test_it_is_the_mean_over_all_orders(attempts: list[PilotAttempt], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(attempts)))
    assert best_of(attempts, n) == pytest.approx(in_any_order(attempts, n, highest))
    assert most_frequent(attempts, n) == pytest.approx(in_any_order(attempts, n, elected))
    assert first(attempts, n) == pytest.approx(in_any_order(attempts, 1, highest))


def test_a_shorter_chain_is_the_start_of_the_longer_one() -> None:
    wrong, right, worse = PilotAttempt(False, 0.5), PilotAttempt(True, 0.7), PilotAttempt(False, 0.6)
    assert [longest([wrong, right, worse], n) for n in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert longest([wrong, PilotAttempt(True, 0.5)], 2) == 0.0  # the first among equals
    # Many choices are drawn and not listed.
    attempts = [PilotAttempt(place % 2 == 0, 0.0, (0, f"{place % 3}")) for place in range(16)]
    assert 0.3 < most_frequent(attempts, 8) == most_frequent(attempts, 8) < 0.7

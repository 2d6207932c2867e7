"""What a pilot shows, on attempts made by hand; and what smaller n would have given, against all orders of them."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_policy.report.advice.calibration import calibration_of
from iad_policy.report.advice.evidence import evidence_of
from iad_policy.report.advice.pilot import NO_VOTE, Pilot, PilotAttempt, PilotLine
from iad_policy.report.advice.within import best_of, first, longest, most_frequent


def pilot(attempts: list[PilotAttempt], n_tasks: int, **more: Any) -> Pilot:
    tasks = tuple(f"t{place}" for place in range(n_tasks))
    own = {task: [attempts] for task in tasks}
    line = PilotLine("bon", "v", {3: dict.fromkeys(tasks, 0.2)}, {3: dict.fromkeys(tasks, 6.0)}, own)
    return Pilot("E", "train", "a", tasks, 0, "calls", True, {"bon": line}, **more)


def test_of_grades_the_best_of_k_and_what_gets_better_are_shown() -> None:
    graded = [PilotAttempt(value, score, key=str(value)) for value, score in ((0.2, 0.9), (0.4, 0.1), (0.6, 0.5))]
    found: Any = evidence_of(pilot(graded, 2, metric="reward"))
    assert found.diversity.pass_at == {1: pytest.approx(0.4), 2: pytest.approx((0.4 + 0.6 + 0.6) / 3), 3: 0.6}
    assert (found.selection[0].best, found.selection[0].auc) == (0.2, None)
    (repeated,) = found.uptake
    assert (repeated.n, repeated.differing, repeated.n_open, repeated.right) == (4, 1.0, 4, 1.0)


def test_an_attempt_without_a_verdict_does_not_count_for_the_verifier() -> None:
    attempts = [PilotAttempt(True, 1.0, key="r"), PilotAttempt(False, 0.0, key="w"), PilotAttempt(False, key="u")]
    found: Any = evidence_of(pilot(attempts, 40))
    (selection,) = found.selection
    assert (selection.n_right, selection.n_wrong, selection.auc.value) == (40, 40, 1.0)
    assert found.diversity.pass_at == {1: pytest.approx(1 / 3), 2: pytest.approx(2 / 3), 3: 1.0}
    assert selection.calibration.error < 0.05


def attempts_of_chance(n: int, offset: float, slope: float) -> tuple[list[float], list[bool], list[str]]:
    rng = Random(3)
    scores = [rng.random() for _ in range(n)]
    is_right = [rng.random() < 1 / (1 + math.exp(-(offset + slope * one))) for one in scores]
    return scores, is_right, [str(place // 4) for place in range(n)]


def test_scores_of_another_agent_become_its_chances() -> None:
    found: Any = calibration_of(*attempts_of_chance(20_000, -3.0, 4.0))
    assert (found.offset, found.slope) == (pytest.approx(-3.0, abs=0.15), pytest.approx(4.0, abs=0.2))
    assert found.error < 0.02 < 0.1 < found.error_before
    scores, is_right, tasks = attempts_of_chance(400, -3.0, 4.0)
    wide: Any = calibration_of([1000 * one - 500 for one in scores], is_right, tasks)
    near: Any = calibration_of(scores, is_right, tasks)
    assert (wide.slope * 1000, wide.error_before) == (pytest.approx(near.slope), None)
    assert calibration_of([-one for one in scores], is_right, tasks) is None, "its scores fall with success"
    assert calibration_of(scores, is_right, ["one"] * len(scores)) is None, "no other task to measure the error on"


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

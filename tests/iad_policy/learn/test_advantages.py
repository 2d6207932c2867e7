"""Advantages, held to numbers worked by hand."""

import numpy as np
import pytest

from iad_policy.learn.advantages import discounted, generalised, grouped, grouped_by_state


def test_rewards_are_discounted() -> None:
    assert discounted(np.array([1.0, 0.0, 2.0]), 0.5) == pytest.approx([1.5, 1.0, 2.0])


def test_generalised_estimates_are_those_worked_by_hand() -> None:
    # Deltas: 0 + .9 * .6 - .5 = .04, and 1 - .6 = .4. The first is .04 + .9 * .8 * .4 = .328.
    found = generalised(np.array([0.0, 1.0]), np.array([0.5, 0.6]), gamma=0.9, lam=0.8)
    assert found == pytest.approx([0.328, 0.4])


def test_without_discount_and_with_lambda_1_they_are_the_return_minus_the_value() -> None:
    rewards, values = np.array([0.1, 0.0, 0.7]), np.array([0.3, 0.2, 0.9])
    assert generalised(rewards, values, gamma=1.0, lam=1.0) == pytest.approx([0.5, 0.5, -0.2])


def test_a_group_is_compared_with_its_mean() -> None:
    returns = np.array([1.0, 0.0, 0.5, 0.5, 0.3])
    groups = ["a", "a", "b", "b", "c"]
    assert grouped(returns, groups) == pytest.approx([0.5, -0.5, 0.0, 0.0, 0.0])
    assert grouped(returns, groups, is_scaled=True) == pytest.approx([1.0, -1.0, 0.0, 0.0, 0.0])


def test_steps_in_one_state_are_compared_with_each_other() -> None:
    # Two episodes of a task that share the state s. Episodes: +.5 and -.5. In s: 1 and .2, so +.4 and -.4.
    found = grouped_by_state(
        np.array([1.0, 0.0]), ["task", "task"], [np.array([1.0, 1.0]), np.array([0.2])], [["s", "t"], ["s"]]
    )
    assert found[0] == pytest.approx([0.9, 0.5])
    assert found[1] == pytest.approx([-0.9])


def test_the_same_state_of_another_task_is_another_one() -> None:
    found = grouped_by_state(np.array([1.0, 0.0]), ["a", "b"], [np.array([1.0]), np.array([0.0])], [["s"], ["s"]])
    assert [one.tolist() for one in found] == [[0.0], [0.0]]


def test_nothing_has_no_advantages() -> None:
    assert grouped_by_state(np.zeros(0), [], [], []) == []

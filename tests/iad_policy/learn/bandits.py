"""Bandits: tasks of one decision whose optimum is known in closed form."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from iad_policy.learn.backends.numeric import TrainableFeatureModel
from iad_policy.learn.objectives import Loss, Objective, Stored
from iad_policy.trained.backends.numeric import Linear
from iad_policy.trained.heads import Array
from iad_policy.trained.rows import Row
from iad_policy.types import State


class Arms:
    """A feature for each arm, so that a linear policy can be any distribution."""

    def __init__(self, n_arms: int, n_states: int = 1) -> None:
        self.n_arms = n_arms
        self.names = [f"{state}.{arm}" for state in range(n_states) for arm in range(n_arms)]
        self.identity = f"arms {n_arms} {n_states}"

    def actions(self, state: State) -> list[int]:
        """All arms."""
        return list(range(self.n_arms))

    def rows(self, state: State, actions: Sequence[Any]) -> Array:
        """A 1 for the arm in its state."""
        rows = np.zeros((len(actions), len(self.names)))
        rows[np.arange(len(actions)), [int(state.observation) * self.n_arms + action for action in actions]] = 1.0
        return rows


def pull(arm: int, state: int = 0) -> Row:
    return Row(State(state, {}), arm)


def policy(probabilities: Sequence[float], **options: Any) -> TrainableFeatureModel:
    """A policy on one state that has these probabilities."""
    made = TrainableFeatureModel("linear", Arms(len(probabilities)), Linear(), "policy", **options)
    made._parameters["weights"] = np.log(np.array(probabilities))
    return made


def probabilities(model: TrainableFeatureModel) -> Array:
    n_arms: int = model.features.n_arms  # type: ignore[attr-defined]
    return np.exp(model.outputs(model.batch([pull(arm) for arm in range(n_arms)])))


class Killed(Exception):
    pass


class KilledAfter:
    """An objective that is killed at its n-th call."""

    def __init__(self, n: int, objective: Objective) -> None:
        self.n_left = n
        self.objective = objective

    def __call__(self, logp: Array, stored: Stored) -> Loss:
        self.n_left -= 1
        if self.n_left < 0:
            raise Killed
        return self.objective(logp, stored)

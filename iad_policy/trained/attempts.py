"""Attempts in numbers: what is seen of an episode at its end, to tell whether it succeeded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from iad_policy.trained.heads import Array
from iad_policy.types import State
from iad_policy.types.outcome_types import END, INVALID, SUCCESS, type_of

if TYPE_CHECKING:
    from iad_policy.trained.features import Features

POOLS = ("mean", "last", "max")
OUTCOMES = (SUCCESS, END, INVALID, "failed")
"""Types of outcomes as they are counted here. Every class of failure is `failed`."""
OWN = ("steps", *(f"share {kind}" for kind in OUTCOMES), *(f"last {kind}" for kind in OUTCOMES))
STEPS = 10
"""The number of steps is counted in tens."""


class AttemptFeatures:
    """Features of an attempt, real or simulated. It is a `Features` whose states are those where attempts ended.

    These are the features of the actions that were taken, each in its state, pooled: their mean, those of the last
    action, and their maxima. To them come the number of steps and the types of their outcomes.

    Args:
        features: The environment's features of actions.
    """

    def __init__(self, features: "Features") -> None:
        self._features = features
        self.names: Sequence[str] = [*(f"{pool}:{name}" for pool in POOLS for name in features.names), *OWN]
        self.identity = f"attempts {len(self.names)} of {features.identity}"

    def actions(self, state: State) -> list[None]:
        """Return a single None: there is nothing to choose."""
        return [None]

    def rows(self, state: State, actions: Sequence[Any]) -> Array:
        """Return the attempt's features for each of the given actions, whatever they are."""
        if not state.history:
            return np.zeros((len(actions), len(self.names)))
        taken = np.concatenate([self._features.rows(at, [turn.action]) for at, turn in _steps(state)])
        row = np.concatenate([taken.mean(0), taken[-1], taken.max(0), _own(state)])
        return np.tile(row, (len(actions), 1))


def _steps(end: State) -> list[tuple[State, Any]]:
    """Return each turn with the state that it was taken in."""
    n = len(end.history)
    return [
        (State(turn.observation, turn.info, history=end.history[:place], steps_left=end.steps_left + n - place), turn)
        for place, turn in enumerate(end.history)
    ]


def _own(end: State) -> Array:
    infos = [*(turn.info for turn in end.history[1:]), end.info]
    kinds = [_kind(type_of(info, done=False)) for info in infos[:-1]] + [_kind(type_of(end.info, end.done))]
    shares = [kinds.count(kind) / len(kinds) for kind in OUTCOMES]
    return np.array([len(kinds) / STEPS, *shares, *(float(kinds[-1] == kind) for kind in OUTCOMES)])


def _kind(outcome: str) -> str:
    return outcome if outcome in OUTCOMES else OUTCOMES[-1]

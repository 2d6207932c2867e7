"""Attempts in numbers: what is seen of an episode at its end, to tell whether it succeeded."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from iad_policy.trained.features import Features
from iad_policy.trained.heads import Array
from iad_policy.types import State
from iad_policy.types.outcome_types import END, INVALID, SUCCESS, type_of

OUTCOMES = (SUCCESS, END, INVALID, "failed")
"""Types of outcomes as they are counted here. Every class of failure is `failed`."""


class AttemptFeatures:
    """Features of an attempt, real or simulated. It is a `Features` whose states are those where attempts ended.

    These are the features of the actions that were taken, each in its state, pooled: their mean, those of the last
    action, and their maxima. To them come the number of steps, in tens, and the types of their outcomes.

    Args:
        features: The environment's features of actions.
    """

    def __init__(self, features: Features) -> None:
        self._features = features
        own = ["steps", *(f"share {kind}" for kind in OUTCOMES), *(f"last {kind}" for kind in OUTCOMES)]
        self.names: Sequence[str] = [
            *(f"{pool}:{name}" for pool in ("mean", "last", "max") for name in features.names),
            *own,
        ]
        self.identity = f"attempts {len(self.names)} of {features.identity}"

    def actions(self, state: State) -> list[None]:
        """Return a single None: there is nothing to choose."""
        return [None]

    def rows(self, state: State, actions: Sequence[Any]) -> Array:
        """Return the attempt's features for each of the given actions, whatever they are."""
        if not state.history:
            return np.zeros((len(actions), len(self.names)))
        turns, n = state.history, len(state.history)
        places = [
            State(turn.observation, turn.info, history=turns[:place], steps_left=state.steps_left + n - place)
            for place, turn in enumerate(turns)
        ]
        taken = np.concatenate([self._features.rows(at, [turn.action]) for at, turn in zip(places, turns, strict=True)])
        kinds = [type_of(turn.info, done=False) for turn in turns[1:]] + [type_of(state.info, state.done)]
        kinds = [kind if kind in OUTCOMES else "failed" for kind in kinds]
        shares = [kinds.count(kind) / n for kind in OUTCOMES]
        own = [n / 10, *shares, *(float(kinds[-1] == kind) for kind in OUTCOMES)]
        row = np.concatenate([taken.mean(0), taken[-1], taken.max(0), np.array(own)])
        return np.tile(row, (len(actions), 1))

"""Features: how a policy or a value model without a language model sees an action in a state.

An environment's features are named in its `Domain`. A policy chooses from the actions that the features offer.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from iad_policy.errors import NoFeatures
from iad_policy.registry import load_object
from iad_policy.registry.domain import domain_by_id, domains
from iad_policy.trained.heads import Array
from iad_policy.types import State


class Features(Protocol):
    """Turns actions into numbers. It sees what an agent sees, and is a pure function of it.

    Attributes:
        names: Name of each feature.
        identity: A text that changes whenever a feature's meaning does. Models of another one are refused.
        offers: Whether a policy can choose from its actions. Features may leave it out where one can.
    """

    names: Sequence[str]
    identity: str

    def actions(self, state: State) -> Sequence[Any]:
        """Return the actions to choose from in a state, at least one."""
        ...

    def rows(self, state: State, actions: Sequence[Any]) -> Array:
        """Return a row of features for each action: shape (actions, features). The actions need not be offered."""
        ...


class StateFeatures:
    """Features of a state alone, for the value of states: the means and the maxima of those of its actions.

    Args:
        features: The features of actions.
    """

    def __init__(self, features: Features) -> None:
        self._features = features
        self.names: Sequence[str] = [f"{kind}:{name}" for kind in ("mean", "max") for name in features.names]
        self.identity = f"states of {features.identity}"

    def actions(self, state: State) -> list[None]:
        """Return a single None: there is nothing to choose."""
        return [None]

    def rows(self, state: State, actions: Sequence[Any]) -> Array:
        """Return the state's features for each of the given actions, whatever they are."""
        own = self._features.rows(state, self._features.actions(state))
        row = np.concatenate([own.mean(0), own.max(0)])
        return np.tile(row, (len(actions), 1))


def offers_actions(features: Features) -> bool:
    """Return whether a policy can choose from the actions of features."""
    return bool(getattr(features, "offers", True))


def load_features(env: str) -> Features:
    """Return the features of an environment, by its id.

    Raises:
        NoFeatures: It has none.
    """
    own = domain_by_id(env)
    if not own.features:
        raise NoFeatures(env, [name for name, one in domains() if one.features], is_for_models=not own.agent)
    made: Features = load_object(own.features)()
    return made

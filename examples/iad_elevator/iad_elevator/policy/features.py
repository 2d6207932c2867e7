"""How a policy without a language model sees an action."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iad_elevator.policy.reading import wanted
from iad_policy.types import State

NAMES = ("to parcel", "to goal", "load at parcel", "unload at goal", "finish at goal", "finish")


class ElevatorFeatures:
    """Whether an action goes, loads, unloads or ends where the instruction says."""

    names: Sequence[str] = NAMES
    identity = f"elevator {' '.join(NAMES)}"

    def actions(self, state: State) -> Sequence[str]:
        """Return all actions."""
        return list(state.info["available_actions"]) or ["finish[now]"]

    def rows(self, state: State, actions: Sequence[Any]) -> NDArray[np.float64]:
        """Return a row for each action."""
        page, goal = state.info["page"], wanted(state)[1]
        floor, parcel = page["floor"], page["parcel"]
        return np.array(
            [
                (
                    action == f"go[{parcel}]" != f"go[{floor}]",
                    parcel is None and action == f"go[{goal}]" != f"go[{floor}]",
                    action == "load[parcel]" and parcel == floor != goal,
                    action == "unload[parcel]" and floor == goal,
                    action == "finish[now]" and parcel == goal,
                    action == "finish[now]",
                )
                for action in map(str, actions)
            ],
            dtype=float,
        )

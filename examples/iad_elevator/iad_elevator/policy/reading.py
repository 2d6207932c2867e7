"""What is asked for, and how far it is done, as agent, verifier and features read it."""

import re

from iad_policy.types import State

_FLOORS = re.compile(r"from floor (\d+) to floor (\d+)")


def wanted(state: State) -> tuple[int, int]:
    """Return the floor where the parcel is at first, and the one where it has to go."""
    start, goal = _FLOORS.search(state.info["instruction"]).groups()  # type: ignore[union-attr]  # every task says so
    return int(start), int(goal)


def next_action(state: State) -> str:
    """Return the action that leads on."""
    page = state.info["page"]
    goal = wanted(state)[1]
    if page["parcel"] == goal:
        return "finish[now]"
    target, act = (goal, "unload[parcel]") if page["parcel"] is None else (page["parcel"], "load[parcel]")
    return act if page["floor"] == target else f"go[{target}]"

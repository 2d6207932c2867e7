"""The world: an elevator that carries a parcel."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from iad_elevator.scoring import Task, score, solution
from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.spaces import UnicodeText

FLOORS = range(6)
ACTIONS = (*(f"go[{floor}]" for floor in FLOORS), "load[parcel]", "unload[parcel]", "finish[now]")
SPLITS = ("train", "dev", "test")


class Place(NamedTuple):
    """Where the elevator and the parcel are; the parcel is on a floor, or None: in the elevator."""

    floor: int
    parcel: int | None
    is_over: bool = False


def _tasks() -> dict[str, Task]:
    ways = [(start, goal) for start in FLOORS for goal in FLOORS if start != goal]
    tasks = [
        Task(f"{start}-{goal}", f"Bring the parcel from floor {start} to floor {goal}.", SPLITS[place % 3], start, goal)
        for place, (start, goal) in enumerate(ways)
    ]
    return {task.task_id: task for task in tasks}


class ElevatorEnv(IADEnv[str, Place]):
    """The agent brings a parcel from one floor to another."""

    domain = "iad_elevator.policy:DOMAIN"

    def __init__(self, *, split: str | None = "test", max_steps: int = 8, render_mode: str | None = None) -> None:
        super().__init__(_tasks(), max_steps=max_steps, split=split, render_mode=render_mode)
        self.action_space = UnicodeText(1000)
        self.observation_space = UnicodeText(1000)

    def _start(self, task: Task) -> Place:
        return Place(0, task.start)

    def _transition(self, state: Place, action: str, rng: Any) -> Transition:
        action = self.action_key(action)
        if action not in ACTIONS:
            return Transition(state, f"expected one of {', '.join(ACTIONS)}, got {action!r:.50}", False)
        if action == "finish[now]":
            return Transition(state._replace(is_over=True), "", True)
        if action == "load[parcel]":
            if state.parcel != state.floor:
                return Transition(state, "there is no parcel on this floor", False)
            return Transition(state._replace(parcel=None), "", False)
        if action == "unload[parcel]":
            if state.parcel is not None:
                return Transition(state, "there is no parcel in the elevator", False)
            return Transition(state._replace(parcel=state.floor), "", False)
        return Transition(state._replace(floor=int(action[3:-1])), "", False)

    def _view(self, state: Place, complaint: str) -> View:
        parcel = "in the elevator" if state.parcel is None else f"on floor {state.parcel}"
        seen = f"The elevator is on floor {state.floor}. The parcel is {parcel}. {complaint}".strip()
        return View(seen, () if state.is_over else ACTIONS, {"complaint": complaint}, state._asdict())

    def _score(self, task: Task, now: Snapshot, memory: Any) -> Score:
        progress, success = score(task, now.state.parcel, now.state.is_over)
        return Score(float(success), progress, success, {}, None)

    def _solution(self, task: Task) -> Sequence[str]:
        return solution(task)

    def terminal(self, action: str) -> bool:
        """Only `finish[now]` ends the episode."""
        return self.action_key(action) == "finish[now]"

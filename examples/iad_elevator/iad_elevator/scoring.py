"""Gold: how far a parcel has come, and the actions that bring it there. Only the environment imports this."""

from typing import NamedTuple


class Task(NamedTuple):
    """A parcel to bring from a floor to another one."""

    task_id: str
    instruction: str
    split: str
    start: int
    goal: int


def score(task: Task, parcel: int | None, is_over: bool) -> tuple[float, bool]:
    """Return the progress, 0-1, and the success. The parcel is on a floor, or None: in the elevator."""
    is_there = parcel == task.goal
    return 1.0 if is_there else 0.5 if parcel is None else 0.0, is_there and is_over


def solution(task: Task) -> list[str]:
    """Return the actions that solve a task."""
    return [f"go[{task.start}]", "load[parcel]", f"go[{task.goal}]", "unload[parcel]", "finish[now]"]

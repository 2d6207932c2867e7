"""A tiny text environment with contract 1: say the colour that the lamp shall have, then leave."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.spaces import UnicodeText

COLOURS = ("red", "green", "blue")


class LampEnv(IADEnv[str, str]):
    """`paint[colour]` any number of times, `leave[]` at the end; the task is a colour."""

    def __init__(self, max_steps: int = 5) -> None:
        super().__init__(max_steps=max_steps)
        self.action_space = UnicodeText(100)  # type: ignore[assignment]
        self.observation_space = UnicodeText(1000)  # type: ignore[assignment]

    @property
    def task_ids(self) -> Sequence[str]:
        return COLOURS

    def _task(self, task_id: str) -> str:
        return task_id

    def _task_id(self, task: str) -> str:
        return task

    def _instruction(self, task: str) -> str:
        return f"make the lamp {task}, for $5 at most"

    def _start(self, task: str) -> str:
        return "white"

    def _transition(self, state: str, action: str, rng: np.random.Generator | None) -> Transition:
        if action == "leave[now]":
            return Transition(state, "", True)
        colour = action.removeprefix("paint[").removesuffix("]")
        if action != f"paint[{colour}]" or colour not in COLOURS:
            return Transition(state, f"expected paint[colour] or leave[now], got {action}", False)
        return Transition(colour, "", False)

    def _view(self, state: str, complaint: str) -> View:
        observation = f"The lamp is {state}. {complaint}".strip()
        return View(observation, ("leave[now]", "paint[...]"), {"colour": state}, {"colour": state})

    def _score(self, task: str, now: Snapshot, memory: Any) -> Score:
        value = float(now.state == task)
        return Score(value * now.terminated, value, bool(value), {}, None)

    def _reference(self, task: str) -> str:
        return task

    def action_key(self, action: str) -> str:
        return action

    def irreversible(self, action: str) -> bool:
        return action == "leave[now]"

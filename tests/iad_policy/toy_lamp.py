"""A tiny text environment with contract 1: say the colour that the lamp shall have, then leave."""

from typing import Any, NamedTuple

import numpy as np

from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.spaces import UnicodeText

COLOURS = ("red", "green", "blue")


class Lamp(NamedTuple):
    task_id: str

    @property
    def instruction(self) -> str:
        return f"make the lamp {self.task_id}, for $5 at most"


class LampEnv(IADEnv[str, str]):
    """`paint[colour]` any number of times, `leave[]` at the end; the task is a colour."""

    def __init__(self, max_steps: int = 5) -> None:
        super().__init__({colour: Lamp(colour) for colour in COLOURS}, max_steps=max_steps)
        self.action_space = UnicodeText(100)  # type: ignore[assignment]
        self.observation_space = UnicodeText(1000)  # type: ignore[assignment]

    def _start(self, task: Lamp) -> str:
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

    def _score(self, task: Lamp, now: Snapshot, memory: Any) -> Score:
        value = float(now.state == task.task_id)
        return Score(value * now.terminated, value, bool(value), {}, None)

    def _reference(self, task: Lamp) -> str:
        return task.task_id

    def terminal(self, action: str) -> bool:
        return action == "leave[now]"

"""Digger, a small text environment: how short one on `IADEnv` is, and what the contract tests run on.

Nine rooms in a square, each with a landmark. The task names one: walk there and dig. Digging can't be taken back.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np

from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.errors import UnknownTask
from iad_envs.spaces import UnicodeText

LANDMARKS = ("oak", "well", "barn", "mill", "ford", "shed", "gate", "tomb", "pond")
WAYS = {"north": (0, -1), "south": (0, 1), "west": (-1, 0), "east": (1, 0)}
SLIPS = 0.4
"""How often a step of the slippery variant leads nowhere."""


class Place(NamedTuple):
    """Where the digger is, and whether the ground is open there."""

    x: int
    y: int
    is_dug: bool = False

    @property
    def landmark(self) -> str:
        return LANDMARKS[3 * self.y + self.x]


class Task(NamedTuple):
    """Which landmark to dig at."""

    landmark: str


class Digger(IADEnv[str, Place]):
    """Walk to the landmark of the instruction and dig there."""

    observation_space: gym.Space[str] = UnicodeText(200)
    action_space: gym.Space[str] = UnicodeText(10_000)

    def __init__(self, *, max_steps: int = 8, render_mode: str | None = None) -> None:
        super().__init__(max_steps=max_steps, render_mode=render_mode)

    @property
    def task_ids(self) -> Sequence[str]:
        return LANDMARKS

    def _task(self, task_id: str) -> Task:
        if task_id not in LANDMARKS:
            raise UnknownTask("task", task_id, LANDMARKS)
        return Task(task_id)

    def _task_id(self, task: Task) -> str:
        return task.landmark

    def _instruction(self, task: Task) -> str:
        return f"Dig at the {task.landmark}."

    def _start(self, task: Task) -> Place:
        return Place(1, 1)

    def _transition(self, state: Place, action: str, rng: np.random.Generator | None) -> Transition:
        verb, _, way = action.partition(" ")
        if action == "dig":
            return Transition(state._replace(is_dug=True), "", True)
        if verb != "go" or way not in WAYS:
            return Transition(state, f"expected go north, south, west or east, or dig, got {action!r:.50}", False)
        if rng is not None and rng.random() < SLIPS:
            return Transition(state, "", False)
        x, y = (min(2, max(0, here + by)) for here, by in zip(state[:2], WAYS[way], strict=True))
        return Transition(Place(x, y), "", False)

    def _view(self, state: Place, complaint: str) -> View:
        seen = "The ground is open." if state.is_dug else f"You are at the {state.landmark}."
        actions = () if state.is_dug else (*(f"go {way}" for way in WAYS), "dig")
        return View(f"{seen} {complaint}".strip(), actions, {"is_dug": state.is_dug}, {"landmark": state.landmark})

    def _score(self, task: Task, now: Snapshot, memory: Any) -> Score:
        gold = LANDMARKS.index(task.landmark)
        distance = abs(gold % 3 - now.state.x) + abs(gold // 3 - now.state.y)
        success = now.state.is_dug and distance == 0
        return Score(float(success), 1 - distance / 4, success, {"found": float(success)}, None)

    def _reference(self, task: Task) -> list[str]:
        gold = LANDMARKS.index(task.landmark)
        across, down = gold % 3 - 1, gold // 3 - 1
        steps = ["go west"] * -across + ["go east"] * across + ["go north"] * -down + ["go south"] * down
        return [*steps, "dig"]

    def action_key(self, action: str) -> str:
        return " ".join(action.split()).lower()

    def irreversible(self, action: str) -> bool:
        return self.action_key(action) == "dig"


class SlipperyDigger(Digger):
    """A digger whose steps sometimes lead nowhere."""

    STOCHASTIC: ClassVar[bool] = True


gym.register("Toy/Digger-v0", entry_point="tests.contract.toy:Digger")
gym.register("Toy/SlipperyDigger-v0", entry_point="tests.contract.toy:SlipperyDigger")

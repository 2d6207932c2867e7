"""Small text environments that the contract tests run on.

Digger has nine rooms in a square, each with a landmark. The task names one: walk there and dig, which ends the episode.
In Cafe a guest says what they want only if they are asked, and a drink that is brewed stays brewed.
"""

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np

from iad_envs.core import IADEnv, Score, Snapshot, Transition, View
from iad_envs.spaces import UnicodeText

LANDMARKS = ("oak", "well", "barn", "mill", "ford", "shed", "gate", "tomb", "pond")
WAYS = {"north": (0, -1), "south": (0, 1), "west": (-1, 0), "east": (1, 0)}
SLIPS = 0.4
"""How often a step of the slippery variant leads nowhere."""


class Place(NamedTuple):
    x: int
    y: int
    is_dug: bool = False
    landmark = property(lambda self: LANDMARKS[3 * self.y + self.x])


class Task(NamedTuple):
    landmark: str
    task_id = property(lambda self: self.landmark)
    instruction = property(lambda self: f"Dig at the {self.landmark}.")


class Digger(IADEnv[str, Place]):
    """Walk to the landmark of the instruction and dig there."""

    observation_space: gym.Space[str] = UnicodeText(200)
    action_space: gym.Space[str] = UnicodeText(10_000)

    def __init__(self, *, max_steps: int = 8, render_mode: str | None = None) -> None:
        tasks = {landmark: Task(landmark) for landmark in LANDMARKS}
        super().__init__(tasks, max_steps=max_steps, render_mode=render_mode)

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
        y, x = divmod(LANDMARKS.index(task.landmark), 3)
        distance = abs(x - now.state.x) + abs(y - now.state.y)
        success = now.state.is_dug and distance == 0
        return Score(float(success), 1 - distance / 4, success, {"found": float(success)}, None)

    def _solution(self, task: Task) -> list[str] | None:
        down, across = (gold - 1 for gold in divmod(LANDMARKS.index(task.landmark), 3))
        steps = ["go west"] * -across + ["go east"] * across + ["go north"] * -down + ["go south"] * down
        return [*steps, "dig"]

    def action_key(self, action: str) -> str:
        return " ".join(action.split()).lower()

    def terminal(self, action: str) -> bool:
        return self.action_key(action) == "dig"


class SlipperyDigger(Digger):
    """A digger whose steps sometimes lead nowhere, so no list of actions is a solution."""

    STOCHASTIC: ClassVar[bool] = True

    def _solution(self, task: Task) -> None:
        return None

    def _reference(self, task: Task) -> list[str]:
        return Digger._solution(self, task) or []


DRINKS = ("tea", "coffee", "milk")


class Order(NamedTuple):
    """What a guest wants: a drink, then another one. The agent is told only if it asks."""

    task_id: str
    drinks: tuple[str, str]
    split: str
    difficulty: str
    instruction = property(lambda self: "Bring the guest what they want, twice.")


class Table(NamedTuple):
    """What was said and brought, and what is brewed."""

    said: tuple[str, ...] = ()
    brought: tuple[str, ...] = ()
    brewed: str = ""
    is_closed: bool = False


class Cafe(IADEnv[str, Table]):
    """`ask` the guest, `brew` a drink, which can't be undone, `bring` it, and `close` at the end."""

    observation_space: gym.Space[str] = UnicodeText(2000)
    action_space: gym.Space[str] = UnicodeText(1_000_000)

    def __init__(self, *, max_steps: int = 8, split: str | None = "test", render_mode: str | None = None) -> None:
        kinds = {True: ("train", "easy"), False: ("test", "hard")}
        orders = [Order(f"{a}-{b}", (a, b), *kinds[a == b]) for a in DRINKS for b in DRINKS]
        tasks = {order.task_id: order for order in orders}
        super().__init__(tasks, max_steps=max_steps, split=split, render_mode=render_mode)

    def _start(self, task: Order) -> Table:
        return Table()

    def _transition(self, state: Table, action: str, rng: np.random.Generator | None) -> Transition:
        verb, _, drink = action.partition(" ")
        if action == "close":
            return Transition(state._replace(is_closed=True), "", True)
        if action == "ask":
            return Transition(state._replace(said=(*state.said, "You ask.")), "", False, awaiting=True)
        if action == "bring" and state.brewed:
            return Transition(state._replace(brought=(*state.brought, state.brewed), brewed=""), "", False)
        if verb == "brew" and drink in DRINKS and not state.brewed:
            return Transition(state._replace(brewed=drink), "", False)
        return Transition(state, f"expected ask, brew and a drink, bring or close, got {action!r:.50}", False)

    def _committed(self, after: Snapshot) -> Snapshot:
        if not after.is_awaiting:
            return after
        wanted = after.task.drinks[min(len(after.state.brought), 1)]
        return replace(after, state=after.state._replace(said=(*after.state.said, f"{GUEST} {wanted}.")))

    def _view(self, state: Table, complaint: str) -> View:
        seen = " ".join(state.said) or "A guest sits down."
        seen += f" You have {state.brewed or 'nothing'} and brought {len(state.brought)}."
        actions = () if state.is_closed else ("ask", *(f"brew {drink}" for drink in DRINKS), "bring", "close")
        facts = {"n_answers": sum(one.startswith(GUEST) for one in state.said)}
        return View(f"{seen} {complaint}".strip(), actions, facts, {"brewed": state.brewed})

    def _score(self, task: Order, now: Snapshot, memory: Any) -> Score:
        right = [one == other for one, other in zip(now.state.brought, task.drinks, strict=False)]
        success = now.state.is_closed and right == [True, True]
        return Score(float(success), sum(right) / 2, success, {"right": float(sum(right))}, None)

    def _solution(self, task: Order) -> list[str]:
        return [*(action for drink in task.drinks for action in (f"brew {drink}", "bring")), "close"]

    def terminal(self, action: str) -> bool:
        return action.strip() == "close"

    def irreversible(self, action: str) -> bool:
        return action.strip().startswith("brew")


GUEST = "The guest says: some"
"""How every answer of the world begins."""

for name in ("Digger", "SlipperyDigger", "Cafe"):
    gym.register(f"Toy/{name}-v0", entry_point=f"tests.contract.toy:{name}")

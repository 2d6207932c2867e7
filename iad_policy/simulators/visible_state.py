"""A moment as a simulator without the environment knows it: what an agent sees there, and how much is left to do."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iad_policy.types import Outcome, State, Turn


@dataclass(frozen=True, slots=True)
class VisibleState:
    """What is known of a moment: the token of simulators that never ask the environment.

    Attributes:
        observation: As it was given, or predicted.
        info: Its public info, likewise.
        history: What was done and seen before.
        steps_left: Actions until the environment's step limit.
        done: Whether the episode is over.
    """

    observation: Any
    info: Mapping[str, Any]
    history: tuple[Turn, ...] = ()
    steps_left: float = math.inf
    done: bool = False

    @classmethod
    def of(cls, state: State) -> "VisibleState":
        """Return what is known of a state."""
        return cls(state.observation, dict(state.info), state.history, state.steps_left, state.done)

    def as_state(self) -> State:
        """Return it as prompts read it."""
        return State(self.observation, self.info, history=self.history, steps_left=self.steps_left, done=self.done)

    def after(self, action: Any, observation: Any, info: Mapping[str, Any], *, done: bool, key: str) -> Outcome:
        """Return a predicted outcome with its token; what is known for certain is set right in its info.

        Args:
            action: What was done.
            observation: As predicted.
            info: Likewise: keys that the environment's info has not are left out, and missing ones are as before.
            done: Whether the action ends the episode, but for the step limit.
            key: Names the result.
        """
        over = done or self.steps_left <= 1
        sure = {
            "step": self.info.get("step", 0) + 1,
            "stop_reason": "done" if done else "max_steps" if over else "",
            **{name: self.info[name] for name in ("task_id", "instruction") if name in self.info},
        }
        mixed = {**self.info, **info, **sure}
        shown = {name: mixed[name] for name in self.info}
        history = (*self.history, Turn(self.observation, action, self.info))
        return Outcome(
            VisibleState(observation, shown, history, self.steps_left - 1, over), observation, shown, over, key
        )

    def end(self) -> Outcome:
        """Return the outcome of any action after the end: nothing moves."""
        return Outcome(self, self.observation, self.info, True, "over")

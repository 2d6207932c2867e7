"""A state as a simulator without the environment knows it: what the agent sees there, and the steps left."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from iad_policy.errors import SimulationError
from iad_policy.types import AWAITING, Outcome, State, Turn


@dataclass(frozen=True, slots=True)
class VisibleState:
    """The visible part of a state: the token of simulators that never ask the environment.

    Attributes:
        observation: The observation, real or predicted.
        info: The public info, real or predicted.
        history: The earlier turns.
        steps_left: Number of actions until the environment's step limit.
        done: Whether the episode is over.
    """

    observation: Any
    info: Mapping[str, Any]
    history: tuple[Turn, ...] = ()
    steps_left: float = math.inf
    done: bool = False

    @classmethod
    def of(cls, state: State) -> "VisibleState":
        """Return the visible part of a state."""
        return cls(state.observation, dict(state.info), state.history, state.steps_left, state.done)

    def as_state(self) -> State:
        """Return it as the state that prompts read."""
        return State(self.observation, self.info, history=self.history, steps_left=self.steps_left, done=self.done)

    def after(
        self,
        action: Any,
        observation: Any,
        info: Mapping[str, Any],
        *,
        done: bool,
        key: str,
        failure: str = "",
        changed: bool = True,
    ) -> Outcome:
        """Return a predicted outcome with its token. Values that are known for certain are corrected in its info.

        Args:
            action: The action that was taken.
            observation: The predicted observation.
            info: The predicted info. Unknown keys are dropped, and missing ones keep their earlier values.
            done: Whether the action ends the episode, not counting the step limit.
            key: Name of the result.
            failure: What went wrong; "" if nothing did.
            changed: Whether the world changed.
        """
        over = done or self.steps_left <= 1
        ending = AWAITING if info.get("stop_reason") == AWAITING else "done"
        certain = {
            "step": self.info.get("step", 0) + 1,
            "stop_reason": ending if done else "max_steps" if over else "",
            **{name: self.info[name] for name in ("task_id", "instruction") if name in self.info},
        }
        mixed = {**self.info, **info, **certain}
        visible = {name: mixed[name] for name in self.info}
        history = (*self.history, Turn(self.observation, action, self.info))
        token = VisibleState(observation, visible, history, self.steps_left - 1, over)
        return Outcome(token, observation, visible, over, key, failure, changed)

    def end(self) -> Outcome:
        """Return the outcome of any action after the end, when nothing changes any more."""
        return Outcome(self, self.observation, self.info, True, "over", changed=False)


def require_other_task(state: State, tasks: Collection[str]) -> None:
    """Refuse a task that a simulator was trained on.

    Raises:
        SimulationError: It is one of these tasks, so outcomes would be looked up, not predicted.
    """
    task = str(state.info.get("task_id"))
    if task in tasks:
        raise SimulationError(
            f"expected a task that the simulator was not trained on, got {task}; its outcomes would be looked up, not "
            "predicted: use it on another split"
        )

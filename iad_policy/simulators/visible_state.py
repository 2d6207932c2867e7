"""A state as a simulator without the environment knows it: what the agent sees there, and the steps left.

Such a state is the token of simulators that never ask the environment.
"""

from collections.abc import Collection, Mapping
from typing import Any

from iad_policy.errors import SimulationError
from iad_policy.types import AWAITING, Outcome, State, Turn


def visible(state: State) -> State:
    """Return the visible part of a state."""
    return State(
        state.observation, dict(state.info), history=state.history, steps_left=state.steps_left, done=state.done
    )


def outcome_after(
    token: State,
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
        token: The state before.
        action: The action that was taken.
        observation: The predicted observation.
        info: The predicted info. Unknown keys are dropped, and missing ones keep their earlier values.
        done: Whether the action ends the episode, not counting the step limit.
        key: Name of the result.
        failure: What went wrong; "" if nothing did.
        changed: Whether the world changed.
    """
    over = done or token.steps_left <= 1
    ending = AWAITING if info.get("stop_reason") == AWAITING else "done"
    certain = {
        "step": token.info.get("step", 0) + 1,
        "stop_reason": ending if done else "max_steps" if over else "",
        **{name: token.info[name] for name in ("task_id", "instruction") if name in token.info},
    }
    mixed = {**token.info, **info, **certain}
    seen = {name: mixed[name] for name in token.info}
    history = (*token.history, Turn(token.observation, action, token.info))
    there = State(observation, seen, history=history, steps_left=token.steps_left - 1, done=over)
    return Outcome(there, observation, seen, over, key, failure, changed)


def outcome_at_end(token: State) -> Outcome:
    """Return the outcome of any action after the end, when nothing changes any more."""
    return Outcome(token, token.observation, token.info, True, "over", changed=False)


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

"""Visits of the booking site: states on its real pages, as agents and verifiers get them, without gold."""

from collections.abc import Mapping
from typing import Any, Self

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.policy.verifier import BookingVerifier
from iad_envs.booking.scoring import gold_actions
from tests.iad_envs.episode import Episode

FINISHED = "CLICK [complete]"


class Visit(Episode):
    env: BookingEnv

    def __init__(self, task_id: str) -> None:
        env = BookingEnv(split=None)
        super().__init__(env, BookingVerifier(), task_id, steps_left=30)
        self.task = env._task(task_id)
        self.solution = gold_actions(env.engine, self.task)

    @property
    def page(self) -> Mapping[str, Any]:
        page: Mapping[str, Any] = self.state.info["page"]
        return page

    def right(self, beginning: str) -> str:
        return next(action for action in self.solution if action.startswith(beginning))

    def did_until(self, beginning: str) -> Self:
        return self.did(*self.solution[: self.solution.index(self.right(beginning))])


def only(*kinds: str) -> str:
    """Return the first test task with exactly these complications."""
    env = BookingEnv()
    return next(name for name in env.task_ids if set(env._task(name).kinds) == set(kinds))

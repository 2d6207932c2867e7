"""Visits of the booking site: states on its real pages, as agents and verifiers get them, without gold."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, Self

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.policy.verifier import BookingVerifier
from iad_envs.booking.scoring import gold_actions
from tests.iad_envs.episode import Episode

FINISHED = "CLICK [complete]"


class Visit(Episode):
    """An episode on the bundled site."""

    env: BookingEnv

    def __init__(self, task_id: str) -> None:
        env = BookingEnv(split=None)
        super().__init__(env, BookingVerifier(), task_id, steps_left=30)
        self.task = env._task(task_id)

    @property
    def page(self) -> Mapping[str, Any]:
        page: Mapping[str, Any] = self.state.info["page"]
        return page

    def did_until(self, beginning: str) -> Self:
        """Take the task's gold actions before the first that begins so."""
        for action in gold_of(self):
            if action.startswith(beginning):
                return self
            self.did(action)
        raise AssertionError(f"{self.task.task_id} has no gold action {beginning}")


def gold_of(visit: Visit) -> list[str]:
    """The actions that solve a visit's task."""
    return gold_actions(visit.env.engine, visit.task)


def tasks_with(*kinds: str, split: str = "test") -> list[str]:
    """The tasks with exactly these complications."""
    env = BookingEnv(split=split)
    return [name for name in env.task_ids if set(env._task(name).kinds) == set(kinds)]


def wandering(visit: Visit, rng: Random) -> Iterator[str]:
    """Take actions of the page at random, with the instruction's words and now and then nonsense; yield each before."""
    words = str(visit.state.info["instruction"]).split()
    while not visit.state.done:
        action = rng.choice([*visit.state.info["available_actions"], "CLICK [nothing]", "HOVER [q]"])
        text = rng.choice(["2026-05-05", "19:00", "4", " ".join(rng.sample(words, 2))])
        action = action.replace("[...]", f"[{text}]")
        yield action
        visit.did(action)

"""Visits of the booking site: states on its real pages, as agents and verifiers get them, without gold."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, Self

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.policy.verifier import BookingVerifier
from iad_envs.booking.scoring import gold_actions
from iad_policy.types import Candidate, PublicInfo, State, Turn, Verdict

FINISHED = "CLICK [complete]"


class Visit:
    """An episode, action by action.

    Args:
        task_id: Its task.
        data_dir: Where the tasks are; the bundled ones by default.
    """

    def __init__(self, task_id: str, data_dir: Path | None = None) -> None:
        self.env = BookingEnv(split=None, data_dir=data_dir)
        self.task = self.env._task(task_id)
        observation, self.gold = self.env.reset(options={"task_id": task_id})
        self.state = State(observation, self._public(self.gold), steps_left=30)

    @property
    def page(self) -> Mapping[str, Any]:
        page: Mapping[str, Any] = self.state.info["page"]
        return page

    def did(self, *actions: str) -> Self:
        """Take actions for real."""
        for action in actions:
            observation, _, terminated, truncated, self.gold = self.env.step(action)
            self.state = self._after(action, observation, self.gold, done=terminated or truncated)
        return self

    def did_until(self, beginning: str) -> Self:
        """Take the task's gold actions before the first that begins so."""
        for action in gold_of(self):
            if action.startswith(beginning):
                return self
            self.did(action)
        raise AssertionError(f"{self.task.task_id} has no gold action {beginning}")

    def tried(self, action: str) -> Candidate:
        """A candidate with the state that it leads to."""
        ahead = self.env.simulate(self.env.snapshot(), action)
        return Candidate(action, preview=self._after(action, ahead.observation, ahead.info, done=ahead.done))

    def verdict(self, action: str) -> Verdict:
        """The proxy verifier's verdict on an action."""
        (found,) = BookingVerifier().verify(self.state, [self.tried(action)])
        return found

    def _after(self, action: str, observation: str, info: Mapping[str, Any], *, done: bool) -> State:
        here = self.state
        history = (*here.history, Turn(here.observation, action, here.info))
        return State(observation, self._public(info), history=history, steps_left=here.steps_left - 1, done=done)

    def _public(self, info: Mapping[str, Any]) -> PublicInfo:
        return PublicInfo(info, self.env.GOLD_INFO)


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

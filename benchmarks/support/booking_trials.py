"""One policy in two ways: it tries actions beside the environment, or for real, where trying has consequences.

It draws up to n different proposals of the rule-based agent, in order, and keeps the first after which the proxy
verifier scores the page not clearly lower than before. If there is none, it takes the best. Beside the environment a
rejected action costs nothing. For real it costs an action, another one to come back by the address where it led to
another page, and whatever it has changed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from iad_envs.booking.policy.agent import BookingAgent
from iad_envs.booking.policy.verifier import BookingVerifier
from iad_policy.types import Candidate, State, Turn

N_TRIES = 4
LOWER = 0.1
"""A page may score so much lower than the one before: a link to a page with all fields empty is no mistake."""


class Visitor:
    """Plays episodes by trying.

    Args:
        env: The environment.
        simulates: Whether it tries beside the environment.
        n: Number of different proposals per page.
    """

    def __init__(self, env: Any, *, simulates: bool, n: int = N_TRIES) -> None:
        self._env = env.unwrapped
        self._simulates = simulates
        self._n = n
        self._agent, self._verifier = BookingAgent(), BookingVerifier()

    def solves(self, task_id: str, seed: int) -> bool:
        """Play a task and return whether it is solved."""
        rng = Random(f"{task_id} {seed}")
        observation, info = self._env.reset(options={"task_id": task_id})
        here, level = self._state(observation, info, ()), 0.0
        while not here.done:
            here, level = self._decided(here, level, rng)
        return bool(self._success)

    def _decided(self, here: State, level: float, rng: Random) -> tuple[State, float]:
        """Return the state after the next action that is kept, and its score."""
        best: tuple[float, Candidate] | None = None
        for candidate in self._proposals(here, rng):
            after = self._simulated(here, candidate) if self._simulates else self._stepped(here, candidate)
            score = self._score(here, candidate, after)
            if score >= level - LOWER or after.done:
                kept = self._stepped(here, candidate) if self._simulates else after
                return kept, score
            if best is None or score > best[0]:
                best = (score, candidate)
            if not self._simulates:
                here, level = self._back(here, after, score)
                if here.done:
                    return here, level
        assert best is not None
        return self._stepped(here, best[1]), best[0]

    def _back(self, before: State, after: State, score: float) -> tuple[State, float]:
        """Return to the page before, as far as its address can, with the score of what is there now."""
        path = before.info["page"]["path"]
        if after.info["page"]["path"] == path:
            return after, score
        back = Candidate(f"GOTO [{path}]")
        here = self._stepped(after, back)
        return here, self._score(after, back, here)

    def _proposals(self, here: State, rng: Random) -> Iterator[Candidate]:
        """Yield different proposals."""
        seen = set()
        for _ in range(4 * self._n):
            made = self._agent.propose(here, feedback=None, temperature=None, rng=rng)
            if made.action not in seen:
                seen.add(made.action)
                yield made
            if len(seen) >= self._n:
                return

    def _score(self, here: State, candidate: Candidate, after: State) -> float:
        (verdict,) = self._verifier.verify(here, [replace(candidate, preview=after)])
        return verdict.score

    def _simulated(self, here: State, candidate: Candidate) -> State:
        ahead = self._env.simulate(self._env.snapshot(), candidate.action)
        return self._state(ahead.observation, ahead.info, self._history(here, candidate), done=ahead.done)

    def _stepped(self, here: State, candidate: Candidate) -> State:
        observation, _, terminated, truncated, info = self._env.step(candidate.action)
        self._success = info["success"]
        return self._state(observation, info, self._history(here, candidate), done=terminated or truncated)

    def _history(self, here: State, candidate: Candidate) -> tuple[Turn, ...]:
        return (*here.history, Turn(here.observation, candidate.action, here.info))

    def _state(
        self, observation: Any, info: Mapping[str, Any], history: tuple[Turn, ...], *, done: bool = False
    ) -> State:
        public = {name: value for name, value in info.items() if name not in self._env.GOLD_INFO}
        return State(observation, public, history=history, done=done)

"""One policy in two ways: it tries actions beside the environment, or for real, where trying has consequences.

It draws up to n different proposals of the rule-based agent, in order, and keeps the first after which the proxy
verifier scores the page not clearly lower than before. If there is none, it takes the best. Beside the environment a
rejected action costs nothing. For real it costs an action, another one to come back by the address where it led to
another page, and whatever it has changed.
"""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from iad_envs.booking.policy.agent import BookingAgent
from iad_envs.booking.policy.verifier import BookingVerifier
from iad_policy.types import Candidate, State, Turn


class Visitor:
    """Plays episodes by trying.

    Args:
        env: The environment.
        simulates: Whether it tries beside the environment.
        n: Number of different proposals per page.
    """

    def __init__(self, env: Any, *, simulates: bool, n: int = 4) -> None:
        self._env = env.unwrapped
        self._simulates = simulates
        self._n = n
        self._agent, self._verifier = BookingAgent(), BookingVerifier()

    def solves(self, task_id: str, seed: int) -> bool:
        """Play a task and return whether it is solved."""
        rng = Random(f"{task_id} {seed}")
        observation, self._info = self._env.reset(options={"task_id": task_id})
        here, level = State(observation, self._public(self._info)), 0.0
        while not here.done:
            here, level = self._decided(here, level, rng)
        return bool(self._info["success"])

    def _decided(self, here: State, level: float, rng: Random) -> tuple[State, float]:
        """Return the state after the next action that is kept, and its score."""
        best: tuple[float, Candidate] | None = None
        made = (self._agent.propose(here, feedback=None, temperature=None, rng=rng) for _ in range(4 * self._n))
        seen: set[str] = set()
        for candidate in made:
            if candidate.action in seen:
                continue
            seen.add(candidate.action)
            after = self._after(here, candidate, simulated=self._simulates)
            score = self._score(here, candidate, after)
            # A link to a page with all fields empty is no mistake, so a page may score a little lower.
            if score >= level - 0.1 or after.done:
                return (self._after(here, candidate) if self._simulates else after), score
            if best is None or score > best[0]:
                best = (score, candidate)
            if not self._simulates:  # back to the page before, as far as its address can
                path, level = here.info["page"]["path"], score
                if after.info["page"]["path"] != path:
                    back = Candidate(f"GOTO [{path}]")
                    before, after = after, self._after(after, back)
                    level = self._score(before, back, after)
                here = after
                if here.done:
                    return here, level
            if len(seen) >= self._n:
                break
        assert best is not None
        return self._after(here, best[1]), best[0]

    def _score(self, here: State, candidate: Candidate, after: State) -> float:
        (verdict,) = self._verifier.verify(here, [replace(candidate, preview=after)])
        return verdict.score

    def _after(self, here: State, candidate: Candidate, *, simulated: bool = False) -> State:
        history = (*here.history, Turn(here.observation, candidate.action, here.info))
        if simulated:
            ahead = self._env.simulate(self._env.snapshot(), candidate.action)
            return State(ahead.observation, self._public(ahead.info), history=history, done=ahead.done)
        observation, _, terminated, truncated, self._info = self._env.step(candidate.action)
        return State(observation, self._public(self._info), history=history, done=terminated or truncated)

    def _public(self, info: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in info.items() if name not in self._env.GOLD_INFO}

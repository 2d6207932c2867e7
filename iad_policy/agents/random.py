"""A random agent: the weakest baseline of a comparison."""

from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.types import Candidate, Feedback, State
from iad_policy.world.wrappers import WrapperStack


class RandomAgent:
    """Picks any available action, and fills an open one (`search[...]`) with random words of the instruction."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        self._space = env.action_space
        # What the environment lists is available inside of its wrappers.
        self._knows_actions = not WrapperStack(env).changes_actions

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return a random action."""
        available = state.info.get("available_actions", ()) if self._knows_actions else ()
        if not available:
            self._space.seed(rng.getrandbits(32))
            return Candidate(self._space.sample())
        action = rng.choice(available)
        if isinstance(action, str) and action.endswith("[...]"):
            words = str(state.info.get("instruction", "")).split()
            chosen = rng.sample(words, min(len(words), 3))
            action = f"{action.removesuffix('[...]')}[{' '.join(chosen)}]"
        return Candidate(action)

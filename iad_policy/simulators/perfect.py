"""The perfect simulator: a fork of the environment."""

from typing import Any

import gymnasium as gym

from iad_policy.types import Outcome, State
from iad_policy.world import World


class PerfectSimulator:
    """A fork of the environment, as contract 1 or a copy gives it; only randomness is drawn anew."""

    identity = "perfect"
    is_perfect = True

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def begin(self, world: World, state: State) -> Any:
        """Return the environment's snapshot: it is in the real state."""
        return world.snapshot()

    def simulate(self, world: World, token: Any, action: Any, draw: int) -> Outcome:
        """Return the environment's outcome."""
        return world.simulate(token, action, draw)

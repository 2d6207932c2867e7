"""The perfect simulator: a fork of the environment."""

from typing import Any

import gymnasium as gym

from iad_policy.types import Outcome, State
from iad_policy.world import World


class PerfectSimulator:
    """A fork of the environment, by its own `simulate` or by copying it. Only random outcomes are drawn again."""

    identity = "perfect"
    is_perfect = True

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def begin(self, world: World, state: State) -> Any:
        """Return the environment's snapshot, as it is in the real state."""
        return world.snapshot()

    def simulate(self, world: World, token: Any, action: Any, draw: int) -> Outcome:
        """Return the environment's outcome."""
        return world.simulate(token, action, draw)

"""The perfect simulator: a fork of the environment."""

from typing import Any

from iad_policy.adapters import World
from iad_policy.types import Outcome, State


class PerfectSimulator:
    """A fork of the environment, as contract 1 or a copy gives it; only randomness is drawn anew."""

    identity = "perfect"
    is_perfect = True

    def __init__(self, world: World) -> None:
        self._world = world

    def begin(self, state: State) -> Any:
        """Return the environment's snapshot: it is in the real state."""
        return self._world.snapshot()

    def simulate(self, token: Any, action: Any, draw: int) -> Outcome:
        """Return the environment's outcome."""
        return self._world.simulate(token, action, draw)

"""What answers `Simulate` and produces previews, given a world."""

from typing import Any, Protocol

import gymnasium as gym

from iad_policy.types import Outcome, State
from iad_policy.world import World


class Simulator(Protocol):
    """Predicts the outcome of an action. It may look at the world it is given, which can't be moved meanwhile."""

    identity: str
    """Everything its outcomes depend on, for the key of an episode."""
    is_perfect: bool
    """Whether it is the environment's own simulation, whose tokens the oracle can read."""

    def begin(self, world: World, state: State) -> Any:
        """Return a token of a real state."""
        ...

    def simulate(self, world: World, token: Any, action: Any, draw: int) -> Outcome:
        """Return the outcome of an action, with its own token. The result depends on the arguments alone."""
        ...


class LoadedSimulator(Simulator, Protocol):
    """A simulator as the runtime uses it: optional members that its author left out have these values."""

    model: Any = None
    """Its language model, if it has one."""
    uses_world: bool = True
    """Whether it simulates in the environment itself."""
    predicts_info: bool = True
    """Whether its outcomes have the structured info of the environment, `facts` and `page`."""


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

"""Applies the wrappers around an environment to what is simulated inside of them.

Simulations go to `env.unwrapped`. So a wrapper has to be neutral, which means that it changes neither actions nor
observations, or it has to be a `gym.ActionWrapper` or a `gym.ObservationWrapper`, whose `action()` or `observation()`
can be called for a simulated action or observation, too. These must depend on their argument alone: what they return
must not change from call to call, and they must not look at the environment. Any other wrapper is refused.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import gymnasium as gym
from gymnasium import wrappers

from iad_policy.errors import SimulationError
from iad_policy.types.read_only import writable

NEUTRAL = (
    wrappers.PassiveEnvChecker,
    wrappers.OrderEnforcing,
    wrappers.TimeLimit,
    wrappers.RecordEpisodeStatistics,
    wrappers.HumanRendering,
    wrappers.RecordVideo,
    wrappers.RenderCollection,
    wrappers.NormalizeReward,
    gym.RewardWrapper,
)
"""Wrappers that are neutral though they have a `step` of their own."""
WITHOUT_SIMULATION = "a strategy without simulation, such as bon-sc, and a verifier with needs_preview=False or none"
"""What needs no simulation."""

Effect = Literal["none", "action", "observation", "unknown"]


class WrapperStack:
    """The wrappers around an environment.

    Args:
        env: The environment, wrapped or not.

    Attributes:
        changes_actions: Whether the actions outside are others than those inside, so that what the environment says of
            its actions is not said of those of an agent.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        layers = list(_layers(env))
        effects = [effect_of(layer) for layer in layers]
        self._refused = next((one for one, effect in zip(layers, effects, strict=True) if effect == "unknown"), None)
        known = [] if self._refused else list(zip(layers, effects, strict=True))
        self._actions: list[Any] = [layer for layer, effect in known if effect == "action"]
        self._observations: list[Any] = [layer for layer, effect in reversed(known) if effect == "observation"]
        has_own_space = env.action_space is not env.unwrapped.action_space
        self.changes_actions = bool(self._actions) or (self._refused is not None and has_own_space)

    def action(self, action: Any) -> Any:
        """Return the action inside, for one outside."""
        if self._actions:
            action = writable(action)
        for layer in self._actions:
            action = layer.action(action)
        return action

    def through(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a function of an action inside as one of an action outside."""
        return (lambda action: function(self.action(action))) if self._actions else function

    def observation(self, observation: Any) -> Any:
        """Return the observation outside, for one inside."""
        for layer in self._observations:
            observation = layer.observation(observation)
        return observation

    @property
    def hides_actions(self) -> bool:
        """Whether it is not known what an action outside is inside."""
        return self._refused is not None and self.changes_actions

    def require_known(self) -> None:
        """Check that the effect of every wrapper on a simulation is known.

        Raises:
            SimulationError: That of a wrapper is not.
        """
        if self._refused is None:
            return
        name = type(self._refused).__name__
        raise SimulationError(
            "expected wrappers that change neither actions nor observations, or a stateless gym.ActionWrapper or "
            f"gym.ObservationWrapper, got {name}: simulations go to the environment inside, so they would not show "
            f"what happens outside. If it changes neither, set iad_neutral = True in {name}; else unwrap it, or use "
            f"{WITHOUT_SIMULATION}"
        )


def effect_of(layer: gym.Wrapper[Any, Any, Any, Any]) -> Effect:
    """Return what a wrapper changes.

    A wrapper says with `iad_neutral = True` that it changes neither actions nor observations. One that has a `step` or
    a `reset` of its own may do anything there.
    """
    if getattr(layer, "iad_neutral", False) or isinstance(layer, NEUTRAL):
        return "none"
    if isinstance(layer, wrappers.AddRenderObservation | wrappers.NormalizeObservation):
        # Their observations depend on the environment, or on what was observed before.
        return "unknown"
    effects: dict[type[gym.Wrapper[Any, Any, Any, Any]], Effect] = {
        gym.ActionWrapper: "action",
        gym.ObservationWrapper: "observation",
        gym.Wrapper: "none",
    }
    base, effect = next((base, effect) for base, effect in effects.items() if isinstance(layer, base))
    is_plain = all(getattr(type(layer), name) is getattr(base, name) for name in ("step", "reset"))
    return effect if is_plain else "unknown"


def _layers(env: gym.Env[Any, Any]) -> Iterator[gym.Wrapper[Any, Any, Any, Any]]:
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env

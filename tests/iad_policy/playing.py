"""Episodes in a plain loop."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym


def play(env: gym.Env[Any, Any], policy: Any, **reset: Any) -> tuple[list[Any], float, Mapping[str, Any]]:
    """The actions of an episode, its sum of rewards, and its last info."""
    observation, info = env.reset(**reset)
    actions, total, done = list[Any](), 0.0, False
    while not done:
        actions.append(policy.act(observation, info))
        observation, reward, terminated, truncated, info = env.step(actions[-1])
        total, done = total + float(reward), terminated or truncated
    return actions, total, info

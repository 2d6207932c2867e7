"""An environment that is not ours and is hard to simulate."""

import threading
from typing import Any

import gymnasium as gym
import numpy as np


class Dice(gym.Env[int, int]):
    """A sum of dice. It keeps a lock, so it can not be copied."""

    observation_space = gym.spaces.Discrete(10_000)
    action_space: gym.Space[int] = gym.spaces.Discrete(3)

    def __init__(self, *, is_copyable: bool = False) -> None:
        self._held: Any = None if is_copyable else threading.Lock()
        self._sum = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self._sum = int(self.np_random.integers(1000))
        return self._sum, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        rolled = int(self.np_random.integers(1, 7))
        self._sum += rolled * action
        return self._sum, float(rolled), self._sum > 5000, False, self._info()

    def _info(self) -> dict[str, Any]:
        return {"action_mask": np.ones(3, dtype=np.int8)}


gym.register("Toy/Dice-v0", entry_point="tests.contract.foreign:Dice", max_episode_steps=3)

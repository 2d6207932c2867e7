"""What is not ours: environments that are hard or unfair to simulate, and a space of texts."""

import threading
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np


class Dice(gym.Env[int, int]):
    """A sum of dice. It keeps a lock, so it can not be copied, and its random stream is that of a seed, if not told
    otherwise. If it is not random, each shows 3."""

    observation_space = gym.spaces.Discrete(10_000)
    action_space: gym.Space[int] = gym.spaces.Discrete(3)

    def __init__(self, *, is_copyable: bool = False, is_random: bool = True, keeps_seed: bool = True) -> None:
        self._held: Any = None if is_copyable else threading.Lock()
        self._is_random, self._keeps_seed, self._sum = is_random and keeps_seed, keeps_seed, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed if self._keeps_seed else None)
        self._sum = int(self.np_random.integers(1000)) if self._is_random else 0
        return self._sum, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        rolled = int(self.np_random.integers(1, 7)) if self._is_random else 3
        self._sum += rolled * action
        return self._sum, float(rolled), self._sum > 5000, False, self._info()

    def _info(self) -> dict[str, Any]:
        return {"action_mask": np.ones(3, dtype=np.int8)}


class NumberGame(gym.Env[int, int]):
    """A number from 0 to 9 is to be guessed, which only a copy of the game knows. What is seen: less, more or hit."""

    observation_space = gym.spaces.Discrete(4)
    action_space: gym.Space[int] = gym.spaces.Discrete(10)

    def __init__(self, *, is_copyable: bool = True) -> None:
        self._held: Any = None if is_copyable else threading.Lock()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self._hidden = int(self.np_random.integers(10))
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        is_hit = action == self._hidden
        return 3 if is_hit else 1 + (action > self._hidden), float(is_hit), is_hit, False, {"success": is_hit}


class Words(gym.Space[str]):
    """Texts, as a library may have them that is not ours: without the `dtype` of a text space. It contains all of them,
    or those that are given."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._known = tuple(known)
        super().__init__()

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and (not self._known or x in self._known)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return str(self.np_random.choice(self._known or ("yes", "no")))


gym.register("Toy/Dice-v0", entry_point="tests.contract.foreign:Dice", max_episode_steps=3)
gym.register("Toy/NumberGame-v0", entry_point="tests.contract.foreign:NumberGame", max_episode_steps=3)

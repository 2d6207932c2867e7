"""The base class of the rule-based agents: agents without a language model whose choices have a temperature."""

import math
from abc import ABC, abstractmethod
from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.types import Candidate, Feedback, State


class RuleBasedAgent(ABC):
    """An agent that reads observations and draws its choices at a temperature.

    Args:
        env: Not used. The agent reads observations only.
        temperature: Randomness of the choices, 0 or more. 0 is greedy, and 1 is the default.

    Raises:
        ValueError: The temperature is negative or infinite.
    """

    name: str
    """The registered name, which is part of the identity."""

    def __init__(self, env: gym.Env[Any, Any] | None = None, temperature: float | str = 1.0) -> None:
        self.temperature = float(temperature)
        if not 0.0 <= self.temperature < math.inf:
            raise ValueError(f"expected a temperature of 0 or more, got {temperature}; such as {self.name}:1")
        self.identity = f"{self.name}:{self.temperature:g}"

    @abstractmethod
    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return the next action."""

    def heat(self, temperature: float | None) -> float:
        """Return the temperature of one proposal: the strategy's, or else the agent's own."""
        return self.temperature if temperature is None else temperature

"""The base class of the rule-based agents: agents without a language model whose choices have a temperature."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar

import gymnasium as gym

from iad_policy.types import Candidate, Feedback, State


class ChoosingAgent(ABC):
    """An agent that weighs the sensible actions of a state, and draws one of them at a temperature.

    Given best and worst, it draws another one than those that were tried.

    Args:
        env: Not used. The agent reads observations only.
        temperature: Randomness of the choices, 0 or more. 0 is greedy, and 1 is the default.

    Raises:
        ValueError: The temperature is negative or infinite.
    """

    name: str
    """The registered name, which is part of the identity."""
    scale: ClassVar[float]
    """Difference of the fit that makes an action e times as likely at temperature 1."""
    choice: ClassVar[str] = "actions"
    """What it calls its choices in a thought."""

    def __init__(self, env: gym.Env[Any, Any] | None = None, temperature: float | str = 1.0) -> None:
        self.temperature = float(temperature)
        if not 0.0 <= self.temperature < math.inf:
            raise ValueError(f"expected a temperature of 0 or more, got {temperature}; such as {self.name}:1")
        self.identity = f"{self.name}:{self.temperature:g}"

    @abstractmethod
    def choices(self, state: State) -> dict[str, float]:
        """Return the sensible actions, at least one, each with its fit. A larger fit is more likely."""

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return the next action."""
        choices = self.choices(state)
        if feedback is not None and feedback.best is not None:
            tried = [one.action for one in (feedback.best, feedback.worst, *feedback.tried) if one is not None]
            choices = {action: fit for action, fit in choices.items() if action not in tried}
            if not choices:
                return Candidate(feedback.best.action, thought="Nothing else to try.")
        action = self._drawn(choices, self.heat(temperature), rng)
        return Candidate(action, thought=f"Of {len(choices)} {self.choice} that make sense here I take {action}.")

    def heat(self, temperature: float | None) -> float:
        """Return the temperature of one proposal: the strategy's, or else the agent's own."""
        return self.temperature if temperature is None else temperature

    def _drawn(self, choices: Mapping[str, float], heat: float, rng: Random) -> str:
        if heat <= 0.0:
            return max(choices, key=choices.__getitem__)
        top = max(choices.values())
        weights = [math.exp((fit - top) / (self.scale * heat)) for fit in choices.values()]
        return rng.choices(list(choices), weights)[0]

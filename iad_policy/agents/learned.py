"""A trained policy as an agent."""

from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.env_defaults import env_id
from iad_policy.learning.models import Model, load_model
from iad_policy.types import Candidate, Feedback, State


class LearnedAgent:
    """Samples from a trained policy: `learned:<folder>`.

    It chooses from the actions that the environment's features offer. With feedback it samples from those that were not
    tried yet, as it can't read. A candidate's log-probability is that of the policy at temperature 1, whatever it was
    sampled with.

    Args:
        env: The environment.
        folder: Folder of the model.
        temperature: Temperature, if a strategy asks for none.

    Attributes:
        model: None: it has no language model.
        trained: The trained model.
        trained_on: What it was trained on.
        identity: Everything its answers depend on.

    Raises:
        ModelFolderError: The folder has no policy for this environment.
    """

    model = None

    def __init__(self, env: gym.Env[Any, Any], folder: str, *, temperature: float = 1.0) -> None:
        self.trained: Model = load_model(folder, head="policy", env=env_id(env))
        self.trained_on = self.trained.trained_on
        self.temperature = temperature
        self.identity = f"learned {self.trained.identity} temperature={temperature:g}"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return an action of the policy."""
        heat = self.temperature if temperature is None else temperature
        tried = () if feedback is None else [one.action for one in feedback.tried]
        return self.trained.backend.sample(state, temperature=heat, rng=rng, avoid=tried)

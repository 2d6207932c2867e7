"""A trained value model as a verifier."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from iad_policy.registry.domain import env_id
from iad_policy.trained.models import Model, load_model
from iad_policy.types import Candidate, State, Verdict
from iad_policy.types.information import Information


class QNetVerifier:
    """Scores a candidate by its learned value, clipped to [0, 1]: `qnet:<folder>`.

    A candidate that ends the episode is scored by the value model too. The published code reads the true reward there.

    Args:
        env: The environment.
        folder: Folder of the model.

    Attributes:
        trained: The trained model.
        trained_on: What it was trained on.
        identity: Everything its verdicts depend on.

    Raises:
        ModelFolderError: The folder has no value model for this environment.
    """

    information: Information = "learned"
    needs_preview = False

    def __init__(self, env: gym.Env[Any, Any], folder: str) -> None:
        self.trained: Model = load_model(folder, head="value", env=env_id(env))
        self.trained_on = self.trained.trained_on
        self.identity = f"qnet {self.trained.identity}"

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        """Return the values."""
        values = np.clip(self.trained.backend.values(state, [one.action for one in candidates]), 0.0, 1.0)
        return [Verdict(float(value)) for value in values]

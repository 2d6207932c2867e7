"""The environments with a rule-based agent, made where what they need is installed."""

from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs import ENVIRONMENTS
from tests.browser import without_chromium

KEYLESS = ENVIRONMENTS


def made(name: str, **arguments: Any) -> gym.Env[Any, Any]:
    """Make an environment; skips the test where its browser is not installed."""
    if name == "IAD/Sketch2Code-v0" and (reason := without_chromium()):
        pytest.skip(reason)
    return gym.make(name, **arguments)

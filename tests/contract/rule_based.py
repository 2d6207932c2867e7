"""The environments with a rule-based agent, made where what they need is installed."""

import os
import shutil
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs import ENVIRONMENTS
from iad_envs.browser.devtools import CHROMIUM_VARIABLE, NAMES

KEYLESS = ENVIRONMENTS


def made(name: str) -> gym.Env[Any, Any]:
    """Make an environment; skips the test where its browser is not installed."""
    needs_browser = name == "IAD/Sketch2Code-v0"
    if needs_browser and not (os.environ.get(CHROMIUM_VARIABLE) or any(map(shutil.which, NAMES))):
        pytest.skip("needs Chromium: apt-get install chromium fonts-liberation")
    return gym.make(name)

"""Without the packages that train language models, their names say what to install."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy.agents import load_agent
from iad_policy.errors import MissingExtra
from iad_policy.models import hf
from iad_policy.models.loading import load_model
from iad_policy.trained.backends import load_backend


@pytest.fixture(autouse=True)
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the packages away, whether they are installed or not."""
    monkeypatch.setattr(hf, "find_spec", lambda name: None)


@pytest.mark.parametrize(
    "make",
    [
        lambda: load_model("hf:nothing-such"),
        lambda: load_backend("hf:smollm2", "IAD/WebShop-v0", "policy"),
        lambda: load_agent("hf:smollm2", gym.make("IAD/WebShop-v0")),
    ],
)
def test_the_extra_is_named(make: Callable[[], Any]) -> None:
    with pytest.raises(MissingExtra, match=r"\[training\]"):
        make()

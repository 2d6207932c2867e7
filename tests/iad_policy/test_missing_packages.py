"""What needs a package that is not installed names the extra that installs it."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy.agents import load_agent
from iad_policy.errors import MissingExtra
from iad_policy.models import hf
from iad_policy.models.loading import load_model
from iad_policy.trained.backends import load_backend


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("iad_policy.bridges.inspect", "inspect_ai", "inspect"),
        ("iad_policy.bridges.verifiers", "verifiers", "verifiers"),
        ("iad_verifiers", "verifiers", "verifiers"),
    ],
)
def test_a_bridge_names_its_extra(module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # whether it is installed or not
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(MissingExtra, match=rf'pip install -e ".+\[{extra}\]"'):
        import_module(module)


@pytest.mark.parametrize(
    "make",
    [
        lambda: load_model("hf:nothing-such"),
        lambda: load_backend("hf:smollm2", "IAD/WebShop-v0", "policy"),
        lambda: load_agent("hf:smollm2", gym.make("IAD/WebShop-v0")),
    ],
)
def test_a_model_that_can_be_trained_names_its_extra(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf, "find_spec", lambda name: None)  # whether they are installed or not
    with pytest.raises(MissingExtra, match=r"\[training\]"):
        make()

"""Stable-Baselines3 on the shop as rows of features (`make bridges BRIDGES=sb3`)."""

from typing import Any

import pytest

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: make bridges BRIDGES=sb3")

import torch

from iad_policy import IADPolicyWrapper
from tests.full.processes import examples, needing

pytestmark = needing("stable_baselines3", how="make bridges BRIDGES=sb3")
torch.set_num_threads(1)  # so small a network is slower with several


def test_the_pages_examples_run_and_the_trained_policy_is_an_agent(recwarn: Any) -> None:
    told: list[Any] = []
    names: dict[str, Any] = {"print": lambda *texts: told.extend(texts)}
    for body in examples("sb3.md"):
        exec(compile(body, "page", "exec"), names)
    assert told == [256]
    assert {0 <= episode["r"] <= 1 for episode in names["model"].ep_info_buffer} == {True}
    assert ["unconventional shape" in str(it.message) for it in recwarn if "stable" in it.filename] == [True]
    with IADPolicyWrapper(names["agent"], names["env"], strategy="bon", n=8) as policy:
        assert policy.act(*names["env"].reset(seed=1)).startswith("search[")
        assert len({candidate.action for candidate in policy.decisions[-1].candidates}) > 1

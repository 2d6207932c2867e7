"""Every registered strategy plays every environment with its rule-based agent, moving it by its commits only."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest

from iad_policy import IADPolicyWrapper
from iad_policy.registry.domain import domain_by_id
from iad_policy.strategies import STRATEGIES, declaration_of
from iad_policy.types.hashing import digest
from tests.contract.components import SMALL
from tests.contract.rule_based import KEYLESS, made

SLOW = ("IAD/WebShopBrowser-v0", "IAD/Sketch2Code-v0", "IAD/BookingBrowser-v0")
"""Environments with a browser."""
FEW = ("iad",)
"""Strategies that `make test` plays in a browser; the rest is for `make test-full`."""
PLAYED = [
    pytest.param(env, name, marks=[pytest.mark.slow] if env in SLOW and name not in FEW else [])
    for env in KEYLESS
    for name in STRATEGIES
]


@pytest.fixture(scope="module")
def env(request: pytest.FixtureRequest) -> Iterator[gym.Env[Any, Any]]:
    env = made(request.param)
    yield env
    env.close()


@pytest.mark.parametrize(("env", "name"), PLAYED, indirect=["env"])
def test_a_strategy_plays_an_environment_to_its_end(env: gym.Env[Any, Any], name: str) -> None:
    inner: Any = env.unwrapped
    assert env.spec is not None
    declared = declaration_of(name)
    how = {"strategy": name, "n": 2, "verifier": "oracle" if declared.needs == "oracle" else "proxy"}
    with IADPolicyWrapper(domain_by_id(env.spec.id).agent, env, **{**how, **SMALL.get(name, {})}) as policy:
        for task_id in inner.task_ids[:1]:
            observation, info = env.reset(options={"task_id": task_id})
            done = False
            while not done:
                before = digest(observation)
                action = policy.act(observation, info)
                assert digest(inner.restore(inner.snapshot())[0]) == before
                observation, _, terminated, truncated, info = env.step(action)
                done = terminated or truncated
            assert policy.usage.verifications > 0 or declared.needs == "nothing"
        assert policy.usage.env_steps >= 1

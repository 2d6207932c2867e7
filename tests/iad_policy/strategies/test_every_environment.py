"""Every registered strategy plays every environment, moving it by its commits only."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest

from iad_envs import ENVIRONMENTS
from iad_policy import IADPolicyWrapper
from iad_policy.strategies import STRATEGIES, declaration_of
from iad_policy.types.hashing import digest
from tests.contract.components import SMALL
from tests.contract.rule_based import made


def marks(env: str, name: str) -> list[pytest.MarkDecorator]:
    """`make test` plays every strategy in two environments. In the others it plays few, and in browsers none."""
    is_among_few = name in ("iad", "mcts", "bon-episode") and "Browser" not in env
    is_quick = env in ("IAD/WebShop-v0", "IAD/BFCL-v0") or (is_among_few and ("Sketch" not in env or name == "iad"))
    return [] if is_quick else [pytest.mark.slow]


@pytest.fixture(scope="module")
def env(request: pytest.FixtureRequest) -> Iterator[gym.Env[Any, Any]]:
    env = made(request.param)
    yield env
    env.close()


@pytest.mark.parametrize(
    ("env", "name"),
    [pytest.param(env, name, marks=marks(env, name)) for env in ENVIRONMENTS for name in STRATEGIES],
    indirect=["env"],
)
def test_a_strategy_plays_an_environment_to_its_end(env: gym.Env[Any, Any], name: str) -> None:
    inner: Any = env.unwrapped
    declared = declaration_of(name)
    how = {"strategy": name, "n": 2, "verifier": "oracle" if declared.needs == "oracle" else "proxy"}
    with IADPolicyWrapper("solution:0.3", env, **{**how, **SMALL.get(name, {})}) as policy:
        observation, info = env.reset(options={"task_id": inner.task_ids[0]})
        done = False
        while not done:
            before = digest(observation)
            action = policy.act(observation, info)
            assert digest(inner.restore(inner.snapshot())[0]) == before
            observation, _, terminated, truncated, info = env.step(action)
            done = terminated or truncated
        assert policy.usage.verifications > 0 or declared.needs == "nothing"
        assert policy.usage.env_steps >= 1

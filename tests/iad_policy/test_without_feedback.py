"""Refining without feedback is sampling: what IAD gains over best-of-N in the bundled environments is what it hears."""

import os
import shutil
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.sketch2code.devtools import CHROMIUM_VARIABLE, NAMES
from iad_policy import IADPolicyWrapper, defaults
from iad_policy.verifiers.bird import QueryVerifier

has_chromium = bool(os.environ.get(CHROMIUM_VARIABLE) or any(map(shutil.which, NAMES)))
ENVIRONMENTS = [
    ("IAD/WebShop-v0", 12),
    ("IAD/InterCodeBash-v0", 5),
    ("IAD/BIRD-v0", 20),
    pytest.param(
        "IAD/Sketch2Code-v0",
        2,
        marks=pytest.mark.skipif(not has_chromium, reason="needs Chromium: apt-get install chromium fonts-liberation"),
    ),
]
VERIFIERS = {"IAD/BIRD-v0": QueryVerifier(agreement=0.0)}
"""That environment's own verifier counts agreement: best-of-N has a vote among all its candidates, IAD has not."""


def played(env: gym.Env[Any, Any], n_tasks: int, **options: Any) -> list[tuple[list[Any], bool]]:
    """The committed actions and the success of each of the first tasks."""
    inner: Any = env.unwrapped
    results = []
    verifier = VERIFIERS.get(defaults.env_id(env))
    with IADPolicyWrapper(defaults.defaults_of(env).agent, env, n=4, verifier=verifier, **options) as policy:
        for task_id in inner.task_ids[:n_tasks]:
            observation, info = env.reset(options={"task_id": task_id})
            actions = []
            done = False
            while not done:
                actions.append(policy.act(observation, info))
                observation, _, terminated, truncated, info = env.step(actions[-1])
                done = terminated or truncated
            results.append((actions, bool(info["success"])))
    return results


@pytest.mark.parametrize(("env_id", "n_tasks"), ENVIRONMENTS)
def test_without_feedback_a_keyless_agent_gains_nothing_over_best_of_n(env_id: str, n_tasks: int) -> None:
    env = gym.make(env_id)
    bon, silent, told = (
        played(env, n_tasks, **how)
        for how in (
            {"strategy": "bon"},
            {"strategy": "iad", "feedback": "none"},
            {"strategy": "iad", "feedback": "best-worst"},
        )
    )
    env.close()
    assert silent == bon
    assert told != silent

"""Refining without feedback is sampling: what IAD gains over best-of-N in the bundled environments is what it hears."""

import os
import shutil
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.sketch2code.devtools import CHROMIUM_VARIABLE, NAMES
from iad_policy import IADPolicyWrapper
from iad_policy.defaults import defaults_of
from iad_policy.evaluation.statistics import mcnemar_exact

has_chromium = bool(os.environ.get(CHROMIUM_VARIABLE) or any(map(shutil.which, NAMES)))
ENVIRONMENTS = [
    ("IAD/WebShop-v0", 12),
    ("IAD/InterCodeBash-v0", 5),
    ("IAD/BIRD-v0", 30),
    pytest.param(
        "IAD/Sketch2Code-v0",
        2,
        marks=pytest.mark.skipif(not has_chromium, reason="needs Chromium: apt-get install chromium fonts-liberation"),
    ),
]
AGREEING = "IAD/BIRD-v0"
"""Its verifier counts agreement among what it is shown, and IAD shows it one candidate after the other."""


def played(env: gym.Env[Any, Any], n_tasks: int, **options: Any) -> list[tuple[list[Any], bool]]:
    """The committed actions and the success of each of the first tasks."""
    inner: Any = env.unwrapped
    results = []
    with IADPolicyWrapper(defaults_of(env).agent, env, n=4, **options) as policy:
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
    if env_id != AGREEING:
        assert silent == bon
    won = sum(one > other for (_, one), (_, other) in zip(silent, bon, strict=True))
    lost = sum(one < other for (_, one), (_, other) in zip(silent, bon, strict=True))
    assert mcnemar_exact(won, lost) > 0.01
    assert told != silent

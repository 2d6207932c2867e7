"""What IAD gains over best-of-N in the bundled environments is what it hears: without feedback it only samples.

The verifier sees each candidate alone: one that counts agreement gives best-of-N a vote that a chain has not.
"""

import os
import shutil
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.browser.devtools import CHROMIUM_VARIABLE, NAMES
from iad_policy import IADPolicyWrapper
from iad_policy.registry.domain import domain_of
from tests.iad_policy.playing import play

has_chromium = bool(os.environ.get(CHROMIUM_VARIABLE) or any(map(shutil.which, NAMES)))
ENVIRONMENTS = [
    ("IAD/WebShop-v0", 6),
    pytest.param("IAD/InterCodeBash-v0", 5, marks=pytest.mark.slow),
    ("IAD/BIRD-v0", 10),
    pytest.param("IAD/Booking-v0", 4, marks=pytest.mark.slow),
    pytest.param("IAD/BFCL-v0", 9, marks=pytest.mark.slow),
    pytest.param("IAD/ACEBench-v0", 9, marks=pytest.mark.slow),
    pytest.param(
        "IAD/Sketch2Code-v0",
        2,
        marks=[
            pytest.mark.slow,
            pytest.mark.skipif(not has_chromium, reason="needs Chromium: apt-get install chromium fonts-liberation"),
        ],
    ),
]


def played(env: gym.Env[Any, Any], n_tasks: int, **options: Any) -> list[tuple[list[Any], bool]]:
    """The committed actions and the success of each of the first tasks."""
    inner: Any = env.unwrapped
    results = []
    with IADPolicyWrapper(domain_of(env).agent, env, n=4, verifier="alone:proxy", **options) as policy:
        for task_id in inner.task_ids[:n_tasks]:
            actions, _, info = play(env, policy, options={"task_id": task_id})
            results.append((actions, bool(info["success"])))
    return results


@pytest.mark.parametrize(("env_id", "n_tasks"), ENVIRONMENTS)
def test_without_feedback_a_rule_based_agent_gains_nothing_over_best_of_n(env_id: str, n_tasks: int) -> None:
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


def test_a_verifier_that_sees_each_candidate_alone_has_no_vote() -> None:
    env = gym.make("IAD/BIRD-v0")
    actions = iter(["submit[SELECT 30]", "submit[SELECT 30 AS share]", "submit[SELECT 40]"] * 2)
    scores = []
    for verifier in ("proxy", "alone:proxy"):
        with IADPolicyWrapper(
            lambda observation, info: next(actions), env, strategy="bon", verifier=verifier
        ) as policy:
            assert policy.verifier is not None
            assert policy.verifier.information == "proxy"
            policy.act(*env.reset(seed=0))
            scores.append([candidate.score for candidate in policy.decisions[0].candidates])
    env.close()
    (voted, agreed, other), alone = scores
    assert voted == agreed > other
    assert alone == [alone[0]] * 3
    assert alone[0] > other  # two candidates speak against it

"""Stable-Baselines3 on the shop as rows of features (`make bridges BRIDGES=sb3`)."""

from typing import Any

import pytest

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: make bridges BRIDGES=sb3")

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv

from examples.reinforce import MAX_ACTIONS, Rows
from iad_policy import IADPolicyWrapper
from tests.full.processes import examples, needing
from tests.full.shop_runs import SHOP

OPTIONS: dict[str, Any] = {"split": "train", "progress": "off"}
pytestmark = needing("stable_baselines3", how="make bridges BRIDGES=sb3")
torch.set_num_threads(1)  # so small a network is slower with several


def shop() -> gym.Env[Any, Any]:
    return Rows(gym.make(SHOP, **OPTIONS))


def test_a_vector_by_id_gives_what_processes_give_and_its_infos_have_no_gold() -> None:
    played = []
    by_id = {"wrapper_class": Rows, "env_kwargs": OPTIONS}  # though pictures are asked for
    for made, options in ((SHOP, by_id), (shop, {"vec_env_cls": SubprocVecEnv})):
        envs = make_vec_env(made, n_envs=2, seed=0, **options)
        played.append([envs.reset()])
        rows, rewards, dones, infos = envs.step(np.array([MAX_ACTIONS - 1, 0]))  # a row without an action is invalid
        assert rows.shape == (2, MAX_ACTIONS, rows.shape[2])
        assert (list(rewards), list(dones)) == ([0, 0], [False, False])
        assert all(set(info) <= {"TimeLimit.truncated", "episode", "terminal_observation"} for info in infos)
        played[-1] += [rows, *(envs.step(np.array([number % 3, 1]))[0] for number in range(12))]
        envs.close()
    for here, there in zip(*played, strict=True):
        np.testing.assert_array_equal(here, there)


def test_the_pages_examples_run_and_the_trained_policy_is_an_agent(recwarn: Any) -> None:
    told: list[Any] = []
    names: dict[str, Any] = {"print": lambda *texts: told.extend(texts)}
    for body in examples("sb3.md"):
        exec(compile(body, "page", "exec"), names)
    assert told == [256]
    assert ["unconventional shape" in str(it.message) for it in recwarn if "stable" in it.filename] == [True]
    with IADPolicyWrapper(names["agent"], names["env"], strategy="bon", n=8) as policy:
        assert policy.act(*names["env"].reset(seed=1)).startswith("search[")
        assert len({candidate.action for candidate in policy.decisions[-1].candidates}) > 1

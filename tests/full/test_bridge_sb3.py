"""Stable-Baselines3 on the shop as rows of features (`make bridges BRIDGES=sb3`)."""

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: make bridges BRIDGES=sb3")

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

import iad_envs  # noqa: F401 (registers)
from examples.reinforce import MAX_ACTIONS, Rows
from iad_policy import IADPolicyWrapper
from tests.full.processes import examples

SHOP = "IAD/WebShop-v0"
N_STEPS = 256
OPTIONS: dict[str, Any] = {"split": "train", "progress": "off"}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # theirs
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """So small a network is slower with several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def shop() -> gym.Env[Any, Any]:
    return Rows(gym.make(SHOP, **OPTIONS))


def test_their_check_passes_and_a_vector_is_made_by_id_though_pictures_are_asked_for(recwarn: Any) -> None:
    check_env(shop())
    (said,) = [str(warned.message) for warned in recwarn if "stable" in str(warned.filename)]
    assert "unconventional shape" in said
    envs = make_vec_env(SHOP, n_envs=2, seed=0, wrapper_class=Rows, env_kwargs=OPTIONS)
    other = make_vec_env(shop, n_envs=2, seed=0)
    np.testing.assert_array_equal(envs.reset(), other.reset())
    envs.close()
    other.close()


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [(PPO, {"n_steps": 32, "batch_size": 32}), (A2C, {"n_steps": 16}), (DQN, {"learning_starts": 20})],
)
def test_an_algorithm_trains_on_it(algorithm: Any, options: dict[str, Any]) -> None:
    envs = make_vec_env(shop, n_envs=2, seed=0)
    model = algorithm("MlpPolicy", envs, seed=0, device="cpu", **options)
    before = [weights.detach().clone() for weights in model.policy.parameters()]
    model.learn(N_STEPS)
    assert any(bool((old != new).any()) for old, new in zip(before, model.policy.parameters(), strict=True))
    assert model.num_timesteps >= N_STEPS
    assert all(0 <= episode["r"] <= 1 for episode in model.ep_info_buffer)
    assert len(model.ep_info_buffer) > 0
    envs.close()


def test_a_page_never_has_gold_in_its_info_and_processes_give_what_one_in_this_process_gives() -> None:
    played = []
    for kind in (DummyVecEnv, SubprocVecEnv):
        envs = make_vec_env(shop, n_envs=2, seed=0, vec_env_cls=kind)
        played.append([envs.reset()])
        rows, rewards, dones, infos = envs.step(np.array([MAX_ACTIONS - 1, 0]))  # a row without an action is invalid
        assert rows.shape == (2, MAX_ACTIONS, rows.shape[2])
        assert list(rewards) == [0, 0]
        assert not dones.any()
        assert all(set(info) <= {"TimeLimit.truncated", "episode", "terminal_observation"} for info in infos)
        played[-1] += [rows, *(envs.step(np.array([number % 3, 1]))[0] for number in range(12))]
        envs.close()
    for here, there in zip(*played, strict=True):
        np.testing.assert_array_equal(here, there)


def test_the_pages_examples_run_and_the_trained_policy_is_an_agent() -> None:
    names: dict[str, Any] = {"print": lambda *texts: told.extend(texts)}
    told: list[Any] = []
    for body in examples("sb3.md"):
        exec(compile(body, "page", "exec"), names)
    assert told == [256]
    env = gym.make(SHOP)
    observation, info = env.reset(seed=1)
    with IADPolicyWrapper(names["agent"], env, strategy="bon", n=8) as policy:
        action = policy.act(observation, info)
        proposed = {candidate.action for candidate in policy.decisions[-1].candidates}
    assert action.startswith("search[")
    assert len(proposed) > 1

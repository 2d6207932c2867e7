"""What the strategies cost: here the one whose decisions are the largest."""

import tempfile
from statistics import median
from time import perf_counter
from typing import Any

import gymnasium as gym
from figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_policy import IADPolicyWrapper

N_TASKS = 21
N_ITERATIONS = 30


def mcts_step() -> None:
    """Seconds of an episode's first decision by `mcts`: 30 iterations to the episode's end, in the shop, keyless."""
    env = gym.make("IAD/WebShop-v0")
    inner: Any = env.unwrapped
    plain, logged = [], []
    with tempfile.TemporaryDirectory() as folder:
        for task_id in inner.task_ids[:N_TASKS]:
            plain.append(first_decision_s(env, task_id))
            logged.append(first_decision_s(env, task_id, log=f"{folder}/{task_id}"))
    figure("mcts_step_s", median(plain), "s", target=0.5, n=N_TASKS)
    figure("mcts_step_logged_s", median(logged), "s", n=N_TASKS)


def first_decision_s(env: gym.Env[Any, Any], task_id: str, log: str | None = None) -> float:
    """Seconds of a first decision, beginning with an environment that has simulated nothing of it yet."""
    with IADPolicyWrapper("shopper", env, strategy="mcts", n=N_ITERATIONS, log=log) as policy:
        observation, info = env.reset(options={"task_id": task_id})
        start = perf_counter()
        policy.act(observation, info)
        return perf_counter() - start


def main() -> None:
    """Measure and print."""
    mcts_step()


if __name__ == "__main__":
    main()

"""Cost of the strategies: the time that each adds to a request, and the strategy with the largest decisions.

`--full` also measures their results: closed forms, and every strategy on all bundled tasks (an hour or more).
"""

import argparse
import tempfile
from statistics import median
from time import perf_counter
from typing import Any

import closed_forms
import gymnasium as gym
import method_table
from figures import figure
from instant import N_ROUNDS, overhead_of

import iad_envs  # noqa: F401 (registers)
from iad_policy import IADPolicyWrapper
from iad_policy.strategies import STRATEGIES

N_TASKS = 21
N_ITERATIONS = 30


def request_overhead() -> None:
    """Print the microseconds per request of every strategy, and of the slowest one, with instant answers.

    A request may ask for several items, such as three candidates. The time per item is added to one call of a model.
    """
    found = {name: overhead_of(name) for name in STRATEGIES}
    for name, one in found.items():
        figure(f"request_overhead_us_{name}", one.per_request, "us", target=50, n=N_ROUNDS)
    figure("request_overhead_us", max(one.per_request for one in found.values()), "us", target=50, n=len(found))
    figure("item_overhead_us", max(one.per_item for one in found.values()), "us", target=50, n=len(found))


def mcts_step() -> None:
    """Print the seconds of the first decision of `mcts` in the shop: 30 iterations to the end, rule-based agent."""
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
    """Return the seconds of a first decision in an environment that has simulated nothing of the episode yet."""
    with IADPolicyWrapper("shopper", env, strategy="mcts", n=N_ITERATIONS, log=log) as policy:
        observation, info = env.reset(options={"task_id": task_id})
        start = perf_counter()
        policy.act(observation, info)
        return perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="also what the strategies reach")
    given = parser.parse_args()
    request_overhead()
    mcts_step()
    if given.full:
        closed_forms.main()
        method_table.main([])


if __name__ == "__main__":
    main()

"""Measures the overhead of each strategy per request, and the time of a decision by `mcts`, the largest of all.

Of the time of an item, the largest part is the seeding of its random generator; the rest is spread over dozens of calls
of functions. `--full` also measures results: every strategy on all bundled tasks (an hour or more).
"""

import argparse
import tempfile
from statistics import median
from time import perf_counter
from typing import Any

import gymnasium as gym
from reference import Reference
from support import method_table
from support.instant import N_ROUNDS, Overhead, overhead_of

import iad_envs  # noqa: F401 (registers)
from iad_policy import IADPolicyWrapper
from iad_policy.strategies import STRATEGIES

N_TASKS = 21


def request_overhead(reference: Reference) -> None:
    """Print the microseconds per request of every strategy and of the slowest one, with instant answers.

    A request may ask for several items, such as three candidates. The time per item is the overhead per model call;
    `..._of_many` is that of strategies whose requests have more than two items on average.
    """
    found = {}
    for name in STRATEGIES:
        reference.sample()
        found[name] = overhead_of(name)
    largest = Overhead(*(max(values) for values in zip(*found.values(), strict=True)))
    for name, one in found.items():
        reference.figure(f"request_overhead_us_{name}", one.per_request, "us", target=50, n=N_ROUNDS, clock="cpu")
    reference.figure("request_overhead_us", largest.per_request, "us", target=50, n=len(found), clock="cpu")
    many = max(one.per_item for one in found.values() if one.per_request > 2 * one.per_item)
    reference.figure("item_overhead_us", largest.per_item, "us", target=50, n=len(found), clock="cpu")
    reference.figure("item_overhead_us_of_many", many, "us", target=15, n=len(found), clock="cpu")


def mcts_step(reference: Reference) -> None:
    """Print the seconds of the first decision by `mcts`: 30 rollouts to the episode's end in the shop, rule-based."""
    env = gym.make("IAD/WebShop-v0")
    inner: Any = env.unwrapped
    plain, logged = [], []
    with tempfile.TemporaryDirectory() as folder:
        for task_id in inner.task_ids[:N_TASKS]:
            reference.sample()
            plain.append(first_decision_s(env, task_id))
            logged.append(first_decision_s(env, task_id, log=f"{folder}/{task_id}"))
    reference.figure("mcts_step_s", median(plain), "s", target=0.5, n=N_TASKS)
    reference.figure("mcts_step_logged_s", median(logged), "s", n=N_TASKS)


def first_decision_s(env: gym.Env[Any, Any], task_id: str, log: str | None = None) -> float:
    """Return the seconds of an episode's first decision, before anything is simulated."""
    with IADPolicyWrapper("shopper", env, strategy="mcts", n=30, log=log) as policy:
        observation, info = env.reset(options={"task_id": task_id})
        start = perf_counter()
        policy.act(observation, info)
        return perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="also measure the strategies' results")
    given = parser.parse_args()
    reference = Reference()
    request_overhead(reference)
    mcts_step(reference)
    reference.report()
    if given.full:
        method_table.main([])


if __name__ == "__main__":
    main()

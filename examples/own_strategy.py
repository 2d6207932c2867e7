"""Compares a strategy of your own with iad on ten tasks, with at most three proposals per decision.

It spends proposals and verification only where an action may end the episode, in any environment.
Run: python examples/own_strategy.py
"""

import gymnasium as gym

import iad_envs  # noqa: F401 (registers IAD/...)
from iad_policy import IADPolicyWrapper, Propose, Verify, per_step


@per_step
def careful_at_the_end(here, *, n=3):
    """Commit the first proposal, unless it may end the episode: then propose n - 1 more and commit the best."""
    (first,) = yield from Propose(here)
    if n == 1 or not first.is_terminal:
        return first
    others = yield from Propose(here, n - 1)
    candidates = yield from Verify(here, [first, *others])
    return max(candidates, key=lambda candidate: candidate.score)


env = gym.make("IAD/WebShop-v0")
for strategy in ("single", careful_at_the_end, "iad"):
    policy = IADPolicyWrapper("shopper", env, strategy=strategy, n=3)
    rewards = []
    for task_id in env.unwrapped.task_ids[:10]:
        observation, info = env.reset(options={"task_id": task_id})
        done = False
        while not done:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            done = terminated or truncated
        rewards.append(float(reward))
    name = strategy if isinstance(strategy, str) else strategy.__name__
    print(f"{name:24} mean reward {sum(rewards) / len(rewards):.2f}  {policy.usage}")

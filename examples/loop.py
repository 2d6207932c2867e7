"""Writes the evaluation loop by hand: runs one task and prints the proposals, scores and commit of each step.

Run: python examples/loop.py [strategy]
"""

import sys

import gymnasium as gym

import iad_envs  # noqa: F401 (registers IAD/...)
from iad_policy import IADPolicyWrapper

env = gym.make("IAD/WebShop-v0")
policy = IADPolicyWrapper("shopper", env, strategy=sys.argv[1] if len(sys.argv) > 1 else "iad", n=3)

observation, info = env.reset(seed=0)
print(info["instruction"], end="\n\n")
while True:
    action = policy.act(observation, info)
    for candidate in policy.decisions[-1].candidates:
        mark = "->" if candidate is policy.decisions[-1].committed else "  "
        print(f"{mark} {candidate.score:6.3f}  {candidate.action}")
    observation, reward, terminated, truncated, info = env.step(action)
    print()
    if terminated or truncated:
        break
print(f"reward {reward:.2f}, success {info['success']}, {policy.usage}")

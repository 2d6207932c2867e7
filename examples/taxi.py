"""Runs unchanged strategies on Gymnasium's Taxi, which has numbers as observations and actions and can be copied.

The agent takes any move that the action mask allows. The verifier knows the map, but not the rewards.
Run: python examples/taxi.py
"""

import gymnasium as gym
import numpy as np

from iad_policy import IADPolicyWrapper, Verdict

N_EPISODES = 2
STOPS = ((0, 0), (0, 4), (4, 0), (4, 3))
ABOARD = 4


def legal_move(observation, info, rng):
    """Propose any move that has an effect."""
    return rng.choice([int(action) for action in np.flatnonzero(info["action_mask"])])


class Shorter:
    """A proxy verifier: the fewer blocks are left to drive, the better. It ignores walls."""

    information = "proxy"
    needs_preview = True

    def verify(self, state, candidates):
        """Score each candidate's preview."""
        return [Verdict(self.score(candidate.preview)) for candidate in candidates]

    def score(self, preview):
        """Return 1 after delivery, else less for each block and for a passenger who is not yet in the taxi."""
        row, column, passenger, goal = taxi.unwrapped.decode(preview.observation)
        if preview.done and passenger == goal:
            return 1.0
        rest = 0 if passenger == ABOARD else 1 + blocks(STOPS[passenger], STOPS[goal])
        return 1 - (1 + rest + blocks((row, column), STOPS[goal if passenger == ABOARD else passenger])) / 20


def blocks(one, other):
    """Return the number of blocks between two places."""
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


taxi = gym.make(max(name for name in gym.registry if name.startswith("Taxi-v")), max_episode_steps=100)
for strategy in ("single", "bon", "iad"):
    policy = IADPolicyWrapper(legal_move, taxi, strategy=strategy, n=2, verifier=Shorter())
    delivered = 0
    for seed in range(N_EPISODES):
        observation, info = taxi.reset(seed=seed)
        policy.reset()
        terminated = truncated = False
        while not (terminated or truncated):
            observation, _, terminated, truncated, info = taxi.step(policy.act(observation, info))
        delivered += terminated
    print(f"{strategy:8} delivered {delivered} of {N_EPISODES}, {policy.usage.simulations} simulations")

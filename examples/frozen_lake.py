"""Runs unchanged strategies on Gymnasium's slippery FrozenLake, where one step in three goes the intended way.

A candidate is simulated in a copy of the lake with its own random stream. A copied stream would reveal which way the
real step slips. The verifier reads the map. Run: python examples/frozen_lake.py
"""

import gymnasium as gym

from iad_policy import IADPolicyWrapper, Verdict

N_EPISODES = 20


def any_way(observation, info, rng):
    """Propose any of the four directions."""
    return rng.randrange(4)


class OnTheMap:
    """A proxy verifier: avoid holes, and approach the goal."""

    information = "proxy"
    needs_preview = True

    def verify(self, state, candidates):
        """Score the position after each candidate."""
        return [Verdict(self.score(candidate.preview.observation)) for candidate in candidates]

    def score(self, place):
        """Return 0 for a hole, 1 for the goal, and a value by distance in between."""
        tiles = lake.unwrapped.desc
        row, column = divmod(place, tiles.shape[1])
        distance = tiles.shape[0] - 1 - row + tiles.shape[1] - 1 - column
        return 0.0 if tiles[row, column] == b"H" else 1 - distance / sum(tiles.shape)


lake = gym.make(max(name for name in gym.registry if name.startswith("FrozenLake-v")), is_slippery=True)
for strategy in ("single", "bon", "iad", "mcts"):
    policy = IADPolicyWrapper(any_way, lake, strategy=strategy, n=4, verifier=OnTheMap())
    crossed = steps = 0
    for seed in range(N_EPISODES):
        observation, info = lake.reset(seed=seed)
        policy.reset()
        terminated = truncated = False
        while not (terminated or truncated):
            observation, reward, terminated, truncated, info = lake.step(policy.act(observation, info))
            steps += 1
        crossed += reward > 0
    print(f"{strategy:8} crossed {crossed} of {N_EPISODES} times, {steps / N_EPISODES:.1f} steps each, {policy.usage}")

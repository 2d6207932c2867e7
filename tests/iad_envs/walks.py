"""The same random episode in several environments, in which all have to agree."""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from tests.contract.environments import same


def walk_together(
    envs: Sequence[Any], seed: int, choose: Callable[[dict[str, Any], random.Random], str]
) -> Iterator[dict[str, Any]]:
    """Take the same random actions everywhere and demand the same of all; yield the info of each moment."""
    rng = random.Random(seed)
    seen: list[Any] = [env.reset(seed=seed) for env in envs]
    action, done = "", False
    while True:
        assert all(same(one, other) for one, other in pairwise(seen)), (seed, action)
        yield seen[0][-1]
        if done:
            return
        action = choose(seen[0][-1], rng)
        ahead = [env.simulate(env.snapshot(), action)[1:] for env in envs]
        assert all(same(one, other) for one, other in pairwise(ahead)), (seed, action)
        # (observation with its page, clickables in info["available_actions"], reward, done, info with its progress)
        seen = [env.step(action) for env in envs]
        done = seen[0][2] or seen[0][3]

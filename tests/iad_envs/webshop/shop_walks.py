"""The same random episodes of shopping in several environments, and what all have to agree on."""

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tests.contract.environments import same

QUERIES = (
    "red shoe",
    "hdmi cable 6 feet",
    "Gluten Free (vegan) 100%",
    "a/../b & <b>c</b>",
    "crème brûlée 🦉",
    "x" * 200,
    "no such thing whatsoever",
    "tab\there",
)
BAD = ("click[no such button]", "nonsense", "search[]", "Click[buy now]", "")


def choose(info: dict[str, Any], rng: random.Random) -> str:
    """A random action: mostly a click, sometimes a search or nonsense, rarely a purchase."""
    if rng.random() < 0.06:
        return rng.choice(BAD)
    clicks = [action for action in info["available_actions"] if action.startswith("click[")]
    if not clicks or rng.random() < 0.12:
        return f"search[{rng.choice(QUERIES)}]"
    if "click[buy now]" in clicks and rng.random() < 0.12:
        return "click[buy now]"
    return rng.choice([action for action in clicks if action != "click[buy now]"])


def walk_together(envs: Sequence[Any], seed: int) -> int:
    """Take the same random actions everywhere and demand the same of all; returns the number of steps."""
    rng = random.Random(seed)
    seen: list[Any] = [env.reset(seed=seed) for env in envs]
    done = False
    while True:
        assert all(same(one, other) for one, other in pairwise(seen)), seed
        if done:
            break
        action = choose(seen[0][-1], rng)
        ahead = [env.simulate(env.snapshot(), action)[1:] for env in envs]
        assert all(same(one, other) for one, other in pairwise(ahead)), (seed, action)
        # (observation with its page, clickables in info["available_actions"], reward, done, info with its progress)
        seen = [env.step(action) for env in envs]
        done = seen[0][2] or seen[0][3]
    return int(seen[0][-1]["step"])

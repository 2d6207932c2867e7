"""The same random episodes of shopping in several environments, and what all have to agree on."""

import random
from collections.abc import Sequence
from typing import Any

from tests.iad_envs import walks

QUERIES = (
    *("red shoe", "hdmi cable 6 feet", "Gluten Free (vegan) 100%", "a/../b & <b>c</b>", "crème brûlée 🦉", "x" * 200),
    *("no such thing whatsoever", "tab\there"),
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
    return int([*walks.walk_together(envs, seed, choose)][-1]["step"])

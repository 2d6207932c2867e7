"""Random episodes of many sessions of the shop, in one of its vector environments."""

import random
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium as gym

import iad_envs  # noqa: F401 (registers)

QUERY = "shoe women throw wall red bar gluten free hair pack wireless cotton large black set kit steel"
WORDS = QUERY.split()


class Stepped(NamedTuple):
    """A step of all sessions: whether all clicked (else all searched), the seconds it took, and what it returned."""

    is_click: bool
    cpu_s: float
    wall_s: float
    seen: Any


def opened(kind: str, n_sessions: int) -> Any:
    """Return a vector of shops with all tasks: `native`, `sync` or `async`."""
    options = {"vector_kwargs": {"shared_memory": False}} if kind == "async" else {}
    mode = "vector_entry_point" if kind == "native" else kind
    return gym.make_vec("IAD/WebShop-v0", n_sessions, vectorization_mode=mode, split=None, **options)


def episodes(envs: Any, rng: random.Random, n_episodes: int, *, per_task: int = 1) -> Iterator[Stepped]:
    """Yield the steps of episodes: a search, and eight clicks that each session draws.

    Args:
        envs: The vector.
        rng: Draws tasks, searched words and clicks.
        n_episodes: Number of episodes of each session.
        per_task: Number of sessions with the same task and the same search.
    """
    n_tasks = envs.num_envs // per_task
    for _ in range(n_episodes):
        envs.reset(seed=[seed for seed in rng.sample(range(1 << 30), n_tasks) for _ in range(per_task)])
        searches = [f"search[{' '.join(rng.sample(WORDS, 3))}]" for _ in range(n_tasks)]
        actions = [search for search in searches for _ in range(per_task)]
        for number in range(9):
            cpu_s, wall_s = time.process_time(), time.perf_counter()
            seen = envs.step(actions)
            yield Stepped(number > 0, time.process_time() - cpu_s, time.perf_counter() - wall_s, seen)
            # Every session clicks until the end of an episode.
            ending = ("click[buy now]", "click[back to search]", "search[...]")
            offered = [[one for one in available if one not in ending] for available in seen[4]["available_actions"]]
            actions = [rng.choice(clicks) if clicks else "click[< prev]" for clicks in offered]

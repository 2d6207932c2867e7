"""Measures vectors of the shop: the time of a step and the memory of a session.

256 sessions are in one process, in the shop's own vector environment and in Gymnasium's, which has 256 environments.
Both play random episodes of their own, in turn. Times are those of clicks. Eight sessions have the same task and
search, as when a policy is trained on groups of samples, or every session has a task of its own.
"""

import random
import time
from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

import gymnasium as gym
from support.figures import FULL, figure, in_fresh_process

import iad_envs  # noqa: F401 (registers)

QUERY = "shoe women throw wall red bar gluten free hair pack wireless cotton large black set kit steel"
WORDS = QUERY.split()
N_SESSIONS = 256
MANY_SESSIONS = 2048
N_ROUNDS = 60 if FULL else 20
N_PROCESSES = 8
GROUP = 8
"""Sessions with the same task."""
IN_FRESH_PROCESS = """
import gc, os, random, tracemalloc
sys.path.insert(0, "benchmarks")
from vectors import episodes, opened
kind, n_sessions = sys.argv[1], int(sys.argv[2])
rng = random.Random(0)
def play(kind, n_sessions, n_episodes):
    envs = opened(kind, n_sessions)
    for last in episodes(envs, rng, n_episodes):
        pass
    gc.collect()
    return envs, last
"""
PROCESS = IN_FRESH_PROCESS + 'kept = play(kind, n_sessions, 2)\nprint(json.dumps({"mb": held_mb()}))'
SESSION = (
    IN_FRESH_PROCESS
    + """
few, many = n_sessions, int(sys.argv[3])
play("native", 64, 1)
tracemalloc.start()
def traced_kb(n_sessions, n_episodes):
    kept = play(kind, n_sessions, n_episodes)
    return tracemalloc.get_traced_memory()[0] / 1024
shared_kb = traced_kb(few, 8)  # so many that the caches are full
print(json.dumps({"kb": (traced_kb(many, 2) - shared_kb) / (many - few)}))
"""
)
WORKERS = (
    IN_FRESH_PROCESS
    + """
envs, last = play(kind, n_sessions, 2)
pss = [line for process in envs.processes for line in open(f"/proc/{process.pid}/smaps_rollup") if line[:4] == "Pss:"]
print(json.dumps({"mb": sum(int(line.split()[1]) for line in pss) / 1024 / len(pss)}))
envs.close()
"""
)


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


def vector_speed() -> None:
    """Print steps per second of CPU time, and how many more the shop's own vector environment does."""
    vectors = {kind: opened(kind, N_SESSIONS) for kind in ("native", "sync")}
    for per_task, name in ((GROUP, ""), (1, "_own_tasks")):
        clicks: dict[str, list[float]] = {kind: [] for kind in vectors}
        rngs = {kind: random.Random(kind) for kind in vectors}
        for number in range(N_ROUNDS):
            for kind in sorted(vectors, reverse=bool(number % 2)):
                steps = episodes(vectors[kind], rngs[kind], 1, per_task=per_task)
                clicks[kind] += [N_SESSIONS / step.cpu_s for step in steps if step.is_click]
        native, sync, n = median(clicks["native"]), median(clicks["sync"]), len(clicks["native"])
        figure(f"sync{name}_steps_per_s", sync, "steps/s", better="higher", n=n)
        figure(f"vector{name}_steps_per_s", native, "steps/s", better="higher", baseline=sync, n=n)
        target = 5 if per_task == GROUP else None
        figure(f"vector_vs_sync{name}_ratio", native / sync, "x", target=target, better="higher", n=n)


def process_speed() -> None:
    """Print steps per second of wall time where every session has a process of its own."""
    envs = opened("async", N_PROCESSES)
    found = [N_PROCESSES / step.wall_s for step in episodes(envs, random.Random(0), 10) if step.is_click]
    envs.close()
    figure(f"async_{N_PROCESSES}_steps_per_s", median(found), "steps/s", better="higher", n=len(found))


def vector_memory() -> None:
    """Print what a further session takes beside 256, and what processes hold."""
    grown = in_fresh_process(SESSION, "native", N_SESSIONS, MANY_SESSIONS, n=1)
    figure("vector_session_kb", grown["kb"], "kB", target=10)
    for metric, kind, n_sessions in (
        ("vector_1_session_mb", "native", 1),
        ("vector_256_sessions_mb", "native", N_SESSIONS),
        ("sync_256_sessions_mb", "sync", N_SESSIONS),
    ):
        figure(metric, in_fresh_process(PROCESS, kind, n_sessions, n=1)["mb"], "MB")
    figure("async_worker_mb", in_fresh_process(WORKERS, "async", N_PROCESSES, n=1)["mb"], "MB", n=N_PROCESSES)


def main() -> None:
    vector_speed()
    process_speed()
    vector_memory()


if __name__ == "__main__":
    main()

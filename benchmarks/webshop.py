"""Measures IAD/WebShop-v0: speed and memory compared with recorded figures of the original, and the bundled tasks.

Speed is measured on the official set of 1,000 products if IAD_REAL_DATA names a folder with `webshop/`. Otherwise the
bundled set is used, which has the same size.
"""

import os
import random
import time
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium as gym
from reference import Reference
from support.bundled import bundled_tasks
from support.figures import figure, in_fresh_process
from vectors import WORDS

# CPU milliseconds of the original text environment on 1,000 products, on the machine where the targets were set.
RECORDED_MS = {"reset": 2.9, "search": 17.6, "click": 15.0}
RECORDED = {"start_cpu_s": 5.2, "rss_mb": 754.0}

START = """
import gymnasium as gym, iad_envs
env = gym.make("IAD/WebShop-v0", data_dir=sys.argv[1] or None)
env.reset(seed=0)
print(json.dumps({"start_cpu_s": cpu_s(), "rss_mb": rss_mb()}))
"""


def walk(env: gym.Env[Any, Any], rng: random.Random, times: dict[str, list[float]]) -> None:
    """Run one episode with a new search and eight clicks, and time each step."""

    def step(kind: str, action: str) -> dict[str, Any]:
        start = time.process_time_ns()
        *_, info = env.step(action)
        times[kind].append((time.process_time_ns() - start) / 1e9)
        return info

    start = time.process_time_ns()
    env.reset()
    times["reset"].append((time.process_time_ns() - start) / 1e9)
    info = step("search", f"search[{' '.join(rng.sample(WORDS, 4))} {rng.random()}]")
    for _ in range(8):
        clicks = [action for action in info["available_actions"] if action.startswith("click[")]
        clicks = [action for action in clicks if action not in ("click[buy now]", "click[back to search]")]
        if not clicks:
            return
        info = step("click", rng.choice(clicks))


def speed(folder: str, n_episodes: int, reference: Reference) -> None:
    """Print how many times faster this environment's medians are than the original's would be on this machine."""
    times: dict[str, dict[str, list[float]]] = {
        progress: {"reset": [], "search": [], "click": []} for progress in ("off", "maximum")
    }
    envs = {progress: gym.make("IAD/WebShop-v0", data_dir=folder or None, progress=progress) for progress in times}
    rng = random.Random(0)
    for env in envs.values():
        env.reset(seed=0)
    for episode in range(n_episodes):
        if episode % 40 == 0:
            reference.sample()
        for progress, env in envs.items():
            walk(env, rng, times[progress])
    for metric, operation, progress, target in (
        ("click_ratio", "click", "off", 100),
        ("search_ratio", "search", "off", 15),
        ("click_ratio_progress", "click", "maximum", 30),
        ("reset_ratio", "reset", "off", 50),
    ):
        taken = times[progress][operation]
        ratio = RECORDED_MS[operation] * reference.slowness("cpu") / (1000 * median(taken))
        figure(metric, ratio, "x", target=target, better="higher", baseline="recorded", ratio=ratio, n=len(taken))


def simulate(folder: str, n: int, reference: Reference) -> None:
    env: Any = gym.make("IAD/WebShop-v0", data_dir=folder or None).unwrapped
    rng = random.Random(0)
    seconds = []
    while len(seconds) < n:
        env.reset(seed=len(seconds))
        *_, info = env.step(f"search[{' '.join(rng.sample(WORDS, 3))}]")
        token = env.snapshot()
        for action in info["available_actions"]:
            start = time.process_time_ns()
            env.simulate(token, action)
            seconds.append((time.process_time_ns() - start) / 1e9)
    reference.sample()
    reference.figure("simulate_us", median(seconds) * 1e6, "us", target=150, n=len(seconds), clock="cpu")


def main() -> None:
    real = os.environ.get("IAD_REAL_DATA")
    folder = str(Path(real) / "webshop") if real else ""
    reference = Reference()
    speed(folder, 400, reference)
    simulate(folder, 2000, reference)
    started = in_fresh_process(START, folder, before_each=reference.sample)
    reference.figure("start_cpu_s", started["start_cpu_s"], "s", target=1.0, n=5, clock="cpu")
    faster_start = RECORDED["start_cpu_s"] * reference.slowness("cpu") / started["start_cpu_s"]
    figure("start_cpu_ratio", faster_start, "x", better="higher", baseline="recorded", ratio=faster_start, n=5)
    smaller = RECORDED["rss_mb"] / started["rss_mb"]
    figure("rss_mb", started["rss_mb"], "MB", target=150, baseline="recorded", ratio=smaller, n=5)
    reference.report()
    bundled_tasks("IAD/WebShop-v0", "webshop", "shopper")


if __name__ == "__main__":
    main()

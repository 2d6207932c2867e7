"""Measures IAD/Booking-v0: speed, its site, the text judge, what simulating is worth, and the bundled tasks.

`--full` takes more tasks and episodes, and measures steps in a browser. Fresh tasks are made from a
seed that the bundled ones don't use.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium as gym
from reference import Reference
from support.booking_pages import final_pages
from support.booking_site import site_in_browser, site_requests, site_sessions
from support.booking_trials import Visitor
from support.bundled import bundled_tasks
from support.figures import ROOT, figure, in_fresh_process
from support.learning import compared

import iad_envs  # noqa: F401 (registers)
from iad_envs.booking.policy.fit import faults

FULL = "--full" in sys.argv
N_FRESH = 300 if FULL else 100
FRESH_SEED = 20270101
N_PAGES = 250
AGREES = 0.97
GAINED = 0.2

START = """
import gymnasium as gym, iad_envs
from iad_envs.booking.env import BookingEnv
start = time.perf_counter()
BookingEnv().reset(seed=0)
print(json.dumps({"load_ms": 1e3 * (time.perf_counter() - start)}))
"""
HELD = """
import gymnasium as gym, iad_envs, tracemalloc
env = gym.make("IAD/Booking-v0").unwrapped
gold = {name: env._solution(env._task(name)) for name in env.task_ids}
tracemalloc.start()
states = []
def play():
    for name in env.task_ids:
        env.reset(options={"task_id": name})
        for action in gold[name]:
            env.step(action)
            states.append(env._now.state)
        env._simulations.clear(); env._scores.clear()
before = tracemalloc.get_traced_memory()[0]
play()
print(json.dumps({"state_kb": (tracemalloc.get_traced_memory()[0] - before) / 1024 / len(states)}))
"""


def speed(reference: Reference) -> None:
    """Print the times of the parts of an episode, over the gold solutions of the test tasks."""
    env: Any = gym.make("IAD/Booking-v0").unwrapped
    gold = {task_id: env._solution(env._task(task_id)) for task_id in env.task_ids}
    times: dict[str, list[float]] = {name: [] for name in ("reset", "step", "simulate", "snapshot", "gold episode")}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        found = work()
        times[name].append(time.perf_counter() - start)
        return found

    def episode(task_id: str, actions: Sequence[str]) -> None:
        env.reset(options={"task_id": task_id})
        for action in actions:
            env.step(action)

    for task_id, actions in gold.items():
        timed("reset", lambda task_id=task_id: env.reset(options={"task_id": task_id}))
        for action in actions:
            token = timed("snapshot", env.snapshot)
            other = "CLICK [mine]" if action != "CLICK [mine]" else "CLICK [home]"
            timed("simulate", lambda token=token, other=other: env.simulate(token, other))
            timed("step", lambda action=action: env.step(action))
        timed("gold episode", lambda task_id=task_id, actions=actions: episode(task_id, actions))
    reference.sample()
    for name, unit, scale, target in (
        ("reset", "ms", 1e3, 0.5),
        ("step", "ms", 1e3, 0.2),
        ("simulate", "ms", 1e3, 0.2),
        ("snapshot", "us", 1e6, 1.0),
        ("gold episode", "ms", 1e3, 5.0),
    ):
        value = scale * median(times[name])
        reference.figure(f"{name.replace(' ', '_')}_{unit}", value, unit, target=target, n=len(times[name]))


def judge() -> None:
    """Print how often the text judge agrees with the site's data about final pages."""
    env = gym.make("IAD/Booking-v0", split=None)
    pages = list(final_pages(env, N_PAGES))
    right = [not faults(page.state) for page in pages if not page.wrong]
    wrong = [bool(faults(page.state)) for page in pages if page.wrong]
    figure("judge_sensitivity", sum(right) / len(right), "share", target=AGREES, better="higher", n=len(right))
    figure("judge_specificity", sum(wrong) / len(wrong), "share", target=AGREES, better="higher", n=len(wrong))


def trying(kind: str) -> None:
    """Print what trying actions beside the environment gains over trying them for real, on fresh tasks."""
    with TemporaryDirectory() as folder:
        make = [sys.executable, str(ROOT / "data/booking/make_tasks.py"), "--kind", kind, "--tasks", str(N_FRESH)]
        subprocess.run([*make, "--seed", str(FRESH_SEED), "--output", folder], check=True, stdout=subprocess.DEVNULL)
        env = gym.make("IAD/Booking-v0", data_dir=Path(folder))
        task_ids = env.unwrapped.task_ids  # type: ignore[attr-defined]
        solved = [[Visitor(env, simulates=how).solves(task_id, 0) for task_id in task_ids] for how in (True, False)]
    beside, real = (list(map(float, one)) for one in solved)
    compared(
        "simulated_minus_real",
        [one - other for one, other in zip(beside, real, strict=True)],
        list(task_ids),
        least=None,
        unit="success",
        about=kind,
        ours=sum(beside) / len(beside),
        theirs=sum(real) / len(real),
    )
    gained = (sum(beside) - sum(real)) / len(beside)
    figure(f"{kind}_gained_by_simulating", gained, "share", target=GAINED, better="higher", n=len(beside))


def main() -> None:
    reference = Reference()
    reference.sample()
    started = in_fresh_process(START, before_each=reference.sample)
    reference.figure("load_ms", started["load_ms"], "ms", target=100.0, n=5)
    speed(reference)
    figure("state_kb", in_fresh_process(HELD, n=1)["state_kb"], "kB", target=4.0, n=1)
    site_requests(reference)
    site_sessions()
    judge()
    for kind in ("contested", "move"):
        trying(kind)
    bundled_tasks("IAD/Booking-v0", "booking", "booker", n_runs=16 if FULL else 8)
    if FULL:
        site_in_browser()


if __name__ == "__main__":
    main()

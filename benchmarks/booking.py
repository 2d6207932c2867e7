"""Measures IAD/Booking-v0: speed, the text judge, what simulating is worth, and the bundled tasks.

`--full` takes more tasks and episodes. Fresh tasks are made from a seed that the bundled ones don't use.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium as gym
from reference import Reference
from support.booking_pages import final_pages
from support.booking_trials import Visitor
from support.bundled import bundled_tasks
from support.figures import FULL, ROOT, figure, timed
from support.learning import compared

import iad_envs  # noqa: F401 (registers)
from iad_envs.booking.policy.fit import faults

N_FRESH = 300 if FULL else 100
FRESH_SEED = 20270101
N_PAGES = 250
AGREES = 0.97
GAINED = 0.2


def speed(reference: Reference) -> None:
    """Print the times of the parts of an episode, over the gold solutions of the test tasks."""
    env: Any = gym.make("IAD/Booking-v0").unwrapped
    gold = {task_id: env._solution(env._task(task_id)) for task_id in env.task_ids}
    times: dict[str, list[float]] = {name: [] for name in ("reset", "step", "simulate", "snapshot", "gold episode")}

    def episode(task_id: str, actions: Sequence[str]) -> None:
        env.reset(options={"task_id": task_id})
        for action in actions:
            env.step(action)

    for task_id, actions in gold.items():
        times["reset"].append(timed(lambda task_id=task_id: env.reset(options={"task_id": task_id})))
        for action in actions:
            times["snapshot"].append(timed(env.snapshot))
            token = env.snapshot()
            other = "CLICK [mine]" if action != "CLICK [mine]" else "CLICK [home]"
            times["simulate"].append(timed(lambda token=token, other=other: env.simulate(token, other)))
            times["step"].append(timed(lambda action=action: env.step(action)))
        times["gold episode"].append(timed(lambda task_id=task_id, actions=actions: episode(task_id, actions)))
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
    speed(reference)
    judge()
    for kind in ("contested", "move"):
        trying(kind)
    bundled_tasks("IAD/Booking-v0", "booking", "booker", n_runs=16 if FULL else 8)


if __name__ == "__main__":
    main()

"""Measures IAD/BFCL-v0 and IAD/ACEBench-v0: the times of their episodes, beside the official functions.

The official side runs if `bfcl_eval` can be imported (`pip install --no-deps bfcl-eval==2026.3.23` and `iad[bfcl]`);
otherwise its recorded times stand beside ours. Official data come from `IAD_REAL_DATA`; without them those rows are
left out. `--full` takes all official tasks. Agreement with the official scripts is measured by
`tests/fidelity/test_bfcl*.py` and `test_acebench*.py`.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium as gym
from reference import Reference
from support.figures import figure, in_fresh_process

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.bfcl.data import OfficialFiles
from iad_envs.toolcalls.copying import copied

N_TASKS = 200 if "--full" in sys.argv else 40
START = """
import iad_envs
from iad_envs.toolcalls.bfcl.env import BFCLEnv
start = time.perf_counter()
BFCLEnv().reset(seed=0)
print(json.dumps({"load_ms": 1e3 * (time.perf_counter() - start)}))
"""
RECORDED_CHECK_MS = {
    "multi_turn_base": 2.3,
    "multi_turn_miss_func": 1.8,
    "multi_turn_miss_param": 1.9,
    "multi_turn_long_context": 3.3,
}
"""Of the official check of gold, a task, on the machine where the targets were set."""
RECORDED_ANSWER_MS = {
    "bfcl": (("simple_python", 0.06), ("parallel_multiple", 0.14), ("live_multiple", 0.04)),
    "acebench": (("normal", 0.45), ("special", None)),
}
_NUMBERS = count()


def made(env_id: str, **arguments: Any) -> Any:
    """Return an environment without wrappers, with the tasks of all splits."""
    return gym.make(env_id, split=None, **arguments).unwrapped


def references(env: Any, task_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the gold actions of tasks."""
    return {task_id: env._solution(env._task(task_id)) for task_id in task_ids}


def played(env: Any, task_id: str, actions: Sequence[str]) -> float:
    """Play a task, with a snapshot before each action, and return its reward."""
    env.reset(options={"task_id": task_id})
    reward = 0.0
    for action in actions:
        env.snapshot()
        _, reward, *_ = env.step(action)
    return float(reward)


def timed(work: Callable[[], Any]) -> float:
    """Return the seconds of some work."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def episodes(reference: Reference, env_id: str, category: str, *, step_ms: float, task_ms: float | None) -> None:
    """Print the times of the parts of an episode, over gold solutions of the bundled tasks."""
    env = made(env_id, category=category)
    gold = references(env, env.task_ids)
    times: dict[str, list[float]] = {name: [] for name in ("reset", "snapshot", "simulate", "step", "task")}
    for task_id, actions in gold.items():
        times["reset"].append(timed(lambda task_id=task_id: env.reset(options={"task_id": task_id})))
        for action in actions:
            times["snapshot"].append(timed(env.snapshot))
            token = env.snapshot()
            times["simulate"].append(timed(lambda token=token: env.simulate(token, "reply[Just a moment.]")))
            times["step"].append(timed(lambda action=action: env.step(action)))
        times["task"].append(timed(lambda task_id=task_id, actions=actions: played(env, task_id, actions)))
    reference.sample()
    for part, unit, scale, target in (
        ("reset", "ms", 1e3, None),
        ("snapshot", "us", 1e6, None),
        ("simulate", "ms", 1e3, None),
        ("step", "ms", 1e3, step_ms),
        ("task", "ms", 1e3, task_ms),
    ):
        value = scale * median(times[part])
        reference.figure(f"bundled_{category}_{part}_{unit}", value, unit, target=target, n=len(times[part]))


def copies(reference: Reference) -> None:
    """Print the time to copy one simulated object of the bundled worlds, which every call does."""
    env = made("IAD/BFCL-v0", category="multi_turn_long_context")
    times = []
    for task_id in env.task_ids[:60]:
        env.reset(options={"task_id": task_id})
        for instance in env._now.state.turns[-1].state.instances.values():
            times += [timed(lambda instance=instance: copied(instance)) for _ in range(5)]
    reference.sample()
    reference.figure("bundled_copy_ms", 1e3 * median(times), "ms", target=0.005, n=len(times))


def checks_beside_official(reference: Reference, folder: Path, category: str) -> None:
    """Print the time of a task's gold through the environment beside that of the official check, alternating.

    The official check runs gold as well. The environment does so the first time that a task is played (`first_task`).
    """
    env = made("IAD/BFCL-v0", data_dir=folder, category=category, scoring="official")
    official = official_check(folder, category)
    task_ids = list(env.task_ids)[:N_TASKS]
    gold = references(env, task_ids)
    first, ours, theirs, steps = [], [], [], []
    for task_id, actions in gold.items():
        env._judges.clear()  # then gold is run as well, as the official check does each time
        first.append(timed(lambda task_id=task_id, actions=actions: played(env, task_id, actions)))
        if official is not None:
            theirs.append(timed(lambda task_id=task_id: official(task_id)))
        ours.append(timed(lambda task_id=task_id, actions=actions: played(env, task_id, actions)))
        env.reset(options={"task_id": task_id})
        for action in actions:
            steps.append(timed(lambda action=action: env.step(action)))
    reference.sample()
    for name, times in (("first_task", first), ("task", ours)):
        value = 1e3 * median(times)
        ratio = value / RECORDED_CHECK_MS[category]
        if theirs:
            ratio = median(one / other for one, other in zip(times, theirs, strict=True))
        figure(
            f"official_{category}_{name}_ms",
            value,
            "ms",
            baseline=1e3 * median(theirs) if theirs else "recorded",
            ratio=ratio,
            ratio_target=1.0,
            n=len(times),
        )
    reference.figure(f"official_{category}_step_ms", 1e3 * median(steps), "ms", target=0.5, n=len(steps))


def official_check(folder: Path, category: str) -> Callable[[str], Any] | None:
    """Return the official check of a task's gold, or None if the package is not here."""
    try:
        from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker
    except ImportError:
        return None
    lines = (folder / "data" / f"BFCL_v4_{category}.json").read_text(encoding="utf-8").splitlines()
    entries = {entry["id"]: entry for entry in map(json.loads, filter(None, lines))}
    tasks = OfficialFiles(folder).conversations(category)

    def check(task_id: str) -> Any:
        gold = [list(turn) for turn in tasks[task_id].gold]
        answer = [[turn] for turn in gold]
        with redirect_stdout(StringIO()):
            # It keeps its objects for each model's name and task, so each check has a name of its own.
            return multi_turn_checker(answer, gold, entries[task_id], category, f"gold{next(_NUMBERS)}")

    return check


def single_answers(reference: Reference, bfcl: Path, acebench: Path) -> None:
    """Print the time to read, check and score one answer through the environment."""
    for env_id, folder, rows in (
        ("IAD/BFCL-v0", bfcl, RECORDED_ANSWER_MS["bfcl"]),
        ("IAD/ACEBench-v0", acebench, RECORDED_ANSWER_MS["acebench"]),
    ):
        for category, recorded in rows:
            env = made(env_id, data_dir=folder, category=category, scoring="official")
            times = []
            for task_id, (action,) in references(env, list(env.task_ids)[:200]).items():
                env.reset(options={"task_id": task_id})
                times.append(timed(lambda action=action, env=env: env.step(action)))
            reference.sample()
            value = 1e3 * median(times)
            target = 0.15 if env_id == "IAD/BFCL-v0" else 0.5
            reference.figure(f"official_{category}_answer_ms", value, "ms", target=target, n=len(times))
            if recorded is not None:
                ratio = value / recorded
                figure(f"official_{category}_to_original_ms", value, "ms", baseline="recorded", ratio=ratio)


def main() -> None:
    reference = Reference()
    reference.sample()
    reference.figure("load_ms", in_fresh_process(START, before_each=reference.sample)["load_ms"], "ms", n=5)
    episodes(reference, "IAD/BFCL-v0", "multi_turn", step_ms=0.15, task_ms=1.0)
    episodes(reference, "IAD/ACEBench-v0", "agent_multi_step", step_ms=0.2, task_ms=None)
    copies(reference)
    given = os.environ.get("IAD_REAL_DATA")
    if not given:
        print("IAD_REAL_DATA is not set: no official tasks", file=sys.stderr)
        return
    bfcl = Path(given) / "bfcl" / "bfcl_eval"
    for category in RECORDED_CHECK_MS:
        checks_beside_official(reference, bfcl, category)
    single_answers(reference, bfcl, Path(given) / "acebench")


if __name__ == "__main__":
    main()

"""Measures IAD/InterCodeBash-v0: speed compared with the original, memory, and the bundled tasks.

The original's times were recorded with its unmodified code, the docker SDK and podman's socket, on a loaded machine.
"""

import statistics
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
from reference import Reference
from support.bundled import bundled_tasks
from support.figures import figure, in_fresh_process, timed

import iad_envs
from iad_envs.bash.sandbox import open_sandbox
from iad_policy.registry.domain import SMALL_MODEL

# Median milliseconds of the original with containers, on the machine where the targets were set.
RECORDED_MS = {"create": 9700.0, "reset": 219.0, "step": 225.0, "submit": 1100.0}
RECORDED_MS["episode"] = sum(RECORDED_MS[name] for name in ("reset", "step", "submit"))
DATA = Path(iad_envs.__file__).parent.parent / "data" / "intercode"
N_SANDBOXES = 32
CANDIDATE = "mkdir -p /tmp/d && echo x >> /tmp/d/f"

MANY = """
import glob, os
from iad_envs.bash.sandbox import open_sandbox
def used_mb():
    total, todo = 0, [os.getpid()]
    while todo:
        pid = todo.pop()
        try:
            todo += [int(p) for f in glob.glob(f"/proc/{pid}/task/*/children") for p in open(f).read().split()]
            lines = open(f"/proc/{pid}/smaps_rollup").read().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024
before = used_mb()
boxes = [open_sandbox() for _ in range(int(sys.argv[1]))]
for box in boxes:
    box.run("true")
print(json.dumps({"mb": used_mb() - before}))
"""


def sandbox_figures(n: int, reference: Reference) -> None:
    create: list[float] = []
    for _ in range(12):
        reference.sample()
        start = time.perf_counter()
        sandbox = open_sandbox(setup=DATA / "fs_1.tar")
        sandbox.run("true")
        create.append((time.perf_counter() - start) * 1000)
        sandbox.close()
    reference.figure("create_ms", statistics.median(create), "ms", target=50, n=len(create))
    faster("create", statistics.median(create), len(create), reference)
    with open_sandbox(setup=DATA / "fs_1.tar") as sandbox:
        true_ms, reset_ms, bare, tried = [], [], [], []
        for place in range(n):
            if place % 10 == 0:
                reference.sample()
            true_ms.append(1e3 * timed(lambda: sandbox.run("true")))
            sandbox.write("/project/new.txt", b"x")
            reset_ms.append(1e3 * timed(sandbox.reset))
        token = sandbox.snapshot()
        for _ in range(n):
            sandbox.restore(token)
            bare.append(1e3 * timed(lambda: sandbox.run(CANDIDATE)))
            tried.append(1e3 * timed(lambda: _try_and_undo(sandbox, token)))
        reference.figure("true_ms", statistics.median(true_ms), "ms", target=12, n=n)
        reference.figure("sandbox_reset_ms", statistics.median(reset_ms), "ms", n=n)
        overhead = statistics.median(mine - command for mine, command in zip(tried, bare, strict=True))
        reference.figure("simulate_undo_overhead_ms", overhead, "ms", target=3, n=n)


def faster(name: str, ms: float, n: int, reference: Reference, *, target: float | None = None) -> None:
    """Print how many times faster this environment is than the original would be on this machine."""
    ratio = RECORDED_MS[name] * reference.slowness() / ms
    figure(f"{name}_ratio", ratio, "x", target=target, better="higher", baseline="recorded", ratio=ratio, n=n)


def _try_and_undo(sandbox: Any, token: Any) -> None:
    with sandbox.fork(token) as fork:
        fork.run(CANDIDATE)
        fork.diff(token)


def episode_figures(n: int, reference: Reference) -> None:
    env: Any = gym.make("IAD/InterCodeBash-v0", data_dir=DATA).unwrapped
    times: dict[str, list[float]] = {"reset": [], "step": [], "submit": [], "episode": []}
    task_ids = env.task_ids
    for task_id in task_ids[::9]:  # opens every sandbox
        env.reset(options={"task_id": task_id})
    for k in range(n):
        task_id = task_ids[k % len(task_ids)]
        if k % 10 == 0:
            reference.sample()
        reset = 1e3 * timed(lambda task_id=task_id: env.reset(options={"task_id": task_id}))
        gold = env.oracle(env.snapshot())["reference"]["gold"]
        step = 1e3 * timed(lambda gold=gold: env.step(gold))
        submit = 1e3 * timed(lambda: env.step("submit"))
        for name, value in (("reset", reset), ("step", step), ("submit", submit), ("episode", reset + step + submit)):
            times[name].append(value)
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name in ("reset", "step", "submit"):
        reference.figure(f"{name}_ms", medians[name], "ms", target=2 if name == "reset" else None, n=n)
        faster(name, medians[name], n, reference)
    faster("episode", medians["episode"], n, reference, target=15)
    env.close()


def main() -> None:
    reference = Reference()
    sandbox_figures(60, reference)
    episode_figures(83, reference)
    reference.report()
    figure("sandboxes_32_mb", in_fresh_process(MANY, N_SANDBOXES, n=1)["mb"], "MB", target=600, n=1)
    bundled_tasks("IAD/InterCodeBash-v0", "intercode", SMALL_MODEL, n_tasks=8)


if __name__ == "__main__":
    main()

"""Figures: measured, compared with a target, printed as one line of JSON each. Exit status is 0 whatever they say."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def show(
    metric: str,
    value: float,
    unit: str,
    *,
    target: float | None = None,
    better: str = "lower",
    baseline: float | str | None = None,
    ratio: float | None = None,
    n: int = 1,
) -> None:
    """Print a figure.

    Args:
        metric: Its name.
        value: As measured, a median unless the name says otherwise.
        unit: Of the value.
        target: What it is to reach; None for a figure as it is.
        better: `lower` or `higher`.
        baseline: What it is compared with, in the same unit, or `"recorded"` where the original can't run here.
        ratio: Baseline by value.
        n: How many measurements the value stands on.
    """
    meets = None if target is None else bool(value <= target if better == "lower" else value >= target)
    line = {
        "metric": metric,
        "value": round(value, 6),
        "unit": unit,
        "baseline": baseline,
        "ratio": None if ratio is None else round(ratio, 3),
        "target": target,
        "better": better,
        "meets": meets,
        "n": n,
    }
    print(json.dumps(line), flush=True)


def show_ratio(metric: str, recorded_ms: float, measured_s: Sequence[float], *, target: float) -> None:
    """Print how many times faster than a recorded time the median of ours is."""
    ratio = recorded_ms / (statistics.median(measured_s) * 1000)
    show(metric, ratio, "x", target=target, better="higher", baseline="recorded", ratio=ratio, n=len(measured_s))


def cpu_times(work: Callable[[], object], n: int) -> list[float]:
    """Return the CPU seconds of n runs."""
    found = []
    for _ in range(n):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return found


def in_fresh_process(code: str, *arguments: Any, n: int = 5) -> dict[str, float]:
    """Run code in fresh interpreters and return the median of each figure that it prints as one JSON object.

    The code finds `cpu_s()` (CPU seconds since the interpreter started), `rss_mb()` (peak resident memory) and
    `held_mb()` (resident memory now) defined.
    """
    prelude = (
        "import json, resource, sys, time\n"
        "def cpu_s(): return time.process_time()\n"
        "def rss_mb(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "def held_mb(): return int(open('/proc/self/statm').read().split()[1]) * resource.getpagesize() / 2**20\n"
    )
    command = [sys.executable, "-c", prelude + code, *map(str, arguments)]
    runs = []
    for _ in range(n):
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        runs.append(json.loads(done.stdout))
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}

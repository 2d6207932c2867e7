"""What all benchmarks share: `--full`, timing, code in new processes, and figures, each printed as a JSON line."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[2]
FULL = "--full" in sys.argv
PRELUDE = """
import json, resource, sys, time
def cpu_s(): return time.process_time()
def rss_mb(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def held_mb(): return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20
"""


def nothing(metric: str, why: str) -> None:
    """Print that a figure is not measured, and why."""
    print(json.dumps({"metric": metric, "value": None, "why": why}), flush=True)


def figure(
    metric: str,
    value: float,
    unit: str,
    *,
    n: int = 1,
    target: float | None = None,
    ratio_target: float | None = None,
    better: Literal["lower", "higher"] = "lower",
    baseline: float | str | None = None,
    ratio: float | None = None,
) -> None:
    """Print one figure. A time with a target goes through `reference.Reference.figure`, as machines differ.

    Args:
        metric: Name of the figure.
        value: Measured value.
        unit: Unit of value, target and baseline.
        n: Number of measurements whose median is the value, or number of cases.
        target: Target of the value, or None if it has none.
        ratio_target: Target of the ratio, instead of one of the value.
        better: Whether lower or higher values are better.
        baseline: The other system's value in the same run, or `"recorded"` if that system can't run here.
        ratio: Value divided by baseline. It is only needed with a recorded baseline.
    """
    if ratio is None and isinstance(baseline, int | float) and baseline:
        ratio = value / baseline
    reached = value
    if ratio_target is not None:
        if ratio is None:
            raise ValueError(f"expected a baseline or a ratio for {metric} with ratio_target, got neither; give one")
        reached, target = ratio, ratio_target
    meets = None if target is None else reached <= target if better == "lower" else reached >= target
    line = {
        "metric": metric,
        "value": _rounded(value),
        "unit": unit,
        "baseline": baseline if baseline is None or isinstance(baseline, str) else _rounded(baseline),
        "ratio": None if ratio is None else _rounded(ratio),
        "target": None if target is None else _rounded(target),
        "better": better,
        "meets": meets,
        "n": n,
    }
    print(json.dumps(line), flush=True)


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def timed(work: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Return the seconds of some work."""
    start = clock()
    work()
    return clock() - start


def in_fresh_process(
    code: str, *arguments: Any, n: int = 5, before_each: Callable[[], object] = lambda: None
) -> dict[str, float]:
    """Run code in fresh interpreters and return the median of each figure that it prints as one JSON object.

    The code finds `cpu_s()` (CPU seconds since the interpreter started), `rss_mb()` (peak resident memory) and
    `held_mb()` (resident memory now) defined.

    Args:
        code: Python code.
        arguments: Command-line arguments of the code.
        n: Number of interpreters, which run one after the other.
        before_each: Function to call in this process before each run, such as `Reference.sample`.
    """
    command = [sys.executable, "-c", PRELUDE + code, *map(str, arguments)]
    runs = []
    for _ in range(n):
        before_each()
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        runs.append(json.loads(done.stdout))
    return {name: median(run[name] for run in runs) for name in runs[0]}

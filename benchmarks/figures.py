"""Measures in new processes and prints figures: one JSON line per figure, whatever its value."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any, Literal

ROOT = Path(__file__).resolve().parent.parent
PRELUDE = """
import json, resource, sys, time
def cpu_s(): return time.process_time()
def rss_mb(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def held_mb(): return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20
"""


def figure(
    metric: str,
    value: float,
    unit: str,
    *,
    n: int = 1,
    target: float | None = None,
    better: Literal["lower", "higher"] = "lower",
    baseline: float | str | None = None,
    ratio: float | None = None,
) -> None:
    """Print one figure.

    Args:
        metric: Name of the figure.
        value: The measured value.
        unit: Unit of value, target and baseline.
        n: Number of measurements of which the value is the median, or number of cases it was measured on.
        target: Value to reach. None for a figure without a target.
        better: Whether lower or higher values are better.
        baseline: The same figure of the system we compare with, measured in the same run. `"recorded"` if that system
            can't run here.
        ratio: Value divided by baseline. It is needed only for a recorded baseline.
    """
    meets = None if target is None else value <= target if better == "lower" else value >= target
    if ratio is None and isinstance(baseline, int | float) and baseline:
        ratio = value / baseline
    line = {
        "metric": metric,
        "value": _rounded(value),
        "unit": unit,
        "baseline": baseline if baseline is None or isinstance(baseline, str) else _rounded(baseline),
        "ratio": None if ratio is None else _rounded(ratio),
        "target": target,
        "better": better,
        "meets": meets,
        "n": n,
    }
    print(json.dumps(line), flush=True)


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def in_fresh_process(code: str, *arguments: Any, n: int = 5) -> dict[str, float]:
    """Run code in new interpreters, and return the median of each figure that it prints as one JSON object.

    The code can call `cpu_s()` (CPU seconds since the interpreter started), `rss_mb()` (peak resident memory) and
    `held_mb()` (current resident memory).
    """
    command = [sys.executable, "-c", PRELUDE + code, *map(str, arguments)]
    runs = []
    for _ in range(n):
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        runs.append(json.loads(done.stdout))
    return {name: median(run[name] for run in runs) for name in runs[0]}

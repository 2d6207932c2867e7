"""How the benchmarks print: one JSON line per figure, whatever it says."""

import json
from typing import Literal


def figure(
    metric: str,
    value: float,
    unit: str,
    *,
    n: int,
    target: float | None = None,
    better: Literal["lower", "higher"] = "lower",
    baseline: float | str | None = None,
) -> None:
    """Print one figure.

    Args:
        metric: Its name.
        value: As measured.
        unit: Of value, target and baseline.
        n: How many measurements the value is the median of, or how many cases it was measured on.
        target: What it should reach; None for a figure that has no target.
        better: Which way is better.
        baseline: The same of what we compare with, measured in the same run; `"recorded"` where that can't run here.
    """
    meets = None if target is None else value <= target if better == "lower" else value >= target
    ratio = value / baseline if isinstance(baseline, int | float) and baseline else None
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

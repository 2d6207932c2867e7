"""What this process may use of the machine: cores and memory, as its affinity and its control group allow."""

import os
from contextlib import suppress
from math import ceil
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")


def n_cores(cgroups: Path = CGROUPS) -> int:
    """Return the number of cores that this process may use."""
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = (cgroups / "cpu.max").read_text().split()
        if quota != "max":
            n = min(n, ceil(int(quota) / int(period)))
    with suppress(OSError, ValueError):
        quota_us, period_us = (
            int((cgroups / "cpu" / f"cpu.cfs_{part}_us").read_text()) for part in ("quota", "period")
        )
        if quota_us > 0:
            n = min(n, ceil(quota_us / period_us))
    return max(1, n)


def free_bytes(cgroups: Path = CGROUPS, meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Return the memory that is free for this process, or None where the system does not say."""
    found = []
    with suppress(OSError, ValueError, IndexError):
        (line,) = (line for line in meminfo.read_text().splitlines() if line.startswith("MemAvailable:"))
        found.append(int(line.split()[1]) * 1024)
    for limit, used in (
        (cgroups / "memory.max", cgroups / "memory.current"),
        (cgroups / "memory" / "memory.limit_in_bytes", cgroups / "memory" / "memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):  # "max" is no number
            found.append(int(limit.read_text()) - int(used.read_text()))
    return min(found, default=None)

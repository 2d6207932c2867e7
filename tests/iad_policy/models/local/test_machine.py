"""Cores and memory that a process may use, on made-up control groups."""

import os
from pathlib import Path

import pytest

from iad_policy.models.local.machine import free_bytes, n_cores

ALLOWED = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def tree(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


@pytest.mark.parametrize(
    ("quota", "n"), [("max 100000", ALLOWED), ("100000 100000", 1), ("50000 100000", 1), ("9900000 100000", ALLOWED)]
)
def test_threads_are_what_affinity_and_quota_allow(tmp_path: Path, quota: str, n: int) -> None:
    assert n_cores(tree(tmp_path, cpu_DOT_max=quota)) == n
    allowed, period = quota.replace("max", "-1").split()
    older = {"cpu__cpu_DOT_cfs_quota_us": allowed, "cpu__cpu_DOT_cfs_period_us": period}
    assert n_cores(tree(tmp_path / "older", **older)) == n


def test_free_memory_is_the_least_of_all_limits(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000 kB\nMemAvailable:    2000 kB\n")
    assert free_bytes(tmp_path / "none", meminfo) == 2000 * 1024
    limited = tree(tmp_path / "two", memory_DOT_max="1000000", memory_DOT_current="400000")
    assert free_bytes(limited, meminfo) == 600_000
    unlimited = tree(tmp_path / "two", memory_DOT_max="max")
    assert free_bytes(unlimited, meminfo) == 2000 * 1024
    older = {"memory__memory_DOT_limit_in_bytes": "900000", "memory__memory_DOT_usage_in_bytes": "400000"}
    assert free_bytes(tree(tmp_path / "one", **older), meminfo) == 500_000
    assert free_bytes(tmp_path / "none", tmp_path / "nothing") is None

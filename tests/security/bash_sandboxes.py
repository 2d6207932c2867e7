"""Sandboxes of root and of an ordinary user, and what the tests ask of the host."""

import os
import select
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from iad_envs.bash.sandbox import Sandbox, SandboxLimits, open_sandbox

ROOT = Path(__file__).resolve().parents[2]
AS_NOBODY = (
    sys.executable, "-I", "-S", str(ROOT / "tests/security/as_nobody.py"),
    ":".join((sys.base_prefix, sys.prefix, str(ROOT))), sys.executable,
)  # fmt: skip

SMALL = SandboxLimits(processes=24, memory_mb=128, disk_mb=8, inodes=500, time_s=20.0)
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="the tests don't run as root")
USERS = [pytest.param("root", marks=AS_ROOT), "nobody"]
ONE_USER = pytest.mark.parametrize(
    "user", ["nobody", pytest.param("root", marks=[AS_ROOT, pytest.mark.slow])], indirect=True
)
"""For what does not depend on who starts the sandbox."""


@contextmanager
def sandbox_of(user: str, *, limits: SandboxLimits | None = None, **options: Any) -> Iterator[Sandbox]:
    """An embedded sandbox started by root, or by an ordinary user."""
    launch = AS_NOBODY if user == "nobody" else ()
    with open_sandbox("embedded", limits=limits, launch=launch, **options) as sandbox:
        yield cast(Sandbox, sandbox)


def outside(command: str) -> subprocess.CompletedProcess[str]:
    """The same shell command on the host. For harmless ones only."""
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=20, check=False)


def children(pid: int) -> set[int]:
    """Every process that descends from one, in whatever namespace."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            found.add(child)
            waiting.append(child)
    return found


def still_there(pids: Iterable[int], *, within_s: float = 10.0) -> set[int]:
    """The processes that have not ended after a while."""
    left = set()
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        if not select.select([descriptor], [], [], within_s)[0]:
            left.add(pid)
        os.close(descriptor)
    return left


def groups() -> set[str]:
    return {str(path) for path in Path("/sys/fs/cgroup").rglob("iad-sandbox-*")}


def mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()

"""Checks the default sandbox of `IAD/InterCodeBash-v0`, which needs only the Linux kernel."""

import sys
import time
from pathlib import Path

from iad_envs.requirements import Missing, Requirement

SETTINGS = {
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
    "user.max_user_namespaces": ("0", "9999"),
}
"""Kernel settings that can forbid namespaces: the forbidding value, and a value that allows them."""


def forbidding(root: Path = Path("/proc/sys")) -> list[str]:
    """Return the kernel settings that must be changed, as `name=value`."""
    found = []
    for name, (bad, good) in SETTINGS.items():
        file = root / name.replace(".", "/")
        if file.is_file() and file.read_text().strip() == bad:
            found.append(f"{name}={good}")
    return found


def _sandbox(limit_s: float) -> str:
    from iad_envs.bash.sandbox import SandboxUnavailable, open_sandbox

    if sys.platform != "linux":
        raise Missing({}, "needs Linux; backend='docker' runs elsewhere")
    began = time.monotonic()
    try:
        with open_sandbox() as sandbox:
            done = sandbox.run("true", timeout_s=limit_s)
            memory = sandbox.capabilities.limits["memory"]
    except SandboxUnavailable as error:
        settings = forbidding()
        if settings:
            raise Missing({"root": f"sysctl -w {' '.join(settings)}"}, "this kernel forbids user namespaces") from error
        raise
    if done.exit_code or done.timed_out:
        raise RuntimeError(f"`true` ended with status {done.exit_code} in it: {done.output.strip()}")
    return f"embedded; runs a command in {time.monotonic() - began:.1f} s; memory: {memory}"


SANDBOX = Requirement("sandbox", _sandbox)

"""Checks the sandboxes of `IAD/InterCodeBash-v0`: the default one, which needs only Linux, and a Docker-like engine."""

import os
import shutil
import socket
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from iad_envs.requirements import Missing, Requirement


def forbidding(root: Path = Path("/proc/sys")) -> list[str]:
    """Return the kernel settings that must be changed, as `name=value`, so that namespaces are allowed."""
    found = []
    for name, bad, good in (
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("user.max_user_namespaces", "0", "9999"),
    ):
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


def without_sdk(limit_s: float) -> Missing | None:
    """Return the problem with the engine at the default socket. None if it answers or uses another socket."""
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not (host.startswith("unix://") and hasattr(socket, "AF_UNIX")):
        return None
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(limit_s)
            line.connect(host.removeprefix("unix://"))
            line.sendall(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n")
            if b"200" in line.recv(64):
                return None
            return Missing({}, f"the service at {host} is not an engine")
    except TimeoutError:
        return Missing({}, f"the engine at {host} does not answer within {limit_s:g} s; start it again")
    except PermissionError:
        return Missing({"root": "usermod -aG docker $USER"}, f"you may not use {host}; log in again after")
    except OSError:
        if "DOCKER_HOST" in os.environ:
            return Missing({}, f"no engine answers at DOCKER_HOST={host}; start it, or unset DOCKER_HOST")
        start: Mapping[str, str] = {}
        if sys.platform == "darwin":
            start = {"command": "open -a Docker"} if Path("/Applications/Docker.app").is_dir() else {}
        elif shutil.which("dockerd"):
            has_systemd = Path("/run/systemd/system").is_dir()
            start = {"root": "systemctl start docker" if has_systemd else "service docker start"}
        engine = {"apt-get": "docker.io", "dnf": "moby-engine", "pacman": "docker", "zypper": "docker"}
        return Missing(start or {**engine, "brew --cask": "docker-desktop"}, "no engine")


def _docker(limit_s: float) -> str:
    from iad_envs.bash.docker import IMAGE, connect
    from iad_envs.bash.sandbox import SandboxUnavailable

    wrong = without_sdk(limit_s / 2)
    if find_spec("docker") is None:
        reason = ", ".join(text for text in ("no package", str(wrong or "")) if text)
        raise Missing({"extra": "docker", **(wrong.install if wrong else {})}, reason)
    if wrong:
        raise wrong
    try:
        client = connect(timeout=limit_s / 2)
    except SandboxUnavailable as error:
        if type(error.__cause__).__name__ == "ImageNotFound":
            raise Missing({"command": f"docker pull {IMAGE}"}, f"the engine has no image {IMAGE}") from error
        raise
    try:
        return f"engine {client.version()['Version']}, image {IMAGE}"
    finally:
        client.close()


SANDBOX = Requirement("sandbox", _sandbox)
DOCKER = Requirement("Docker", _docker, "InterCodeBash's backend='docker'")

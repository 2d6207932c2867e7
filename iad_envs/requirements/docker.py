"""Checks a Docker-compatible engine, the alternative sandbox backend of `IAD/InterCodeBash-v0`."""

import os
import shutil
import socket
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from iad_envs.requirements import Missing, Requirement

SOCKET = "/var/run/docker.sock"
ENGINE = {
    "apt-get": "docker.io",
    "dnf": "moby-engine",
    "pacman": "docker",
    "zypper": "docker",
    "brew --cask": "docker-desktop",
}


def starting(platform: str = sys.platform, systemd: Path = Path("/run/systemd/system")) -> Mapping[str, str]:
    """Return the command that starts the installed engine, or nothing if no engine is installed."""
    if platform == "darwin":
        return {"command": "open -a Docker"} if Path("/Applications/Docker.app").is_dir() else {}
    if shutil.which("dockerd") is None:
        return {}
    return {"root": "systemctl start docker" if systemd.is_dir() else "service docker start"}


def without_sdk(limit_s: float) -> Missing | None:
    """Return the problem with the engine at the default socket. None if it answers or uses another socket."""
    host = os.environ.get("DOCKER_HOST", f"unix://{SOCKET}")
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
        return Missing(starting() or ENGINE, "no engine")


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


DOCKER = Requirement("Docker", _docker, "InterCodeBash's backend='docker'")

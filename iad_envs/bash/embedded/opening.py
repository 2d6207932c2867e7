"""Opens embedded sandboxes: selects hidden paths and caches start states per process."""

import os
import site
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from iad_envs.bash.embedded.client import EmbeddedSandbox, SupervisorClient
from iad_envs.bash.embedded.connection import PACKAGE, LauncherClient, launcher, unavailable
from iad_envs.bash.sandbox import FrozenState, SandboxError, SandboxLimits, Setup
from iad_envs.bash.setup import digest, unpack


def hidden_paths(
    package: Path = PACKAGE, prefix: str = sys.prefix, environment: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """Return host paths under /usr that must appear empty because they may contain tasks and answers.

    Args:
        package: Folder of this package. Its checkout is hidden too.
        prefix: Installation prefix of the interpreter's packages.
        environment: Environment variables, which may name data folders.
    """
    places = {*site.getsitepackages(), site.getusersitepackages(), *sysconfig.get_paths().values(), str(package)}
    places |= {environment[name] for name in ("IAD_DATA", "IAD_REAL_DATA", "IAD_VECTORS") if name in environment}
    if (package.parent / "pyproject.toml").is_file():
        places.add(str(package.parent))
    if prefix not in ("/usr", "/usr/local"):
        places.add(prefix)
    standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    real = {os.path.realpath(place) for place in places - standard}
    programs = {"/usr", "/usr/bin", "/usr/include"}
    return tuple(sorted(place for place in real - programs if place.startswith(("/usr/", "/lib"))))


def open_embedded(
    *, setup: Setup = (), limits: SandboxLimits, hide: Sequence[str | Path] = (), launch: Sequence[str] = ()
) -> EmbeddedSandbox:
    """Open an embedded sandbox.

    Args:
        setup: Scripts or archive that create the start state. It is created once per process and shared.
        limits: Resource limits of commands.
        hide: Further host paths under /usr that must appear empty, in addition to packages and data.
        launch: Command that starts this Python interpreter in another way, for example as another user.

    Raises:
        SandboxUnavailable: This machine does not allow such sandboxes. The error text says how to fix it.
    """
    if sys.platform != "linux":
        raise unavailable(f"the system {sys.platform}")
    masked = tuple(sorted({*hidden_paths(), *(os.path.realpath(path) for path in hide)}))
    host = launcher(masked, tuple(launch))
    try:
        return _open(host, _template(host, setup, limits), limits)
    except SandboxError:
        if host.usable:
            raise
    host = launcher(masked, tuple(launch))  # the first one was killed meanwhile
    return _open(host, _template(host, setup, limits), limits)


def _open(host: LauncherClient, start: list[str], limits: SandboxLimits, *, template: str = "") -> EmbeddedSandbox:
    supervisor = SupervisorClient(host, start, limits, template=template)
    first = FrozenState(0, owner=supervisor.released, key=0)
    return EmbeddedSandbox(supervisor, supervisor.first_root, supervisor.first_runner, start=first, is_fork=False)


def _template(host: LauncherClient, setup: Setup, limits: SandboxLimits) -> list[str]:
    """Return the layers of a start state. They are created on first use in this process."""
    if not setup:
        return []
    key = digest(setup)
    with host.templates_lock:
        if key not in host.templates:
            place = f"/layers/{next(host.template_numbers)}"  # it outlives its sandbox
            with _open(host, [], limits, template=place) as builder:
                unpack(builder, setup)
            host.templates[key] = [place]
    return host.templates[key]

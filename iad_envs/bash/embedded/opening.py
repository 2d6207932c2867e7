"""Opening an embedded sandbox: what it hides, and start states made once per process."""

import os
import site
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from iad_envs.bash.embedded.client import Body, EmbeddedSandbox
from iad_envs.bash.embedded.connection import PACKAGE, LauncherClient, launcher, require_linux
from iad_envs.bash.sandbox import FrozenState, SandboxLimits, Setup
from iad_envs.bash.setup import digest, unpack

PROGRAMS = {"/usr", "/usr/bin", "/usr/include"}


def hidden_paths(
    package: Path = PACKAGE, prefix: str = sys.prefix, environment: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """Host paths under /usr that may hold tasks and their answers, and so must read as empty.

    Args:
        package: Where this package is; its checkout is hidden too.
        prefix: Where the interpreter's packages are installed.
        environment: Whose variables name data folders.
    """
    places = {*site.getsitepackages(), site.getusersitepackages(), *sysconfig.get_paths().values(), str(package)}
    places |= {environment[name] for name in ("IAD_DATA", "IAD_REAL_DATA", "IAD_VECTORS") if name in environment}
    if (package.parent / "pyproject.toml").is_file():
        places.add(str(package.parent))
    if prefix not in ("/usr", "/usr/local"):
        places.add(prefix)
    standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    real = {os.path.realpath(place) for place in places - standard}
    return tuple(sorted(place for place in real - PROGRAMS if place.startswith(("/usr/", "/lib"))))


def open_embedded(
    *, setup: Setup = (), limits: SandboxLimits, hide: Sequence[str | Path] = (), launch: Sequence[str] = ()
) -> EmbeddedSandbox:
    """Open an embedded sandbox.

    Args:
        setup: How the start state is made; made once per process and shared.
        limits: What commands may use.
        hide: Host paths under /usr that must read as empty, beside packages and data.
        launch: A command that starts this Python interpreter in another way, such as one of another user.

    Raises:
        SandboxUnavailable: This machine does not allow it; the message says what to do.
    """
    require_linux()
    masked = tuple(sorted({*hidden_paths(), *(os.path.realpath(path) for path in hide)}))
    host = launcher(masked, tuple(launch))
    return _open(host, _template(host, setup, limits), limits)


def _open(host: LauncherClient, start: list[str], limits: SandboxLimits, *, template: str = "") -> EmbeddedSandbox:
    body = Body(host, start, limits, template=template)
    first = FrozenState(0, owner=body.drops, key=0)
    return EmbeddedSandbox(body, body.first_root, body.first_cell, start=first, owner=True)


def _template(host: LauncherClient, setup: Setup, limits: SandboxLimits) -> list[str]:
    """The layers of a start state, made if this process has not made them yet."""
    if not isinstance(setup, Path) and not setup:
        return []
    key = digest(setup)
    with host.templates_lock:
        if key not in host.templates:
            place = host.new_template()
            with _open(host, [], limits, template=place) as builder:
                unpack(builder, setup)
            host.templates[key] = [place]
    return host.templates[key]

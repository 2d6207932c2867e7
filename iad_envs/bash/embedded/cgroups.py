"""Limits on the total of a sandbox's processes, if control groups (version 1 or 2) are available."""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

PREFIX = "iad-sandbox"
SCOPE_VARIABLES = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""Environment variables by which systemd-run finds the user's systemd."""


class Controller(NamedTuple):
    """A control group controller that this process can use.

    Attributes:
        name: Name of the controller, `"pids"` or `"memory"`.
        version: Version of the hierarchy, 1 or 2.
        folder: Folder of this process's own group.
    """

    name: str
    version: int
    folder: str


class ControlGroup:
    """The control groups of one sandbox's commands.

    A command enters by itself. The processes that watch it stay outside, so that no lack of memory ends them.

    Args:
        controllers: The available controllers.
        name: Name of the groups, unique on this machine.
        processes: Maximum number of processes in the group.
        memory_bytes: Maximum memory of the group in bytes, including files in memory.

    Attributes:
        in_force: Which groups limit what, by controller.
        doors: Descriptors by which a process enters the groups, whatever it may do otherwise. See `enter`.
    """

    def __init__(self, controllers: list[Controller], name: str, *, processes: int, memory_bytes: int) -> None:
        self.in_force: dict[str, str] = {}
        self.doors: list[int] = []
        self._folders: dict[str, str] = {}
        for controller in controllers:
            folder = f"{controller.folder}/{name}"
            try:
                if not os.path.isdir(folder):
                    os.mkdir(folder)
                self._folders[controller.name] = folder
                if controller.name == "pids":
                    _write(f"{folder}/pids.max", str(processes))
                else:
                    limit = "memory.max" if controller.version == 2 else "memory.limit_in_bytes"
                    _write(f"{folder}/{limit}", str(memory_bytes))
                    with contextlib.suppress(OSError):  # version 1 and kernels without swap have no such limit
                        _write(f"{folder}/memory.swap.max", "0")
                if list(self._folders.values()).count(folder) == 1:
                    self.doors.append(os.open(f"{folder}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
                self.in_force[controller.name] = f"cgroup v{controller.version}"
            except OSError:
                continue  # rlimits apply in any case; `in_force` lists the groups that apply too

    def killed_for_memory(self) -> int:
        """Number of processes that the kernel has killed because memory ran out."""
        folder = self._folders.get("memory", "")
        for name in ("memory.events", "memory.oom_control"):
            try:
                with open(f"{folder}/{name}", encoding="ascii") as file:
                    counts = dict(line.split() for line in file)
                return int(counts.get("oom_kill", 0))
            except OSError:
                continue
        return 0

    def close(self) -> None:
        """Close this process's descriptors of the groups."""
        while self.doors:
            os.close(self.doors.pop())

    def remove(self) -> None:
        """Remove the groups. Their processes must have ended."""
        self.close()
        for folder in set(self._folders.values()):
            _remove(folder)
        self._folders.clear()


def enter(doors: list[int]) -> None:
    """Move this process into groups."""
    for door in doors:
        os.write(door, b"0")


def scope(
    environment: Mapping[str, str],
    *,
    user: int | None = None,
    run: str = "/run",
    which: Callable[[str], str | None] = shutil.which,
) -> tuple[str, ...]:
    """Return the words before a command with which systemd starts it in a group of its own that it may divide.

    Empty where no systemd offers that. An ordinary user has no other group with limits. With version 2, root has none
    either, because a group that has processes can't be divided.

    Args:
        environment: Environment variables of the process.
        user: User id, by default that of this process.
        run: Folder of the system's sockets.
        which: Function that finds a program by name.
    """
    is_root = (os.geteuid() if user is None else user) == 0
    place = run if is_root else environment.get("XDG_RUNTIME_DIR", "")
    program = which("systemd-run")
    if not program or not place or not os.path.exists(f"{place}/systemd/private"):
        return ()
    words = ("--scope", "--quiet", "--collect", "--property=Delegate=yes", "--")
    return (program, *words) if is_root else (program, "--user", *words)


def controllers(proc: str = "/proc/self") -> list[Controller]:
    """Return the controllers that this process can create groups for.

    Args:
        proc: Folder of this process in the process file system.
    """
    found = []
    mounts: dict[str, str] = {}  # of each controller of version 1, and of the version 2 hierarchy under the name ""
    with open(f"{proc}/mounts", encoding="utf-8") as file:
        for line in file:
            _, place, kind, options, *_ = line.split(" ")
            if kind == "cgroup2":
                mounts[""] = place
            elif kind == "cgroup":
                mounts.update({name: place for name in ("pids", "memory") if name in options.split(",")})
    with open(f"{proc}/cgroup", encoding="utf-8") as file:
        for line in file:
            _, names, path = line.rstrip("\n").split(":", 2)
            for name in ("pids", "memory"):
                version = 1 if name in names.split(",") else 2
                if version == 2 and names:
                    continue
                place = mounts.get(name if version == 1 else "", "")
                folder = f"{place}{path}".rstrip("/") if place else ""
                if place and not os.path.isdir(folder):
                    folder = place  # in a namespace or a container, its own group is shown as the top
                if folder and _usable(folder, name, version):
                    found.append(Controller(name, version, folder))
    return found


def sweep(available: list[Controller]) -> None:
    """Remove groups left behind by killed processes."""
    for folder in {controller.folder for controller in available}:
        for name in os.listdir(folder):
            parts = name.split("-")
            if name.startswith(PREFIX) and len(parts) == 4 and not os.path.exists(f"/proc/{parts[2]}"):
                _remove(f"{folder}/{name}", tries=1)


def _usable(folder: str, name: str, version: int) -> bool:
    """Return whether groups with a controller can be created in a folder, which is divided for it if need be."""
    if not os.access(folder, os.W_OK):
        return False
    if version == 1:
        return True
    try:
        with open(f"{folder}/cgroup.controllers", encoding="ascii") as file:
            if name not in file.read().split():
                return False
        with contextlib.suppress(OSError):
            _write(f"{folder}/cgroup.subtree_control", f"+{name}")
            return True
        # A group that has processes can't be divided. This process moves to one below its own, if it is alone in it.
        with open(f"{folder}/cgroup.procs", encoding="ascii") as file:
            if file.read().split() != [str(os.getpid())]:
                return False
        os.mkdir(f"{folder}/launcher")
        _write(f"{folder}/launcher/cgroup.procs", str(os.getpid()))
        _write(f"{folder}/cgroup.subtree_control", f"+{name}")
    except OSError:
        return False
    return True


def _remove(folder: str, *, tries: int = 200) -> None:
    for _ in range(tries):
        try:
            os.rmdir(folder)
            return
        except FileNotFoundError:
            return
        except OSError:  # the kernel takes a moment to release ended processes
            time.sleep(0.01)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)

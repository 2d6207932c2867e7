"""The only process on the host: creates the namespaces, starts supervisors in them, and cleans up.

It is started from a bare interpreter. It ends when its parent ends, for whatever reason.
"""

import contextlib
import gc
import os
import resource
import select
import signal
import socket
import sys
from itertools import count
from typing import Any, NamedTuple, NoReturn

from iad_envs.bash.embedded import cgroups, rootfs, syscalls, wire
from iad_envs.bash.embedded.layers import most_in_layer, most_kept, new_layer
from iad_envs.bash.embedded.supervisor import ROOTS_AT_ONCE, Supervisor
from iad_envs.bash.embedded.syscalls import Clone, Control
from iad_envs.bash.embedded.usage import socket_bytes

SHIFTED_FROM, SHIFTED_COUNT = 100_000, 65_536


class Child(NamedTuple):
    """A running sandbox: process id of its supervisor, a descriptor that signals its end, and its control groups."""

    pid: int
    end: int
    group: cgroups.ControlGroup


class Launcher:
    """The main loop of the launcher.

    Args:
        user: Socket to the process that uses the sandboxes.
    """

    def __init__(self, user: socket.socket) -> None:
        self._user = user
        self._controllers = cgroups.controllers()
        self._children: dict[int, Child] = {}
        self._numbers = count(1)
        self._socket_bytes = socket_bytes()
        self._maps = ""
        self._namespaces: tuple[int, int] = (-1, -1)

    def main(self) -> NoReturn:
        """Serve until the user's process ends or closes the socket."""
        parent = os.pidfd_open(os.getppid())  # a process forked by the parent may hold the socket open
        while True:
            poll = select.poll()
            for descriptor in (parent, self._user.fileno(), *(child.end for child in self._children.values())):
                poll.register(descriptor, select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll()}
            for number, child in list(self._children.items()):
                if child.end in ready:
                    self._end(number)
            message = wire.receive(self._user) if self._user.fileno() in ready else None
            if message is not None:
                self._answer(message)
            elif parent in ready or self._user.fileno() in ready:
                for number in list(self._children):
                    self._end(number)
                os._exit(0)

    def _answer(self, message: wire.Message) -> None:
        request = dict(message.header)
        what = request.pop("do")
        try:
            if what == "prepare":
                answer = self._prepare(**request)
            elif what == "open":
                control, first = message.descriptors
                answer = self._open(control, first, **request)
            elif what == "close":
                self._end(request["sandbox"])
                answer = {}
            else:
                assert what == "killed_for_memory"
                child = self._children.get(request["sandbox"])
                answer = {"count": child.group.killed_for_memory() if child else 0}
        except OSError as error:
            answer = {"error": str(error)}
        for descriptor in message.descriptors:
            os.close(descriptor)
        wire.send(self._user, wire.Message(answer))

    def _prepare(self, masked: list[str]) -> dict[str, Any]:
        """Create the user namespace and the file tree that all sandboxes share."""
        cgroups.sweep(self._controllers)
        counts_memory = any(each.name == "memory" for each in self._controllers)
        mine, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            self._user.close()
            _make_namespaces(theirs, tuple(masked), counts_memory=counts_memory)
        theirs.close()
        with mine:
            self._expect(mine, pid)
            first, count = shifted_range()
            group = first
            if os.geteuid() != 0:
                group = os.getegid()
                with open(f"/proc/{pid}/setgroups", "w", encoding="ascii") as file:
                    file.write("deny")
            for name, start in (("uid_map", first), ("gid_map", group)):
                with open(f"/proc/{pid}/{name}", "w", encoding="ascii") as file:
                    file.write(f"0 {start} {count}")
            self._maps = f"0 0 {count}"
            wire.send(mine, wire.Message({}))
            answer = self._expect(mine, pid)
            os.waitpid(pid, 0)
        self._namespaces = (answer.descriptors[0], answer.descriptors[1])
        return {"ids": count}

    def _expect(self, stream: socket.socket, pid: int) -> wire.Message:
        answer = wire.receive(stream)
        if answer is None or "error" in answer.header:
            os.waitpid(pid, 0)
            raise OSError(answer.header["error"] if answer else "the process that makes namespaces has ended")
        return answer

    def _open(
        self, control: int, first: int, start: list[str], limits: dict[str, Any], template: str
    ) -> dict[str, Any]:
        """Start a supervisor.

        Args:
            control: The supervisor's end of its socket to the user.
            first: The first runner's end of its socket to the user.
            start: Layer folders of the start state.
            limits: Resource limits, by name.
            template: Folder for a layer that stays after the sandbox is closed. Empty for none.
        """
        number = next(self._numbers)
        go_read, go_write = os.pipe2(os.O_CLOEXEC)
        pid_read, pid_write = os.pipe2(os.O_CLOEXEC)
        name = f"{cgroups.PREFIX}-{os.getpid()}-{number}"
        processes = limits["processes"] * ROOTS_AT_ONCE
        memory = (limits["memory_mb"] << 20) + most_kept(limits) + most_in_layer(limits)
        group = cgroups.ControlGroup(self._controllers, name, processes=processes, memory_bytes=memory)
        limits = limits | {
            "socket_bytes": self._socket_bytes,
            "count_memory": "memory" not in group.in_force,
            "doors": group.doors,
        }
        between = os.fork()
        if between == 0:
            try:
                # Enter the namespaces, where no host folder exists, as a user that owns nothing on the host.
                self._user.close()
                for child in self._children.values():
                    os.close(child.end)
                syscalls.setns(self._namespaces[0], Clone.NEWUSER)
                syscalls.setns(self._namespaces[1], Clone.NEWNS)
                for namespace in self._namespaces:
                    os.close(namespace)
                _become_inner_root()
                if template:
                    new_layer(template, limits["disk_mb"] << 20, limits["inodes"])
                syscalls.unshare(Clone.NEWPID | Clone.NEWNS)
                pid = os.fork()
                if pid == 0:
                    os.read(go_read, 1)  # the launcher is the parent from now on
                    syscalls.prctl(Control.SET_PDEATHSIG, signal.SIGKILL)
                    self._become_supervisor(control, first, tuple(start), limits=limits, template=template)
                os.write(pid_write, str(pid).encode())
            except OSError as error:
                os.write(pid_write, f"error {error}".encode())
            finally:
                os._exit(0)
        os.close(pid_write)
        os.waitpid(between, 0)
        reported = os.read(pid_read, 4096).decode()
        os.close(pid_read)
        os.close(go_read)
        if not reported.isdigit():
            os.close(go_write)
            group.remove()
            raise OSError(reported.removeprefix("error ") or "the supervisor could not be started")
        pid = int(reported)
        group.close()
        os.write(go_write, b"go")
        os.close(go_write)
        self._children[number] = Child(pid, os.pidfd_open(pid), group)
        return {"sandbox": number, "cgroups": group.in_force}

    def _become_supervisor(
        self, control: int, first: int, start: tuple[str, ...], *, limits: dict[str, Any], template: str
    ) -> NoReturn:
        try:
            syscalls.prctl(Control.SET_DUMPABLE, 0)
            stream = socket.socket(fileno=control)
            try:
                Supervisor(stream, start, limits=limits, maps=self._maps).main(first, template)
            except BaseException as error:
                wire.send(stream, wire.Message({"error": f"{type(error).__name__}: {error}"}))
        finally:
            os._exit(1)

    def _end(self, number: int) -> None:
        """End a sandbox. Killing process 1 ends all its processes, and its mounts end with the mount namespace."""
        child = self._children.pop(number, None)
        if child is None:
            return
        os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)
        os.close(child.end)
        child.group.remove()


def shifted_range() -> tuple[int, int]:
    """Return the first host id and the number of ids that a sandbox's users map to. Never includes the host's root.

    Raises:
        OSError: This process is root in a namespace without other ids.
    """
    if os.geteuid() != 0:
        return os.geteuid(), 1
    with open("/proc/self/uid_map", encoding="ascii") as file:
        extents = [(int(line.split()[0]), int(line.split()[2])) for line in file]
    if any(first <= SHIFTED_FROM and first + count >= SHIFTED_FROM + SHIFTED_COUNT for first, count in extents):
        return SHIFTED_FROM, SHIFTED_COUNT
    extents = [(max(first, 1), min(first + count, 1 + SHIFTED_COUNT) - max(first, 1)) for first, count in extents]
    first, count = max(extents, key=lambda extent: extent[1])
    if count < 1:
        raise OSError("a user map with no id but root's")
    return first, count


def _make_namespaces(stream: socket.socket, masked: tuple[str, ...], *, counts_memory: bool) -> NoReturn:
    try:
        syscalls.unshare(Clone.NEWUSER)
        syscalls.prctl(Control.SET_DUMPABLE, 1)  # the launcher needs this to write this namespace's maps
        wire.send(stream, wire.Message({}))
        if wire.receive(stream) is None:
            os._exit(1)
        _become_inner_root()
        syscalls.unshare(Clone.NEWNS)
        flags = os.O_RDONLY | os.O_CLOEXEC
        namespaces = (os.open("/proc/self/ns/user", flags), os.open("/proc/self/ns/mnt", flags))
        rootfs.build_tree(masked, maps_zero=counts_memory)
        wire.send(stream, wire.Message({}, descriptors=namespaces))
    except BaseException as error:
        wire.send(stream, wire.Message({"error": str(error) or type(error).__name__}))
    finally:
        os._exit(0)


def _become_inner_root() -> None:
    os.setresgid(0, 0, 0)
    with contextlib.suppress(PermissionError):  # an ordinary user may not; the remaining groups own nothing here
        os.setgroups([])
    os.setresuid(0, 0, 0)


def main(descriptor: int) -> NoReturn:
    """Run the launcher in a bare interpreter, with a socket to the parent."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # terminal signals are for the parent, which then ends this process
    syscalls.hide_command_line()
    syscalls.set_name("iad-sandbox")
    syscalls.prctl(Control.SET_DUMPABLE, 0)
    syscalls.prctl(Control.SET_CHILD_SUBREAPER, 1)
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    most = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, hard))
    # While commands pass descriptors between them, the kernel refuses to pass any for a process with a lower limit.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.umask(0o022)
    sys.setswitchinterval(1.0)
    sys.setrecursionlimit(10_000)  # folders can be nested about 2,000 levels deep
    gc.disable()
    gc.freeze()  # so that forked processes share the current objects
    Launcher(socket.socket(fileno=descriptor)).main()

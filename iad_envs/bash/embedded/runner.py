"""Process 1 of a file-system root. It runs commands one at a time and ends the processes they leave behind.

It can't change mounts, because its user namespace is below the one that owns them. A command has even fewer privileges:
seven capabilities over files and processes of its own root, no way to gain more, and a system call filter.
"""

import contextlib
import os
import select
import signal
import socket
import time
from typing import Any, NoReturn

from iad_envs.bash.embedded import syscalls, wire
from iad_envs.bash.embedded.command import Command, Watch, start
from iad_envs.bash.embedded.seccomp import Filter
from iad_envs.bash.embedded.syscalls import Clone, Control, Mount
from iad_envs.bash.embedded.usage import CellUsage

KEPT_CAPABILITIES = sum(1 << number for number in (0, 1, 3, 4, 5, 6, 7))
"""Bit set of the capabilities chown, dac_override, fowner, fsetid, kill, setgid and setuid."""


class RootRunner:
    """The main loop of process 1.

    Args:
        control: Socket to the supervisor.
        proc: Mount point for this runner's process file system.
        limits: Resource limits of commands, by name.
    """

    def __init__(self, control: socket.socket, proc: str, limits: dict[str, Any]) -> None:
        self._control = control
        self._proc = proc
        self._limits = limits
        self._filter = Filter(shares_memory=not limits["count_memory"])
        self._usage = CellUsage(proc, limits["socket_bytes"])
        self._stragglers: set[int] = set()
        self._has_background = False

    def main(self) -> NoReturn:
        """Confine this process, wait for a root, then serve until the supervisor or the user disconnects."""
        syscalls.unshare(Clone.NEWNET | Clone.NEWIPC | Clone.NEWUTS | Clone.NEWCGROUP)
        socket.sethostname("sandbox")
        os.mkdir(self._proc)
        syscalls.mount("proc", self._proc, fstype="proc", flags=Mount.NOSUID | Mount.NODEV | Mount.NOEXEC)
        syscalls.bind(f"{self._proc}/sys", f"{self._proc}/sys", read_only=True)
        for name in ("cmdline", "keys", "key-users", "kcore", "kallsyms", "sysrq-trigger", "timer_list", "sched_debug"):
            if os.path.exists(f"{self._proc}/{name}"):
                syscalls.bind("/dev/null", f"{self._proc}/{name}")
        syscalls.unshare(Clone.NEWUSER)
        limit_objects(1)
        syscalls.prctl(Control.SET_DUMPABLE, 1)  # the supervisor needs this to write this namespace's map
        wire.send(self._control, wire.Message({"ready": True}))
        if wire.receive(self._control) is None:
            os._exit(0)
        syscalls.prctl(Control.SET_DUMPABLE, 0)
        syscalls.drop_bounding_set(KEPT_CAPABILITIES)
        syscalls.prctl(Control.SET_NO_NEW_PRIVS, 1)
        syscalls.set_name("init")
        wire.send(self._control, wire.Message({"ready": True}))
        given = wire.receive(self._control)
        if given is None:
            os._exit(0)
        self._root: str = given.header["root"]
        self._user = socket.socket(fileno=given.descriptors[0])
        tick = 0.0
        while True:
            poll = select.poll()
            for descriptor in (self._control.fileno(), self._user.fileno(), *self._stragglers):
                poll.register(descriptor, select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll(200 if self._has_background else None)}
            # Not only when nothing is ready: a background process that prints all the time must not go unwatched.
            if self._has_background and time.monotonic() >= tick:
                if self._over(0) or self._usage.background_s(self._processes()) > self._limits["cpu_s"]:
                    self._kill_all()
                tick = time.monotonic() + 0.2
            # The output of background processes is discarded, so that no full or closed pipe stops them.
            for descriptor in ready & self._stragglers:
                with contextlib.suppress(BlockingIOError):
                    if not os.read(descriptor, 1 << 16):
                        self._stragglers.discard(descriptor)
                        os.close(descriptor)
            for stream in (self._control, self._user):
                if stream.fileno() in ready:
                    message = wire.receive(stream)
                    if message is None:
                        os._exit(0)  # the kernel then kills every process of the namespace
                    is_command = stream is self._user
                    wire.send(stream, self._run(message) if is_command else wire.Message({"ended": self._kill_all()}))

    def _kill_all(self) -> int:
        """Kill all other processes of the namespace, and return their number."""
        count = self._reap(0)
        if count:
            with contextlib.suppress(ProcessLookupError):  # they have ended meanwhile
                os.kill(-1, signal.SIGKILL)
            while True:
                try:
                    os.waitpid(-1, 0)
                except ChildProcessError:
                    break
        for descriptor in self._stragglers:
            os.close(descriptor)
        self._stragglers.clear()
        self._has_background = False
        self._usage.forget()
        return count

    def _reap(self, watched: int) -> int:
        """Reap ended processes except the watched one. Return how many are left, the watched one included."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                break
            if ended is None or ended.si_pid == watched:
                break
            os.waitpid(ended.si_pid, 0)
        return len(self._processes())

    def _processes(self) -> list[str]:
        return [name for name in os.listdir(self._proc) if name.isdigit() and name != "1"]

    def _over(self, watched: int) -> bool:
        """Reap ended processes. Return whether the rest exceed the memory limit, unless a cgroup enforces it."""
        self._reap(watched)
        if not self._limits["count_memory"]:
            return False
        return self._usage.exceeds(self._limits["memory_mb"] << 20, self._processes())

    def _run(self, message: wire.Message) -> wire.Message:
        command = Command(**message.header, stdin=message.body)
        try:
            running = start(command, self._root, self._limits, self._filter)
        except OSError as error:
            text = f"sandbox: {error.strerror}; background processes may have used up a limit\n".encode()
            refused = {"exit_code": 126, "killed_by": "", "dropped": 0, "wall_s": 0.0, "cwd": command.cwd}
            return wire.Message(refused | {"oldpwd": command.oldpwd, "background": 0}, text)
        watch = Watch(running, command, self._limits)
        watch.until_end(self._over)
        if watch.killed_by:
            self._kill_all()
        header = watch.result()
        if watch.open_output is not None:
            self._stragglers.add(watch.open_output)
        header["background"] = self._reap(0)
        self._has_background = header["background"] > 0
        if self._has_background:
            self._usage.resume(self._processes())
        else:
            self._usage.forget()
        return wire.Message(header, watch.kept)


def limit_objects(factor: int) -> None:
    """Limit how many objects of the kernel the users of this process's user namespace may have.

    Args:
        factor: Number of roots that share the limit.
    """
    # How many of each object one user of a root may have. The host has them per user too.
    for name, most in (("max_inotify_instances", 8), ("max_inotify_watches", 1024)):
        with open(f"/proc/sys/user/{name}", "w", encoding="ascii") as file:
            file.write(str(most * factor))

"""Starts a command with few privileges, and watches it until it ends or exceeds a limit."""

import fcntl
import os
import resource
import select
import signal
import time
import warnings  # noqa: F401 (os.execvpe imports it, and after a change of root no module can be found)
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from iad_envs.bash.embedded import syscalls
from iad_envs.bash.embedded.cgroups import enter
from iad_envs.bash.embedded.seccomp import Filter
from iad_envs.bash.embedded.syscalls import Control

TICK_S = 0.1
SETUP_FD, REPORT_FD = 198, 199
MAX_REPORT = 16_384
SHELL = "/bin/bash"


class Command(NamedTuple):
    """A command as received from the client.

    Attributes:
        argv: Arguments of the command. If `shell` is True, a single text for bash.
        shell: Whether bash runs the command.
        cwd: Working directory.
        oldpwd: Previous working directory.
        timeout_s: Limit of the wall time in seconds.
        output_bytes: Number of output bytes to keep.
        stdin: Content of standard input.
    """

    argv: list[str]
    shell: bool
    cwd: str
    oldpwd: str
    timeout_s: float
    output_bytes: int
    stdin: bytes


class Running(NamedTuple):
    """A running command: its process, its output pipe, and the file for its final working directory."""

    pid: int
    output: int
    report: int


def start(command: Command, root: str, limits: dict[str, Any], calls: Filter) -> Running:
    """Start a command in a root.

    Raises:
        OSError: The limit of processes is reached.
    """
    stdin = _sealed("stdin", command.stdin, fcntl.F_SEAL_WRITE)
    # Bash reads this script before the command, so that the command needs no quoting and no wrapping.
    tell = f'trap \'printf "%s\\0%s\\0" "$PWD" "$OLDPWD" >&{REPORT_FD} 2>/dev/null\' EXIT'
    script = f"{tell}\nexec {SETUP_FD}<&-\nunset BASH_ENV\n"
    setup = _sealed("setup", script.encode(), fcntl.F_SEAL_WRITE)
    report = _sealed("report", bytes(MAX_REPORT))
    reading, writing = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(reading, False)
    try:
        pid = os.fork()
    except OSError:
        for descriptor in (stdin, report, setup, reading, writing):
            os.close(descriptor)
        raise
    if pid == 0:
        try:
            for old, new in ((stdin, 0), (writing, 1), (writing, 2), (setup, SETUP_FD), (report, REPORT_FD)):
                if new < SETUP_FD or command.shell:
                    os.dup2(old, new)
            _become(command, root, limits, calls)
        except BaseException as error:
            os.write(2, f"sandbox: {error}\n".encode())
            os._exit(127 if isinstance(error, FileNotFoundError) else 126)
    for descriptor in (stdin, setup, writing):
        os.close(descriptor)
    return Running(pid, reading, report)


def _sealed(name: str, content: bytes, seal: int = 0) -> int:
    """Return a file in memory that can't grow: no limit counts what a command writes to it."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    constant_size = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, constant_size | seal)
    return descriptor


def _become(command: Command, root: str, limits: dict[str, Any], calls: Filter) -> NoReturn:
    """Confine this process and replace it by the command."""
    enter(limits["doors"])
    os.setsid()
    syscalls.prctl(Control.SET_DUMPABLE, 1)  # otherwise the file belongs to the host's root
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")  # if memory runs out, the kernel must kill a command, not the process that watches it
    syscalls.prctl(Control.SET_DUMPABLE, 0)
    os.chroot(root)
    folder = command.cwd
    while True:  # the nearest folder that exists
        try:
            os.chdir(folder)
            break
        except OSError:
            if folder in ("", "/"):
                raise
            folder = os.path.dirname(folder)
    for what, amount in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, limits["memory_mb"] << 20),
        (resource.RLIMIT_FSIZE, 2 * limits["disk_mb"] << 20),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_CPU, max(1, min(limits["cpu_s"], int(command.timeout_s) + 2))),
        (resource.RLIMIT_MEMLOCK, 65_536),
        (resource.RLIMIT_MSGQUEUE, 0),  # the kernel counts these two per user of the host
        (resource.RLIMIT_SIGPENDING, 1024),
        (resource.RLIMIT_NICE, 0),
        (resource.RLIMIT_RTPRIO, 0),
    ):
        _, hard = resource.getrlimit(what)
        allowed = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(what, (allowed, allowed))
    environment = {"HOME": "/root", "LANG": "C.UTF-8", "LOGNAME": "root", "PWD": folder, "SHELL": SHELL, "TERM": "dumb",
                   "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "USER": "root"}  # fmt: skip
    if command.oldpwd:
        environment["OLDPWD"] = command.oldpwd
    argv = command.argv
    if command.shell:
        argv = ["bash", "-c", *argv]
        environment["BASH_ENV"] = f"/proc/self/fd/{SETUP_FD}"
    syscalls.set_capabilities(limits["capabilities"])
    calls.install()
    for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGXFSZ):  # ignored so far
        signal.signal(number, signal.SIG_DFL)
    if command.shell:
        os.execve(SHELL, argv, environment)
    os.execvpe(argv[0], argv, environment)


@dataclass(slots=True)
class Watch:
    """Watches a running command.

    Attributes:
        running: The command's process.
        command: The command as received.
        limits: Resource limits, by name.
        killed_by: The exceeded limit, `"timeout"` or `"output"`, or `""`.
        open_output: The output pipe if background processes still write to it after the end.
        kept: Head and tail of the output, set after the end.
    """

    running: Running
    command: Command
    limits: dict[str, Any]
    killed_by: str = ""
    open_output: int | None = None
    kept: bytes = b""
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)
    _total: int = 0
    _began: float = 0.0
    _ended: float = 0.0
    _status: int = 0

    def until_end(self, over: Callable[[int], bool]) -> None:
        """Read the output until the command ends or exceeds a limit. The caller must then kill its child processes.

        Args:
            over: Called regularly with the command's process id. Returns whether too much memory is used.
        """
        self._began = time.monotonic()
        deadline = self._began + self.command.timeout_s
        process = os.pidfd_open(self.running.pid)
        poll = select.poll()
        # Output and command can end in either order, because background processes may keep the pipe open.
        poll.register(process, select.POLLIN)
        poll.register(self.running.output, select.POLLIN)
        ended, tick = False, self._began + TICK_S
        while not ended and not self.killed_by:
            left = deadline - time.monotonic()
            ready = dict(poll.poll(min(left, TICK_S) * 1000)) if left > 0 else {}
            if left <= 0:
                self.killed_by = "timeout"
            elif time.monotonic() >= tick:
                tick = time.monotonic() + TICK_S
                self.killed_by = "memory" if over(self.running.pid) else ""
            if self.running.output in ready and not self._read():
                poll.unregister(self.running.output)
            if self._total > self.limits["flood_bytes"]:
                self.killed_by = "output"
            ended = process in ready
        os.close(process)
        if self.killed_by:
            os.kill(self.running.pid, signal.SIGKILL)
        self._status = os.waitpid(self.running.pid, 0)[1]
        self._ended = time.monotonic()
        self._drain(0.0 if self.killed_by else 0.05)

    def result(self) -> dict[str, Any]:
        """Return the message with the result, without the output."""
        code = os.waitstatus_to_exitcode(self._status)
        killed_by = self.killed_by or (signal.Signals(-code).name if -code in set(signal.Signals) else "")
        report = os.pread(self.running.report, MAX_REPORT, 0).decode(errors="surrogateescape")
        os.close(self.running.report)
        told = report.split("\0", 2)
        has_told = len(told) == 3 and told[0].startswith("/")
        cwd, oldpwd = told[:2] if has_told else (self.command.cwd, self.command.oldpwd)
        return {
            "exit_code": 128 - code if code < 0 else code,
            "killed_by": killed_by,
            "dropped": self._total - len(self._head) - len(self._tail),
            "wall_s": self._ended - self._began,
            "cwd": cwd,
            "oldpwd": oldpwd,
        }

    def _read(self) -> bool:
        """Read available output. Return False at the end of the output."""
        try:
            block = os.read(self.running.output, 1 << 16)
        except BlockingIOError:
            return True
        half = self.command.output_bytes // 2
        self._total += len(block)
        room = max(0, half - len(self._head))
        self._head += block[:room]
        self._tail += block[room:]
        del self._tail[: max(0, len(self._tail) - half)]
        return bool(block)

    def _drain(self, grace_s: float) -> None:
        """Read the rest of the output: all that was written before the end, plus a short grace period after it."""
        deadline = time.monotonic() + grace_s
        poll = select.poll()
        poll.register(self.running.output, select.POLLIN)
        open_still = True
        while open_still and self._total <= self.limits["flood_bytes"]:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                break
            open_still = self._read()
        if open_still and not self.killed_by:
            self.open_output = self.running.output
        else:
            os.close(self.running.output)
        self.kept = bytes(self._head + self._tail)

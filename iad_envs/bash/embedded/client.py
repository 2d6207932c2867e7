"""Client side of the embedded sandbox."""

import dataclasses
import os
import socket
import threading
import weakref
from collections.abc import Sequence
from typing import Any, Self

from iad_envs.bash.embedded.connection import Channel, LauncherClient, Released, unavailable
from iad_envs.bash.sandbox import (
    Capabilities,
    Change,
    CommandResult,
    FrozenState,
    Sandbox,
    SandboxError,
    SandboxLimits,
    text_of,
)

ANSWER_GRACE_S = 120.0
"""Seconds after which a sandbox counts as dead. One that has ended is noticed at once, and one that commands starve of
processor time is only slow."""


def capabilities(n_ids: int, cgroups: dict[str, str]) -> Capabilities:
    """Return the capabilities for a number of user ids and a set of control groups."""
    summed = ", summed up every 0.1 s without pipes and kernel objects"
    users = "65,536 shifted users" if n_ids > 1 else "one user"
    return Capabilities(
        backend="embedded",
        isolation=f"Linux namespaces ({users}), overlayfs, seccomp; the host's /usr read-only",
        shares_kernel=True,
        snapshots="layers",
        limits={
            "processes": "rlimit" + (f" and {cgroups['pids']}" if "pids" in cgroups else ""),
            "memory": "rlimit" + (f" and {cgroups['memory']}" if "memory" in cgroups else summed),
            "disk": "tmpfs size",
            "inodes": "tmpfs inodes",
            "output": "read to a limit, then ended",
            "time": "clock, then ended",
            "cpu": "rlimit; the background summed up every 0.2 s",
        },
    )


class EmbeddedSandbox(Sandbox):
    """A sandbox or a fork of one.

    Args:
        supervisor: The supervisor, shared with all forks.
        root: Number of the sandbox's root in the supervisor.
        runner: Channel to the sandbox's runner.
        start: The state in which the sandbox was opened.
        is_fork: Whether this is a fork. Closing one does not end the supervisor.
    """

    def __init__(
        self, supervisor: "SupervisorClient", root: int, runner: Channel, *, start: FrozenState, is_fork: bool
    ) -> None:
        super().__init__(start, supervisor.limits)
        self._supervisor = supervisor
        self._root = root
        self._runner = runner
        self._is_fork = is_fork
        self._busy = threading.RLock()
        self._end = weakref.finalize(self, _abandon, supervisor, runner, root if is_fork else None)

    @property
    def capabilities(self) -> Capabilities:
        """Isolation and limits in force."""
        return self._supervisor.capabilities

    @property
    def is_usable(self) -> bool:
        """Whether the sandbox has neither been closed nor ended."""
        return self._supervisor.usable

    def _run(self, command: str | Sequence[str], cwd: str, oldpwd: str, time_s: float, stdin: bytes) -> CommandResult:
        header, output = self._ask(command, cwd, oldpwd, time_s, stdin, self._limits.output_bytes)
        killed_by, dropped = header["killed_by"], header["dropped"]
        if (killed_by == "SIGKILL" or header["exit_code"] == 137) and self._supervisor.ran_out_of_memory():
            killed_by = "memory"
        return CommandResult(
            exit_code=header["exit_code"], output=text_of(output, dropped), truncated=dropped > 0,
            timed_out=killed_by == "timeout", killed_by=killed_by, wall_s=header["wall_s"], cwd=header["cwd"],
            oldpwd=header["oldpwd"], background=header["background"],
        )  # fmt: skip

    def _ask(
        self, command: str | Sequence[str], cwd: str, oldpwd: str, time_s: float, stdin: bytes, output_bytes: int
    ) -> tuple[dict[str, Any], bytes]:
        argv, most = [command] if isinstance(command, str) else list(command), 128 << 10
        if not argv or any("\0" in word or len(word) >= most for word in argv):
            text = f"sandbox: expected a command of under {most} characters and no zero bytes\n"
            header = {"exit_code": 126, "killed_by": "", "dropped": 0, "wall_s": 0.0, "cwd": cwd, "oldpwd": oldpwd}
            return header | {"background": 0}, text.encode()
        request = {
            "argv": argv, "shell": isinstance(command, str), "cwd": cwd, "oldpwd": oldpwd, "timeout_s": time_s,
            "output_bytes": output_bytes,
        }  # fmt: skip
        with self._busy:
            answer = self._runner.ask(request, stdin, timeout_s=time_s + ANSWER_GRACE_S)
        return answer.header, answer.body

    def snapshot(self) -> FrozenState:
        """Freeze the current state."""
        with self._busy:
            answer = self._supervisor.ask({"do": "freeze", "root": self._root})
        return self._supervisor.token(answer["state"], answer["ended"])

    def restore(self, token: FrozenState) -> None:
        """Restore a frozen state."""
        with self._busy:
            self._supervisor.ask({"do": "restore", "root": self._root, "state": self._own(token)})

    def _fork(self, state: FrozenState, *, is_whole: bool = False) -> Self:
        number = self._own(state)
        mine, theirs = socket.socketpair()
        runner = Channel(mine)
        try:
            with theirs:
                request = {"do": "fork", "state": number, "is_whole": is_whole}
                answer = self._supervisor.ask(request, send=[theirs])
        except SandboxError:
            runner.close()
            raise
        return type(self)(self._supervisor, answer["root"], runner, start=state, is_fork=True)

    def _diff(self, since: FrozenState, time_s: float) -> tuple[Change, ...]:
        return self._listed({"do": "diff", "since": self._own(since)}, time_s)

    def _tree(self, path: str, time_s: float) -> tuple[Change, ...]:
        return self._listed({"do": "tree", "path": os.path.normpath(path)}, time_s)

    def _listed(self, request: dict[str, Any], time_s: float) -> tuple[Change, ...]:
        with self._busy:
            answer = self._supervisor.ask(request | {"root": self._root, "seconds": time_s}, timeout_s=time_s)
        return tuple(Change(*row) for row in answer["rows"])

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        largest = 64 << 20
        header, content = self._ask(["cat", "--", path], "/", "", self._limits.time_s, b"", 2 * largest)
        if header["exit_code"] or header["dropped"]:
            reason = f"{largest} bytes and more" if header["dropped"] else content.decode(errors="replace").strip()
            raise FileNotFoundError(f"expected a readable file of the sandbox at {path!r}, got: {reason}")
        return content

    def close(self) -> None:
        """End all processes and delete all states."""
        if not self._end.alive:
            return
        self._end.detach()
        self._runner.close()
        if not self._is_fork:
            self._supervisor.close()
        elif not self._supervisor.closed:
            self._supervisor.released.roots.append(self._root)
            self._supervisor.ask({"do": "drop", "states": [], "roots": []})


class SupervisorClient:
    """The supervisor as seen by a sandbox and its forks."""

    def __init__(self, host: LauncherClient, start: list[str], limits: SandboxLimits, *, template: str = "") -> None:
        self.limits = limits
        self.released = Released()
        self.closed = False
        self._host = host
        mine, theirs = socket.socketpair()
        runner_mine, runner_theirs = socket.socketpair()
        self._channel, self.first_runner = Channel(mine), Channel(runner_mine)
        try:
            with theirs, runner_theirs:
                request = {"do": "open", "start": start, "limits": dataclasses.asdict(limits), "template": template}
                opened = host.ask(request, send=[theirs, runner_theirs]).header
        except SandboxError as error:
            self._channel.close()
            self.first_runner.close()
            if not host.usable:
                raise
            raise unavailable(str(error)) from error
        self._number: int = opened["sandbox"]
        self._killed = 0
        answer = self._channel.first_message()
        if "error" in answer:
            self.first_runner.close()
            self.close()
            raise unavailable(answer["error"])
        self.first_root: int = answer["root"]
        self.capabilities = capabilities(host.n_ids, opened["cgroups"])

    def ask(
        self, header: dict[str, Any], *, send: Sequence[socket.socket] = (), timeout_s: float = 0.0
    ) -> dict[str, Any]:
        """Send a request to the supervisor and return the answer.

        Args:
            header: JSON data of the request.
            send: Sockets to pass to the supervisor.
            timeout_s: Time that the request may take in seconds, in addition to that of any answer.
        """
        given = header | self.released.take()
        return self._channel.ask(given, send=send, timeout_s=timeout_s + ANSWER_GRACE_S).header

    def token(self, number: int, ended: int) -> FrozenState:
        """Return a token for a state. When the token is garbage-collected, the supervisor releases the state."""
        token = FrozenState(ended, owner=self.released, key=number)
        weakref.finalize(token, self.released.states.append, number)
        return token

    @property
    def usable(self) -> bool:
        """Whether the supervisor is alive, and this process may ask it."""
        return self._channel.usable

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel has killed a process for memory since the last call."""
        count: int = self._host.ask({"do": "killed_for_memory", "sandbox": self._number}).header["count"]
        grown = count > self._killed
        self._killed = count
        return grown

    def abandon(self) -> None:
        """Close without waiting, as a finalizer must. The supervisor ends when its channel is closed."""
        self.closed = True
        self._channel.close()

    def close(self) -> None:
        """End the supervisor, and wait until it is cleaned up."""
        if not self.closed:
            self.abandon()
            if self._host.usable:
                self._host.ask({"do": "close", "sandbox": self._number})


def _abandon(supervisor: SupervisorClient, runner: Channel, root: int | None) -> None:
    """Finalizer of a sandbox that was not closed. It may run in any thread at any time, so it does not wait."""
    runner.close()
    if root is None:
        supervisor.abandon()
    else:
        supervisor.released.roots.append(root)

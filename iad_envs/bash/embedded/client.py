"""The embedded sandbox as its users see it."""

import dataclasses
import os
import socket
import threading
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from iad_envs.bash.embedded.connection import Channel, Drops, LauncherClient, unavailable
from iad_envs.bash.sandbox import Capabilities, Change, CommandResult, FrozenState, SandboxError, SandboxLimits

ANSWER_GRACE_S = 30.0
LARGEST_COMMAND = 128 << 10
LARGEST_FILE = 64 << 20


def capabilities(n_ids: int, cgroups: dict[str, str]) -> Capabilities:
    """What is in force, from how many users there are and which control groups."""
    total = f" and {cgroups['memory']}" if "memory" in cgroups else ", summed up every 0.1 s"
    pids = f" and {cgroups['pids']}" if "pids" in cgroups else ""
    users = "65,536 shifted users" if n_ids > 1 else "one user"
    return Capabilities(
        backend="embedded",
        isolation=f"Linux namespaces ({users}), overlayfs, seccomp; the host's /usr read-only",
        shares_kernel=True,
        network="none",
        snapshots="layers",
        parallel_forks=True,
        background="lives on to the next command; ended when a state is frozen, restored or reset, and by a limit",
        limits={
            "processes": f"rlimit{pids}",
            "memory": f"rlimit{total}",
            "disk": "tmpfs size",
            "inodes": "tmpfs inodes",
            "output": "read to a limit, then ended",
            "time": "clock, then ended",
            "cpu": "rlimit",
        },
    )


class EmbeddedSandbox:
    """A sandbox or a fork of one; see `iad_envs.bash.sandbox.Sandbox`.

    Args:
        body: What a sandbox shares with its forks.
        root: The name of its root in the supervisor.
        cell: The line to its cell.
        start: The state it is in.
    """

    def __init__(self, body: "Body", root: int, cell: Channel, *, start: FrozenState, owner: bool) -> None:
        self._body = body
        self._root = root
        self._cell = cell
        self._start = start
        self._owner = owner
        self._busy = threading.RLock()
        self._end = weakref.finalize(self, _abandon, body, cell, None if owner else root)

    @property
    def capabilities(self) -> Capabilities:
        """What isolation and which limits are in force."""
        return self._body.capabilities

    @property
    def start(self) -> FrozenState:
        """The state it was opened in."""
        return self._start

    def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str = "/",
        oldpwd: str = "",
        timeout_s: float | None = None,
        stdin: bytes = b"",
    ) -> CommandResult:
        """Run a command; see `Sandbox.run`."""
        header, output = self._run(command, cwd, oldpwd, timeout_s=timeout_s, stdin=stdin)
        killed_by, dropped = header["killed_by"], header["dropped"]
        if (killed_by == "SIGKILL" or header["exit_code"] == 137) and self._body.ran_out_of_memory():
            killed_by = "memory"
        text = output.decode(errors="replace")
        if dropped:
            half = self._body.limits.output_bytes // 2
            head, tail = output[:half].decode(errors="replace"), output[half:].decode(errors="replace")
            text = f"{head}\n[... {dropped} bytes left out ...]\n{tail}"
        return CommandResult(
            exit_code=header["exit_code"], output=text, truncated=dropped > 0, timed_out=killed_by == "timeout",
            killed_by=killed_by, wall_s=header["wall_s"], cwd=header["cwd"], oldpwd=header["oldpwd"],
            background=header["background"],
        )  # fmt: skip

    def _run(
        self, command: str | Sequence[str], cwd: str, oldpwd: str, *, timeout_s: float | None = None,
        stdin: bytes = b"", output_bytes: int = 0,
    ) -> tuple[dict[str, Any], bytes]:  # fmt: skip
        limits = self._body.limits
        time_s = limits.time_s if timeout_s is None else timeout_s
        argv = [command] if isinstance(command, str) else list(command)
        if not argv or any("\0" in word or len(word) >= LARGEST_COMMAND for word in argv):
            text = f"sandbox: expected a command of under {LARGEST_COMMAND} characters and no zero bytes\n"
            header = {"exit_code": 126, "killed_by": "", "dropped": 0, "wall_s": 0.0, "cwd": cwd, "oldpwd": oldpwd}
            return header | {"background": 0}, text.encode()
        request = {
            "argv": argv, "shell": isinstance(command, str), "cwd": cwd, "oldpwd": oldpwd, "timeout_s": time_s,
            "output_bytes": output_bytes or limits.output_bytes,
        }  # fmt: skip
        with self._busy:
            answer = self._cell.ask(request, stdin, timeout_s=time_s + ANSWER_GRACE_S)
        return answer.header, answer.body

    def reset(self) -> None:
        """Go back to the start."""
        self.restore(self._start)

    def snapshot(self) -> FrozenState:
        """Freeze the present state."""
        with self._busy:
            answer = self._body.ask({"do": "freeze", "root": self._root})
        return self._body.token(answer["state"], answer["ended"])

    def restore(self, token: FrozenState) -> None:
        """Go to a frozen state."""
        with self._busy:
            self._body.ask({"do": "restore", "root": self._root, "state": self._body.own(token)})

    def fork(self, token: FrozenState | None = None) -> Self:
        """A throw-away sandbox in a frozen state."""
        state = self.snapshot() if token is None else token
        number = self._body.own(state)
        mine, theirs = socket.socketpair()
        cell = Channel(mine)
        try:
            with theirs:
                answer = self._body.ask({"do": "fork", "state": number}, send=[theirs])
        except SandboxError:
            cell.close()
            raise
        return type(self)(self._body, answer["root"], cell, start=state, owner=False)

    def commit(self, child: Self) -> FrozenState:
        """Take over the state of a fork, and close it."""
        if child._body is not self._body or child is self:
            raise SandboxError("expected a fork of this sandbox to commit, got another sandbox; fork it from this one")
        state = child.snapshot()
        self.restore(state)
        child.close()
        return state

    def diff(self, since: FrozenState | None = None) -> tuple[Change, ...]:
        """What differs from a frozen state."""
        number = self._body.own(self._start if since is None else since)
        with self._busy:
            answer = self._body.ask({"do": "diff", "root": self._root, "since": number})
        return tuple(Change(*row) for row in answer["rows"])

    def tree(self, path: str = "/") -> tuple[Change, ...]:
        """Everything at and under a path."""
        with self._busy:
            answer = self._body.ask({"do": "tree", "root": self._root, "path": os.path.normpath(path)})
        return tuple(Change(*row) for row in answer["rows"])

    def read(self, path: str) -> bytes:
        """The content of a file."""
        header, content = self._run(["cat", "--", path], "/", "", output_bytes=2 * LARGEST_FILE)
        if header["exit_code"] or header["dropped"]:
            reason = f"{LARGEST_FILE} bytes and more" if header["dropped"] else content.decode(errors="replace").strip()
            raise FileNotFoundError(f"expected a readable file of the sandbox at {path!r}, got: {reason}")
        return content

    def write(self, path: str, content: bytes) -> None:
        """Write a file, making its folders."""
        script = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'
        header, output = self._run(["bash", "-c", script, "bash", path], "/", "", stdin=content)
        if header["exit_code"]:
            raise OSError(f"expected to write {path!r} in the sandbox, got: {output.decode(errors='replace').strip()}")

    def close(self) -> None:
        """End every process and drop every state."""
        if not self._end.alive:
            return
        self._end.detach()
        self._cell.close()
        if self._owner:
            self._body.close()
        elif not self._body.closed:
            self._body.drops.roots.append(self._root)
            self._body.ask({"do": "drop", "states": [], "roots": []})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Body:
    """What a sandbox shares with its forks: the supervisor."""

    def __init__(self, host: LauncherClient, start: list[str], limits: SandboxLimits, *, template: str = "") -> None:
        self.limits = limits
        self.drops = Drops()
        self.closed = False
        self._host = host
        mine, theirs = socket.socketpair()
        cell_mine, cell_theirs = socket.socketpair()
        self._line, self.first_cell = Channel(mine), Channel(cell_mine)
        try:
            with theirs, cell_theirs:
                request = {"do": "open", "start": start, "limits": dataclasses.asdict(limits), "template": template}
                opened = host.ask(request, send=[theirs, cell_theirs]).header
        except SandboxError as error:
            self._line.close()
            self.first_cell.close()
            raise unavailable(str(error)) from error
        self._number: int = opened["sandbox"]
        self._killed = 0
        answer = self._line.greeting()
        if "error" in answer:
            self.first_cell.close()
            self.close()
            raise unavailable(answer["error"])
        self.first_root: int = answer["root"]
        self.capabilities = capabilities(host.n_ids, opened["cgroups"])

    def ask(self, header: dict[str, Any], *, send: Sequence[socket.socket] = ()) -> dict[str, Any]:
        """A request to the supervisor."""
        return self._line.ask(header | self.drops.take(), send=send).header

    def token(self, number: int, ended: int) -> FrozenState:
        """A state's token; the supervisor is told when nobody holds it any more."""
        token = FrozenState(ended, owner=self.drops, key=number)
        weakref.finalize(token, self.drops.states.append, number)
        return token

    def own(self, token: FrozenState) -> int:
        """The supervisor's name for a state of this sandbox."""
        if token.owner is not self.drops:
            raise SandboxError("expected a state of this sandbox, got another sandbox's; fork or restore it there")
        number: int = token.key
        return number

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel has ended a process for memory since this was last asked."""
        count: int = self._host.ask({"do": "killed_for_memory", "sandbox": self._number}).header["count"]
        grown = count > self._killed
        self._killed = count
        return grown

    def abandon(self) -> None:
        """Without waiting, as a finalizer must: the supervisor ends when the line does."""
        self.closed = True
        self._line.close()

    def close(self) -> None:
        """End the supervisor, and wait until nothing is left of it."""
        if not self.closed:
            self.abandon()
            if not self._host.usable:
                return
            self._host.ask({"do": "close", "sandbox": self._number})


def _abandon(body: Body, cell: Channel, root: int | None) -> None:
    """What a sandbox that nobody closed leaves to do; runs in any thread at any time, so it waits for nothing."""
    cell.close()
    if root is None:
        body.abandon()
    else:
        body.drops.roots.append(root)

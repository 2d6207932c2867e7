"""A sandbox: a file system for commands that can be frozen, forked, compared and restored.

Open one with `open_sandbox`. `embedded` (the default) needs only a Linux kernel. `docker` needs an engine. A backend
never runs a command without isolation. If isolation is not possible, it raises `SandboxUnavailable`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, NamedTuple, Self, cast

from iad_envs.errors import Lost, Unavailable

BACKENDS: Mapping[str, str] = {
    "embedded": "iad_envs.bash.embedded.opening:open_embedded",
    "docker": "iad_envs.bash.docker:open_docker",
}

Setup = Sequence[str] | Path
"""Setup of a start state: shell scripts to run in order at `/`, or a tar file or folder to unpack at `/`."""


class SandboxError(RuntimeError):
    """An operation of a sandbox failed for a reason other than the command."""


class SandboxEnded(SandboxError, Lost):
    """The processes of a sandbox, or of a fork, have ended. Open another one."""


class TooManyChanges(SandboxError):
    """The changes of a state can't be listed within the time limit, or in a message. The sandbox can still be used."""


class SandboxUnavailable(SandboxError, Unavailable):
    """This machine can't isolate commands in this way. The error text says how to fix it."""


class CommandResult(NamedTuple):
    """The result of a command.

    Attributes:
        exit_code: Exit code as reported by a shell: 128 + n for signal n.
        output: Standard output and error in order, decoded as UTF-8 with replacement characters.
        truncated: Whether the middle of the output was removed.
        timed_out: Whether the command reached its time limit. All processes of the sandbox were then killed.
        killed_by: The reason why it was killed: `"timeout"`, `"output"`, `"memory"` or a signal such as `"SIGSEGV"`.
            Empty if it ended normally.
        wall_s: Wall time in seconds.
        cwd: The shell's `$PWD` at the end.
        oldpwd: The shell's `$OLDPWD` at the end, empty if unset.
        background: Number of processes still running. They live until the state is frozen, restored or closed.
    """

    exit_code: int
    output: str
    truncated: bool
    timed_out: bool
    killed_by: str
    wall_s: float
    cwd: str
    oldpwd: str
    background: int


def text_of(output: bytes, n_dropped: int) -> str:
    """Return an output as text, with a note in the middle if bytes were removed there."""
    if not n_dropped:
        return output.decode(errors="replace")
    half = len(output) // 2
    head, tail = output[:half].decode(errors="replace"), output[half:].decode(errors="replace")
    return f"{head}\n[... {n_dropped} bytes left out ...]\n{tail}"


class Change(NamedTuple):
    """A path that differs between two states. A difference in times alone does not count.

    Attributes:
        path: Absolute path.
        kind: Kind of change. `"modified"` is a different content, link target or type; `"mode"` is a difference in
            permissions or owner only.
        mode: Current `st_mode` with the type bits, 0 if deleted.
        size: Size in bytes of a regular file, 0 for other types.
        digest: BLAKE2b-256 of a regular file's content or a link's target, in hex. Empty for other types. A file of
            over 64 KB that is mostly holes has a special digest `sparse:...`.
        was_mode: Previous `st_mode`, 0 if added.
    """

    path: str
    kind: Literal["added", "modified", "mode", "deleted"]
    mode: int
    size: int
    digest: str
    was_mode: int


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Resource limits of commands. They are always enforced.

    Raises:
        ValueError: A limit is not a positive number, or a time is longer than a day.

    Attributes:
        processes: Number of processes at a time, per sandbox or fork.
        memory_mb: Address space of one process in MB. With cgroups, all processes together have it beside the most that
            all states may take.
        disk_mb: Total size of all changes to the start state in MB. All states together may take 8 times as much.
        inodes: Number of files, folders and links added or changed per frozen state.
        output_bytes: Number of output bytes kept per command: half from the head, half from the tail.
        flood_bytes: Number of output bytes after which a command is killed.
        time_s: Wall time of a command in seconds, unless `run` specifies another limit.
        cpu_s: CPU time of one process in seconds, and of all background processes between two commands.
        open_files: Number of open files per process. The kernel counts descriptors that are being passed between
            processes per user of the host, and refuses them to a process when there are more than it may have open
            files (usually 1,024). A sandbox can have this number plus 253 of them, so keep the sum well below.
    """

    processes: int = 64
    memory_mb: int = 1024
    disk_mb: int = 256
    inodes: int = 65_536
    output_bytes: int = 65_536
    flood_bytes: int = 64 << 20
    time_s: float = 10.0
    cpu_s: int = 60
    open_files: int = 256

    def __post_init__(self) -> None:
        for each in fields(self):
            _check_limit(each.name, getattr(self, each.name), type(each.default))

    def seconds(self, timeout_s: float | None) -> float:
        """Return the time limit of a call: the given one, or that of commands.

        Raises:
            ValueError: It is not a positive number, or longer than a day.
        """
        if timeout_s is None:
            return self.time_s
        _check_limit("timeout_s", timeout_s)
        return timeout_s


def _check_limit(name: str, value: float, kind: type = float) -> None:
    most = 86_400 if name.endswith("_s") else 1 << 40
    is_number = isinstance(value, (int, kind))
    if not (is_number and 0 < value <= most):  # NaN is neither
        text = "a whole number" if kind is int else "a number"
        raise ValueError(f"expected {text} above 0 and of at most {most:,} as {name}, got {value!r}; change this limit")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The actual capabilities of a sandbox on this machine.

    Attributes:
        backend: Name of the backend.
        isolation: Description of the isolation, for reports.
        shares_kernel: Whether commands use the host's kernel.
        snapshots: Storage of states. The cost of `"copy"` depends on a state's size, the cost of `"layers"` does not.
        limits: Maps the name of a limit to the mechanism that enforces it.
    """

    backend: str
    isolation: str
    shares_kernel: bool
    snapshots: Literal["layers", "copy"]
    limits: Mapping[str, str]


class FrozenState:
    """A frozen state. It lives as long as this object. The sandbox and all its forks can restore it.

    Args:
        ended: Number of background processes that were killed to freeze it.
        owner: Object that a sandbox shares with its forks, to check that the state belongs to them.
        key: The owner's identifier of the state.
    """

    __slots__ = ("__weakref__", "ended", "key", "owner")

    def __init__(self, ended: int, *, owner: object, key: Any) -> None:
        self.ended = ended
        self.owner = owner
        self.key = key


class Sandbox(ABC):
    """A file system and its commands. Methods may be called from any thread. Each command sees a consistent state.

    Args:
        start: The state in which the sandbox is opened. Its owner is shared with all forks.
        limits: Resource limits of commands.
    """

    def __init__(self, start: FrozenState, limits: SandboxLimits) -> None:
        self._start = start
        self._limits = limits

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """Isolation and limits in force."""

    @property
    def is_usable(self) -> bool:
        """Whether the sandbox has neither been closed nor ended."""
        return True

    @property
    def start(self) -> FrozenState:
        """The state in which the sandbox was opened. For a fork, the state it was forked from."""
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
        """Run a command in a fresh `bash -c`, or an argument list without a shell.

        Only the file system and background processes carry over from command to command, and `cwd` and `oldpwd` if the
        caller passes them on. If `cwd` no longer exists, its nearest existing parent is used. An argument list does not
        change `cwd` and `oldpwd`.

        Raises:
            SandboxError: The sandbox is closed or broken. A command's own failure is a result.
        """
        return self._run(command, cwd, oldpwd, self._limits.seconds(timeout_s), stdin)

    def reset(self) -> None:
        """Restore `start`, and kill all processes."""
        self.restore(self._start)

    @abstractmethod
    def snapshot(self) -> FrozenState:
        """Freeze the current state and continue from it. Kills background processes, counted in `FrozenState.ended`."""

    @abstractmethod
    def restore(self, token: FrozenState) -> None:
        """Restore a frozen state, and kill all processes."""

    def fork(self, token: FrozenState | None = None, *, is_whole: bool = False) -> Self:
        """Open a temporary sandbox in a frozen state. Without a token, the current state is frozen first.

        Close it, or use it as a context manager. Forks of one state can run in parallel and do not affect each other,
        but for the room that all states have together. With `is_whole` a fork has all that one may have, however much
        others have taken. Use it for one fork at a time.
        """
        return self._fork(self.snapshot() if token is None else token, is_whole=is_whole)

    def commit(self, child: Self) -> FrozenState:
        """Adopt the state of a fork without running anything again, and close the fork."""
        if child is self or child._start.owner is not self._start.owner:
            raise SandboxError("expected a fork of this sandbox to commit, got another sandbox; fork it from this one")
        state = child.snapshot()
        self.restore(state)
        child.close()
        return state

    def diff(self, since: FrozenState | None = None, *, timeout_s: float | None = None) -> tuple[Change, ...]:
        """Return the differences from a frozen state (by default from `start`), sorted by path.

        `/dev`, `/proc`, `/usr` and links to it can't change and are skipped. The time limit is that of a command.

        Raises:
            TooManyChanges: The time is over, or the paths have more than 16 million characters together.
        """
        return self._diff(since or self._start, self._limits.seconds(timeout_s))

    def tree(self, path: str = "/", *, timeout_s: float | None = None) -> tuple[Change, ...]:
        """Return all entries at and under a path, sorted by path, as if they had been added.

        Raises:
            TooManyChanges: As for `diff`.
        """
        return self._tree(path, self._limits.seconds(timeout_s))

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: There is no such regular file, or it can't be read.
        """

    def write(self, path: str, content: bytes) -> None:
        """Write a file and create its parent folders.

        Raises:
            OSError: The file could not be written.
        """
        script = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'
        result = self.run(["bash", "-c", script, "bash", path], stdin=content)
        if result.exit_code:
            raise OSError(f"expected to write {path!r} in the sandbox, got: {result.output.strip()}")

    @abstractmethod
    def close(self) -> None:
        """Kill all processes and delete all states. Nothing is left on the host."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _run(
        self, command: str | Sequence[str], cwd: str, oldpwd: str, time_s: float, stdin: bytes
    ) -> CommandResult: ...

    @abstractmethod
    def _fork(self, state: FrozenState, *, is_whole: bool = False) -> Self: ...

    @abstractmethod
    def _diff(self, since: FrozenState, time_s: float) -> tuple[Change, ...]: ...

    @abstractmethod
    def _tree(self, path: str, time_s: float) -> tuple[Change, ...]: ...

    def _own(self, token: FrozenState) -> Any:
        """Return the key of a state of this sandbox or its forks."""
        if token.owner is not self._start.owner:
            raise SandboxError("expected a state of this sandbox, got another sandbox's; fork or restore it there")
        return token.key


def open_sandbox(
    backend: str = "embedded", *, setup: Setup = (), limits: SandboxLimits | None = None, **options: Any
) -> Sandbox:
    """Open a sandbox.

    Args:
        backend: One of `BACKENDS`.
        setup: Scripts or archive that create the start state. `embedded` creates it once per process and shares it.
        limits: Resource limits of commands.
        options: Options of the backend, for example `image` for docker.

    Raises:
        SandboxUnavailable: This machine does not allow such sandboxes. The error text says how to fix it.
        ValueError: There is no such backend.
    """
    if backend not in BACKENDS:
        raise ValueError(f"expected a sandbox backend, got {backend!r}; known: {', '.join(BACKENDS)}")
    opener = resolve_name(BACKENDS[backend])
    return cast(Sandbox, opener(setup=setup, limits=limits or SandboxLimits(), **options))

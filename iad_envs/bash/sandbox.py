"""What a sandbox is: a file system that commands run in, that can be frozen, forked, compared and taken back.

Open one with `open_sandbox`. `embedded` (the default) needs a Linux kernel and nothing else; `docker` needs an engine.
Neither ever runs a command outside its isolation: what can't be isolated is refused with `SandboxUnavailable`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, Self, cast

from iad_envs.errors import Unavailable

BACKENDS: Mapping[str, str] = {
    "embedded": "iad_envs.bash.embedded.opening:open_embedded",
    "docker": "iad_envs.bash.docker:open_docker",
}

Setup = Sequence[str] | Path
"""How the start state is made: shell scripts run in order at `/`, or a tar or folder unpacked at `/`."""


class SandboxError(RuntimeError):
    """A sandbox could not do what it was asked, for reasons that are not the command's."""


class SandboxUnavailable(SandboxError, Unavailable):
    """This machine can't isolate commands that way; the message says what to do."""


class CommandResult(NamedTuple):
    """What came of a command.

    Attributes:
        exit_code: As a shell reports it; 128 + n for signal n.
        output: Standard output and error as they came, decoded as UTF-8 with replacement characters.
        truncated: Whether the middle of the output was left out.
        timed_out: Whether the command was ended at its time limit, with every other process of the sandbox.
        killed_by: What ended it: `""`, `"timeout"`, `"output"`, `"memory"` or a signal's name such as `"SIGSEGV"`.
        wall_s: Seconds from start to end.
        cwd: The shell's `$PWD` at its end.
        oldpwd: Its `$OLDPWD`, empty if unset.
        background: Processes still running. They live until the state is frozen, taken back or closed.
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


class Change(NamedTuple):
    """A path that differs between two states. Times alone are no change.

    Attributes:
        path: Absolute.
        kind: `"modified"` is another content, link target or type, `"mode"` other permissions or owner only.
        mode: `st_mode` with the type bits, as it is now; 0 when deleted.
        size: Bytes of a regular file, 0 for anything else.
        digest: BLAKE2b-256 of a regular file's content or of a link's target, in hex; empty for anything else. A large
            file that is mostly holes has one of its own kind, `sparse:...`.
        was_mode: `st_mode` as it was; 0 when added.
    """

    path: str
    kind: Literal["added", "modified", "mode", "deleted"]
    mode: int
    size: int
    digest: str
    was_mode: int


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What commands may use; always in force.

    Attributes:
        processes: At once, in the sandbox or in one fork of it.
        memory_mb: Address space of one process; with cgroups also of all together, the files they write included.
        disk_mb: All changes to the start state together.
        inodes: Files, folders and links added or changed by one frozen state.
        output_bytes: Kept of one command's output: half from its head, half from its tail.
        flood_bytes: Written by one command, after which it is ended.
        time_s: Wall time of a command, unless `run` is given another.
        cpu_s: Processor time of one process.
        open_files: Per process.
    """

    processes: int = 64
    memory_mb: int = 1024
    disk_mb: int = 256
    inodes: int = 65_536
    output_bytes: int = 65_536
    flood_bytes: int = 64 << 20
    time_s: float = 10.0
    cpu_s: int = 60
    open_files: int = 1024


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a sandbox really does on this machine.

    Attributes:
        backend: Its name.
        isolation: In words, for reports.
        shares_kernel: Whether commands talk to the host's own kernel.
        network: `"none"`.
        snapshots: How a state is kept: `"layers"` costs the same whatever its size, `"copy"` does not.
        parallel_forks: Whether several forks can run commands at once.
        background: What becomes of background processes.
        limits: Name of a limit to what enforces it.
    """

    backend: str
    isolation: str
    shares_kernel: bool
    network: str
    snapshots: Literal["layers", "copy"]
    parallel_forks: bool
    background: str
    limits: Mapping[str, str] = field(default_factory=dict)


class FrozenState:
    """A frozen state. It lives as long as someone holds it; the sandbox and every fork of it can go there.

    Args:
        ended: Background processes that were ended to freeze it.
        owner: What a sandbox shares with its forks.
        key: The owner's name for the state.
    """

    __slots__ = ("__weakref__", "ended", "key", "owner")

    def __init__(self, ended: int, *, owner: object, key: Any) -> None:
        self.ended = ended
        self.owner = owner
        self.key = key


class Sandbox(Protocol):
    """A file system, and commands in it. Its methods may be called from any thread; each command sees one state."""

    @property
    def capabilities(self) -> Capabilities:
        """What isolation and which limits are in force."""
        ...

    @property
    def start(self) -> FrozenState:
        """The state it was opened with; of a fork, the state it was forked from."""
        ...

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

        Nothing but the file system, background processes and what is passed back in (`cwd`, `oldpwd`) carries over
        from command to command. A `cwd` that is gone becomes its nearest folder that exists. A list leaves both as
        they were.

        Raises:
            SandboxError: The sandbox is closed or broken. A command's own failure is a result.
        """
        ...

    def reset(self) -> None:
        """Go back to `start`, ending every process."""
        ...

    def snapshot(self) -> FrozenState:
        """Freeze the present state and go on from it; background processes end (`FrozenState.ended` counts them)."""
        ...

    def restore(self, token: FrozenState) -> None:
        """Go to a frozen state, ending every process."""
        ...

    def fork(self, token: FrozenState | None = None) -> Self:
        """A throw-away sandbox in a frozen state; without one, in the present state, which is frozen first.

        Close it, or use it as a context manager. Forks of one state run beside each other and don't see each other.
        """
        ...

    def commit(self, child: Self) -> FrozenState:
        """Take over the state of a fork without running anything again, and close the fork."""
        ...

    def diff(self, since: FrozenState | None = None) -> tuple[Change, ...]:
        """What differs from a frozen state (`start` if none is given), sorted by path.

        `/dev`, `/proc`, `/usr` and the folders that lead to it can't change and are not looked at.
        """
        ...

    def tree(self, path: str = "/") -> tuple[Change, ...]:
        """Everything at and under a path, sorted by path, as if all of it had been added."""
        ...

    def read(self, path: str) -> bytes:
        """The content of a file.

        Raises:
            FileNotFoundError: There is no such regular file, or it can't be read.
        """
        ...

    def write(self, path: str, content: bytes) -> None:
        """Write a file, making its folders.

        Raises:
            OSError: It could not be written.
        """
        ...

    def close(self) -> None:
        """End every process and drop every state; nothing is left on the host."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_sandbox(
    backend: str = "embedded", *, setup: Setup = (), limits: SandboxLimits | None = None, **options: Any
) -> Sandbox:
    """Open a sandbox.

    Args:
        backend: One of `BACKENDS`.
        setup: How the start state is made; `embedded` makes it once per process and shares it.
        limits: What commands may use.
        options: Of the backend, such as `image` for docker.

    Raises:
        SandboxUnavailable: This machine does not allow it; the message says what to do.
        ValueError: There is no such backend.
    """
    if backend not in BACKENDS:
        raise ValueError(f"expected a sandbox backend, got {backend!r}; known: {', '.join(BACKENDS)}")
    module, name = BACKENDS[backend].split(":")
    opener = getattr(import_module(module), name)
    return cast(Sandbox, opener(setup=setup, limits=limits or SandboxLimits(), **options))

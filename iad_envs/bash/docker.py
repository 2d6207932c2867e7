"""A sandbox in containers of a Docker-compatible engine, through its SDK (`iad[docker]`).

Use it if you have an engine, or if you need isolation that does not share the host's kernel (`runtime="runsc"` or
`"kata"`). A state is an image. Freezing or restoring a state therefore starts a container and takes hundreds of
milliseconds, compared to about one for `embedded`.
"""

import base64
import os
import socket
import threading
import time
import uuid
import weakref
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Self

from iad_envs.bash.docker_script import RUN, STDIN, TREE, parse_report, parse_tree
from iad_envs.bash.sandbox import (
    Capabilities,
    Change,
    CommandResult,
    FrozenState,
    Sandbox,
    SandboxLimits,
    SandboxUnavailable,
    Setup,
    TooManyChanges,
    text_of,
)
from iad_envs.bash.setup import unpack
from webshop_server.extras import extra_command

LABEL, OWNER = "iad.sandbox", "iad.owner"
IMAGE = "debian:12"
KILLED = 137


class _State(NamedTuple):
    """An image, and the list of its files when it was created."""

    image: str
    tree: dict[str, Change]


class _Engine:
    """State that a sandbox shares with its forks: the engine client and the container options."""

    def __init__(self, client: Any, limits: SandboxLimits, runtime: str | None) -> None:
        self.client = client
        self.limits = limits
        self.runtime = runtime
        self.label = uuid.uuid4().hex

    def start(self, image: str) -> Any:
        """Start a new container that runs no command yet."""
        limits = self.limits
        # Process 1 reaps ended processes, and survives `kill -9 -1`.
        keep_alive = ["bash", "-c", "while :; do sleep 1000 & wait; done"]
        name = f"iad-{self.label[:12]}-{uuid.uuid4().hex[:12]}"
        owner = f"{socket.gethostname()}/{os.getpid()}"
        capabilities = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"]
        size = limits.flood_bytes + (1 << 20)  # some more room than a command may print
        ulimit = import_module("docker.types").Ulimit
        sizes = {"nofile": limits.open_files, "nproc": limits.processes, "core": 0, "fsize": limits.disk_mb << 20}
        container = self.client.containers.create(
            image, keep_alive, name=name, labels={LABEL: self.label, OWNER: owner},
            network_mode="none", mem_limit=f"{limits.memory_mb}m", pids_limit=limits.processes,
            nano_cpus=1_000_000_000, cap_drop=["ALL"], cap_add=capabilities, security_opt=["no-new-privileges"],
            ulimits=[ulimit(name=what, soft=most, hard=most) for what, most in sizes.items()],
            tmpfs={"/run/iad": f"size={size},mode=700"}, working_dir="/", entrypoint=[],
            environment={"HOME": "/root", "LANG": "C.UTF-8", "TERM": "dumb"}, runtime=self.runtime,
        )  # fmt: skip
        container.start()
        return container

    def remove_all(self) -> None:
        """Remove every container and image of this sandbox."""
        for container in self.client.containers.list(all=True, filters={"label": f"{LABEL}={self.label}"}):
            container.remove(force=True)
        for image in self.client.images.list(filters={"label": f"{LABEL}={self.label}"}):
            self.client.images.remove(image.id, force=True)
        self.client.close()


class DockerSandbox(Sandbox):
    """A sandbox or a fork of one. See `iad_envs.bash.sandbox.Sandbox`."""

    def __init__(self, engine: _Engine, start: FrozenState, *, is_fork: bool) -> None:
        super().__init__(start, engine.limits)
        self._engine = engine
        self._is_fork = is_fork
        self._busy = threading.RLock()
        self._container = engine.start(start.key.image)
        self._end = (
            weakref.finalize(self, _remove, self._container) if is_fork else weakref.finalize(self, engine.remove_all)
        )

    @property
    def capabilities(self) -> Capabilities:
        """Isolation and limits in force."""
        return Capabilities(
            backend="docker",
            isolation=f"container ({self._engine.runtime or 'default'} runtime), seven capabilities, no new privileges",
            shares_kernel=self._engine.runtime is None,
            snapshots="copy",
            limits={"processes": "cgroup", "memory": "cgroup", "disk": "rlimit, of one file", "output": "tmpfs size",
                    "time": "killed inside", "cpu": "one processor"},
        )  # fmt: skip

    def _run(self, command: str | Sequence[str], cwd: str, oldpwd: str, time_s: float, stdin: bytes) -> CommandResult:
        argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
        with self._busy:
            for position in range(0, len(stdin), 60_000):  # pieces that fit into an argument
                piece = base64.b64encode(stdin[position : position + 60_000]).decode()
                self._exec(["bash", "-c", f'base64 -d <<<"$1" >>{STDIN}', "bash", piece])
            kept = self._limits.output_bytes // 2
            script = [*RUN, cwd, oldpwd, f"{time_s:.3f}", str(kept), "1" if isinstance(command, str) else "", *argv]
            began = time.monotonic()
            report = parse_report(self._exec(script))
            wall_s = time.monotonic() - began
            timed_out = report.exit_code == KILLED and wall_s >= time_s
            flooded = report.size >= self._limits.flood_bytes
            if timed_out or flooded:
                self._exec(["bash", "-c", "kill -9 -1"])
        n_dropped = max(0, report.size - 2 * kept)
        return CommandResult(
            exit_code=report.exit_code,
            output=text_of(report.output, n_dropped),
            truncated=n_dropped > 0,
            timed_out=timed_out,
            killed_by="timeout" if timed_out else "output" if flooded else "",
            wall_s=wall_s,
            cwd=report.cwd or cwd,
            oldpwd=report.oldpwd or oldpwd,
            background=0 if timed_out or flooded else report.background,
        )

    def snapshot(self) -> FrozenState:
        """Freeze the current state as an image."""
        with self._busy:
            ended = len(self._exec(["bash", "-c", "for p in /proc/[0-9]*; do echo; done"]).splitlines()) - 3
            self._exec(["bash", "-c", "kill -9 -1"])
            tree = {row.path: row for row in self.tree()}
            engine = self._engine
            image = self._container.commit(repository=f"iad-{engine.label[:12]}", tag=uuid.uuid4().hex,
                                           changes=f"LABEL {LABEL}={engine.label}")  # fmt: skip
        return FrozenState(ended, owner=engine, key=_State(image.id, tree))

    def restore(self, token: FrozenState) -> None:
        """Restore a frozen state in a new container."""
        image = self._own(token).image
        with self._busy:
            old, self._container = self._container, self._engine.start(image)
            if self._is_fork:
                self._end.detach()
                self._end = weakref.finalize(self, _remove, self._container)
            _remove(old)

    def _fork(self, state: FrozenState, *, is_whole: bool = False) -> Self:
        self._own(state)
        return type(self)(self._engine, state, is_fork=True)

    def _diff(self, since: FrozenState, time_s: float) -> tuple[Change, ...]:
        before: dict[str, Change] = self._own(since).tree
        now = {row.path: row for row in self._tree("/", time_s)}
        found = [was._replace(kind="deleted", mode=0, size=0, digest="", was_mode=was.mode)
                 for path, was in before.items() if path not in now]  # fmt: skip
        for path, row in now.items():
            was = before.get(path)
            if was is None:
                found.append(row)
            elif was[2:] != row[2:]:
                same = (was.digest, was.mode & 0o170000) == (row.digest, row.mode & 0o170000)
                found.append(row._replace(kind="mode" if same else "modified", was_mode=was.mode))
        return tuple(sorted(found))

    def _tree(self, path: str, time_s: float) -> tuple[Change, ...]:
        with self._busy:
            code, output = self._container.exec_run(
                ["timeout", "-s", "KILL", f"{time_s:.3f}", *TREE, path], stderr=False
            )
        if code == KILLED:
            raise TooManyChanges(
                f"expected changes that can be listed, got more than can be read in {time_s:.1f} s; "
                "change fewer and smaller files"
            )
        return parse_tree(output or b"")

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        with self._busy:
            code, output = self._container.exec_run(["cat", "--", path], demux=True)
        if code:
            raise FileNotFoundError(f"expected a readable file of the sandbox at {path!r}, got: {output[1]!r}")
        return output[0] or b""

    def close(self) -> None:
        """Remove the sandbox's containers and images."""
        self._end()

    def _exec(self, argv: Sequence[str]) -> bytes:
        _, output = self._container.exec_run(list(argv), stderr=False)
        return output or b""


def _remove(container: Any) -> None:
    container.remove(force=True)


def connect(image: str = IMAGE, base_url: str | None = None, **options: Any) -> Any:
    """Connect to an engine that responds and has the image.

    Args:
        image: Name of the image.
        base_url: The engine's socket. None takes it from the environment (DOCKER_HOST).
        options: Options of the client, for example `timeout`.

    Raises:
        SandboxUnavailable: The SDK, the engine or the image is missing. The error text says how to fix it.
    """
    try:
        docker = import_module("docker")
    except ImportError as error:
        raise SandboxUnavailable(
            f"expected the package docker, got none; to fix it: {extra_command('docker')}"
        ) from error
    try:
        client = docker.DockerClient(base_url=base_url, **options) if base_url else docker.from_env(**options)
        client.ping()
        client.images.get(image)
    except docker.errors.ImageNotFound as error:
        client.close()
        raise SandboxUnavailable(
            f"expected the image {image!r} in the engine, got none; docker pull {image}"
        ) from error
    except docker.errors.DockerException as error:
        raise SandboxUnavailable(
            f"expected a Docker-compatible engine, got: {error}; start one, set DOCKER_HOST, or use 'embedded'"
        ) from error
    return client


def open_docker(
    *,
    setup: Setup = (),
    limits: SandboxLimits,
    image: str = IMAGE,
    runtime: str | None = None,
    base_url: str | None = None,
) -> DockerSandbox:
    """Open a sandbox in a container.

    Args:
        setup: Scripts or archive that create the start state.
        limits: Resource limits of commands.
        image: Name of a local image with bash, coreutils and findutils.
        runtime: The engine's runtime, for example `"runsc"`. None means the engine's default.
        base_url: The engine's socket. None takes it from the environment (DOCKER_HOST).

    Raises:
        SandboxUnavailable: The SDK, the engine or the image is missing. The error text says how to fix it.
    """
    client = connect(image, base_url)
    if Path("/proc/self").exists():  # it tells which of the processes of this machine that left containers have ended
        for container in client.containers.list(all=True, filters={"label": LABEL}):
            host, _, pid = container.labels.get(OWNER, "").partition("/")
            if host == socket.gethostname() and pid.isdigit() and not Path(f"/proc/{pid}").exists():
                container.remove(force=True)
    engine = _Engine(client, limits, runtime)
    first = DockerSandbox(engine, FrozenState(0, owner=engine, key=_State(image, {})), is_fork=False)
    if setup:
        unpack(first, setup)
    first._start = first.snapshot()
    return first

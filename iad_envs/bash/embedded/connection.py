"""Channels from this process to the launcher, and to the supervisor and the runners of each sandbox."""

import atexit
import contextlib
import os
import select
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from iad_envs.bash.embedded import cgroups, wire
from iad_envs.bash.sandbox import SandboxEnded, SandboxError, SandboxUnavailable, TooManyChanges

PACKAGE = Path(__file__).resolve().parents[2]
BOOT = """
import sys, types
descriptor, package = int(sys.argv[1]), sys.argv[2]
for name, path in (("iad_envs", package), ("iad_envs.bash", package + "/bash")):
    module = types.ModuleType(name)
    module.__path__ = [path]
    sys.modules[name] = module
from iad_envs.bash.embedded.launcher import main
main(descriptor)
"""
"""Script that starts the launcher without importing this package, which would cost 0.3 s and 40 MB."""


def unavailable(reason: str) -> SandboxUnavailable:
    """Return the error for a failure reported by a child process."""
    advice = {
        "unshare": "this kernel or container forbids user namespaces; allow them (as root: sysctl -w "
        "kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0 "
        "user.max_user_namespaces=9999; in a container: --security-opt seccomp=unconfined; "
        "under chroot they never are)",
        "mount proc": "something is mounted over parts of /proc, as containers do; start this one with "
        "--security-opt systempaths=unconfined",
        "mount overlay": "this kernel can't stack folders in memory for users; Linux 6.6 or newer can",
        "uid_map": "this process may not map user ids; give it CAP_SETUID and CAP_SETGID, "
        "or run it as an ordinary user",
        "user map": "this container has no user but root; start it with more user ids",
        "system call filter": "use a machine of one of these kinds",
    }
    todo = next(
        (text for key, text in advice.items() if key in reason), "run it on a Linux machine with user namespaces"
    )
    return SandboxUnavailable(
        f"expected to isolate commands with Linux namespaces, but got: {reason}. To fix it: {todo}; "
        "or use Docker: --env-arg backend=docker, in Python open_sandbox('docker')"
    )


class Channel:
    """Sends requests and receives answers over a socket, one at a time.

    Args:
        stream: The socket.
    """

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._process = os.getpid()

    def ask(
        self,
        header: dict[str, Any],
        body: bytes = b"",
        *,
        send: Sequence[socket.socket] = (),
        timeout_s: float | None = None,
    ) -> wire.Message:
        """Send a request and wait for the answer.

        Args:
            header: JSON data of the request.
            body: Raw bytes of the request.
            send: Sockets to pass to the receiver.
            timeout_s: Seconds after which the other side counts as dead.

        Raises:
            SandboxEnded: The other side has ended, or is too slow.
            SandboxError: It answers with an error.
            TooManyChanges: The other side could not list the changes within the limits.
        """
        if os.getpid() != self._process:
            raise SandboxError("expected the process that opened the sandbox, got one forked from it; open one here")
        with self._lock:
            try:
                self._stream.settimeout(timeout_s)
                descriptors = tuple(each.fileno() for each in send)
                wire.send(self._stream, wire.Message(header, body, descriptors))
                answer = wire.receive(self._stream)
            except BaseException as error:  # after an interrupt, a late answer would be taken for the next one
                self._stream.close()
                if not isinstance(error, OSError):
                    raise
                raise SandboxEnded(f"expected an answer of the sandbox, got {error}; open another one") from error
        if answer is None:
            self._stream.close()
            raise SandboxEnded("expected an answer of the sandbox, but it has ended; open another one")
        if "too_much" in answer.header:
            raise TooManyChanges(
                f"expected changes that can be listed, got {answer.header['too_much']}; change fewer and smaller files"
            )
        if "error" in answer.header:
            raise SandboxError(f"the sandbox could not do that: {answer.header['error']}")
        return answer

    @property
    def usable(self) -> bool:
        """Whether this process opened the channel, and neither side has closed it."""
        if os.getpid() != self._process or self._stream.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(self._stream, 0)  # a hang-up is told without being asked for
        return not poll.poll(0)

    def first_message(self) -> dict[str, Any]:
        """Receive the first message, which the other side sends without a request."""
        message = wire.receive(self._stream)
        return message.header if message else {"error": "the supervisor has ended"}

    def close(self) -> None:
        """Close the socket. The other side then ends."""
        self._stream.close()


class LauncherClient(Channel):
    """The launcher process and the channel to it.

    Args:
        masked: Host paths that must read as empty in a sandbox.
        command: Command that starts a Python interpreter, for example as another user.

    Raises:
        SandboxUnavailable: This machine does not allow such sandboxes.
    """

    def __init__(self, masked: Sequence[str], command: Sequence[str]) -> None:
        mine, theirs = socket.socketpair()
        with theirs:
            passed_on = {name: os.environ[name] for name in cgroups.SCOPE_VARIABLES if name in os.environ}
            argv = [*command, "-I", "-S", "-X", "utf8", "-c", BOOT, str(theirs.fileno()), str(PACKAGE)]
            self._child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()], start_new_session=True,
                env={"PATH": os.environ.get("PATH", os.defpath), **passed_on},
            )  # fmt: skip
        super().__init__(mine)
        try:
            answer = self.ask({"do": "prepare", "masked": list(masked)})
        except SandboxError as error:
            mine.close()
            _, trace = self._child.communicate()
            reason = trace.decode(errors="replace").strip().splitlines()[-1:] or [str(error)]
            raise unavailable(reason[0]) from error
        self.n_ids: int = answer.header["ids"]
        self.templates: dict[str, list[str]] = {}
        self.templates_lock = threading.Lock()
        self.template_numbers = count(1)

    @property
    def usable(self) -> bool:
        """Whether this process opened the channel, neither side has closed it, and the launcher is alive."""
        return super().usable and self._child.poll() is None

    def close(self) -> None:
        """End the launcher, and every sandbox with it."""
        super().close()
        if os.getpid() == self._process:
            self._child.wait()
            if self._child.stderr:
                self._child.stderr.close()


class Released:
    """Unused states and roots, collected by finalizers in any thread and sent with the next request."""

    def __init__(self) -> None:
        self.states: deque[int] = deque()
        self.roots: deque[int] = deque()

    def take(self) -> dict[str, list[int]]:
        """Remove and return the collected numbers."""
        # Finalizers may add numbers meanwhile.
        states = [self.states.popleft() for _ in range(len(self.states))]
        return {"drop_states": states, "drop_roots": [self.roots.popleft() for _ in range(len(self.roots))]}


_launchers: dict[tuple[int, tuple[str, ...], tuple[str, ...]], LauncherClient] = {}
_lock = threading.Lock()


def launcher(masked: tuple[str, ...], command: tuple[str, ...] = ()) -> LauncherClient:
    """Return this process's launcher for these paths. It is started on first use."""
    key = (os.getpid(), masked, command or (sys.executable,))
    with _lock:
        if key in _launchers and not _launchers[key].usable:  # it was killed, for example for memory
            _launchers.pop(key).close()
        if key not in _launchers:
            scope = cgroups.scope(os.environ)
            if scope:  # with control groups, where systemd offers them; without them the reason, if any, is told
                with contextlib.suppress(SandboxUnavailable):
                    _launchers[key] = LauncherClient(masked, (*scope, *key[2]))
                    return _launchers[key]
            _launchers[key] = LauncherClient(masked, key[2])
        return _launchers[key]


@atexit.register
def _end_launchers() -> None:
    for (process, _, _), each in _launchers.items():
        if process == os.getpid():
            each.close()


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held the lock when this process was forked


if hasattr(os, "register_at_fork"):  # where a process can be forked
    os.register_at_fork(after_in_child=_renew_lock)

"""The start state of tasks: its sandbox, and the operations that the environment needs."""

import shlex
import time
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple
from weakref import WeakSet

from iad_envs.bash.intercode_compat import CLEANING, MALFORMED, TIMED_OUT, GitIndex, MalformedCommand, arrives_as
from iad_envs.bash.sandbox import Change, CommandResult, FrozenState, Sandbox, SandboxEnded, SandboxError


class Ran(NamedTuple):
    """The outcome of a command.

    Attributes:
        result: The sandbox's result. None if the command could not be started.
        line: The command line as received by the shell.
        files: The frozen state after the command.
        changes: Changes from the state before the command.
        since_start: Changes from the start state.
        ended: Number of background jobs that were killed to freeze the state.
        complaint: The reason why the command can't be run or was undone, else empty.
    """

    result: CommandResult | None
    line: str
    files: FrozenState
    changes: tuple[Change, ...]
    since_start: tuple[Change, ...]
    ended: int
    complaint: str = ""


class StartState:
    """The start state of all tasks with the same file system.

    Args:
        sandbox: A sandbox in its start state. It is closed when its last user leaves.
        published: Whether to behave like the original's containers: quoting as there, and without the files that its
            first reset deletes.
        time_s: Time limit of a command in seconds.
    """

    def __init__(self, sandbox: Sandbox, *, published: bool, time_s: float = 10.0) -> None:
        self.sandbox = sandbox
        self._time_s = time_s
        self._published = published
        self.token = sandbox.start
        self._users: WeakSet[object] = WeakSet()
        if published:
            with sandbox.fork(sandbox.start) as fork:
                done = fork.run(CLEANING)
                if done.exit_code or done.timed_out:
                    raise SandboxError(f"expected a start state that can be cleaned, got: {done.output!s:.300}")
                self.token = fork.snapshot()

    @cached_property
    def index(self) -> GitIndex:
        """The git index of the start state."""
        with self.sandbox.fork(self.token) as fork:
            return GitIndex.of(fork.tree("/"))

    def run(self, before: Ran | None, command: str, *, cwd: str = "/", oldpwd: str = "", is_whole: bool = False) -> Ran:
        """Run a command in a fork of a previous command's state (None: the start state), and freeze the result.

        With `is_whole` it has all room that one command may have, however much others have taken.
        """
        files = self.token if before is None else before.files
        try:
            arguments = arrives_as(command) if self._published else ("bash", "-c", command.strip())
        except MalformedCommand as error:
            return self.refused(before, str(error))
        # An argument list reports no final folder, so a plain `bash -c` command is run as a text.
        line = arguments[2] if len(arguments) == 3 else arguments
        # A command and its list of changes have the time limit together, and some grace. The list has at least 0.1 s.
        deadline = time.monotonic() + self._time_s + 0.8

        def left_s() -> float:
            return max(deadline - time.monotonic(), 0.1)

        with self.sandbox.fork(files, is_whole=is_whole) as fork:
            result = fork.run(line, cwd=cwd, oldpwd=oldpwd, timeout_s=self._time_s)
            try:
                after = fork.snapshot()
                changes = fork.diff(files, timeout_s=left_s())
                since_start = changes if files is self.token else fork.diff(self.token, timeout_s=left_s())
            except SandboxEnded:
                raise
            except SandboxError as error:
                return self.refused(before, f"{error}; the command was undone")
        received = line if isinstance(line, str) else shlex.join(line)
        return Ran(result, received, after, changes, since_start, after.ended)

    def refused(self, before: Ran | None, complaint: str) -> Ran:
        """Return the outcome of a command that can't be run or was undone: the previous state with a complaint."""
        files, since_start = (self.token, ()) if before is None else (before.files, before.since_start)
        return Ran(None, "", files, (), since_start, 0, complaint)

    def checksum(self, files: FrozenState, path: str) -> str:
        """Return the output of `md5sum` for a path, run at `/`."""
        with self.sandbox.fork(files) as fork:
            return fork.run(["md5sum", path]).output

    def missing(self, names: Iterable[str]) -> frozenset[str]:
        """Return those commands that the sandbox does not have."""
        names = sorted(names)
        with self.sandbox.fork(self.token) as fork:
            script = 'for name; do command -v -- "$name" >/dev/null || echo "$name"; done'
            return frozenset(fork.run(["bash", "-c", script, "bash", *names]).output.split())

    def join(self, user: object) -> None:
        """Take note of an environment that uses the sandbox. One that is garbage-collected has left."""
        self._users.add(user)

    def leave(self, user: object) -> None:
        """Close the sandbox and delete all its states, unless others use it."""
        self._users.discard(user)
        if not self._users:
            self.sandbox.close()


def answer_of(ran: Ran) -> str:
    """Return the output of a command as the original's client returns it."""
    if ran.result is None:
        return MALFORMED
    if ran.result.timed_out:
        return TIMED_OUT
    return ran.result.output


def is_text(ran: Ran) -> bool:
    """Whether a command ran to its end and printed UTF-8. Otherwise the original fails."""
    result = ran.result
    return result is not None and not result.timed_out and "\ufffd" not in result.output

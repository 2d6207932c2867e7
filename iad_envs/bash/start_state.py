"""A start state: the sandbox that holds it, and what the environment asks of it."""

import shlex
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from iad_envs.bash.intercode_compat import CLEANING, MALFORMED, TIMED_OUT, GitIndex, MalformedCommand, arrives_as
from iad_envs.bash.sandbox import Change, CommandResult, FrozenState, Sandbox, SandboxError

REPLACED = "\ufffd"
"""What bytes that are not UTF-8 are decoded as."""


class Ran(NamedTuple):
    """What came of a command.

    Attributes:
        result: As the sandbox gives it; None where the command could not even be started.
        line: The command line as it arrived in the shell.
        files: The state after it, frozen.
        changes: To the state before it.
        since_start: What differs from the start state after it.
        ended: Background jobs that were ended to freeze the state.
        complaint: Why the command can't be run; empty otherwise.
    """

    result: CommandResult | None
    line: str
    files: FrozenState
    changes: tuple[Change, ...]
    since_start: tuple[Change, ...]
    ended: int
    complaint: str = ""


class StartState:
    """Where the tasks of one file system begin.

    Args:
        sandbox: In its start state; closed with this.
        published: Commands arrive as in the original's containers, and what its first reset destroys is gone.
    """

    def __init__(self, sandbox: Sandbox, *, published: bool) -> None:
        self.sandbox = sandbox
        self._published = published
        self.token = sandbox.start
        if published:
            with sandbox.fork(sandbox.start) as fork:
                done = fork.run(CLEANING)
                if done.exit_code or done.timed_out:
                    raise SandboxError(f"expected a start state that can be cleaned, got: {done.output!s:.300}")
                self.token = fork.snapshot()

    @cached_property
    def index(self) -> GitIndex:
        """What git would track of it."""
        with self.sandbox.fork(self.token) as fork:
            return GitIndex.of(fork.tree("/"))

    def run(self, before: Ran | None, command: str, *, cwd: str = "/", oldpwd: str = "") -> Ran:
        """Run a command in a fork of the state after another (None: of the start), freeze that, and drop the fork."""
        files = self.token if before is None else before.files
        try:
            arguments = arrives_as(command) if self._published else ("bash", "-c", command.strip())
        except MalformedCommand as error:
            return self.refused(before, str(error))
        # A list is not asked for its last folder, so only what a shell would split off is passed as one.
        line = arguments[2] if len(arguments) == 3 else arguments
        with self.sandbox.fork(files) as fork:
            result = fork.run(line, cwd=cwd, oldpwd=oldpwd)
            after = fork.snapshot()
            changes = fork.diff(files)
            since_start = changes if files is self.token else fork.diff(self.token)
        said = line if isinstance(line, str) else shlex.join(line)
        return Ran(result, said, after, changes, since_start, after.ended)

    def refused(self, before: Ran | None, complaint: str) -> Ran:
        """Return what comes of a command that can't be run after another: nothing."""
        files, since_start = (self.token, ()) if before is None else (before.files, before.since_start)
        return Ran(None, "", files, (), since_start, 0, complaint)

    def checksum(self, files: FrozenState, path: str) -> str:
        """Return what `md5sum` prints for a path, seen from `/`."""
        with self.sandbox.fork(files) as fork:
            return fork.run(["md5sum", path]).output

    def missing(self, names: Iterable[str]) -> frozenset[str]:
        """Return which of these commands it does not have."""
        names = sorted(names)
        with self.sandbox.fork(self.token) as fork:
            asked = 'for name; do command -v -- "$name" >/dev/null || echo "$name"; done'
            return frozenset(fork.run(["bash", "-c", asked, "bash", *names]).output.split())

    def close(self) -> None:
        """Drop the sandbox with every state."""
        self.sandbox.close()


def answer_of(ran: Ran) -> str:
    """Return the output of a command as the original's client would have it."""
    if ran.result is None:
        return MALFORMED
    if ran.result.timed_out:
        return TIMED_OUT
    return ran.result.output


def is_text(ran: Ran) -> bool:
    """Say whether a command ran to its end and printed UTF-8; the original fails otherwise."""
    result = ran.result
    return result is not None and not result.timed_out and REPLACED not in result.output

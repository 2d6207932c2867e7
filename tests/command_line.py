"""Runs `iad`: in the test's process, as a new one takes seconds to start, or in one to be killed, or on a full disk."""

import json
import select
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from iad_policy.cli import app


def iad(*arguments: object, stdin: str | None = None, env: dict[str, str] | None = None) -> Any:
    """Return what a command printed and its exit status. Warnings are printed, as in a process of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        return CliRunner().invoke(app, [str(one) for one in arguments], input=stdin, env=env)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), -1))
from iad_policy.cli import app
app()
"""


def limited(n_bytes: int, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run the command in a process whose files can't grow beyond a size."""
    command = [sys.executable, "-B", "-c", LIMITED, str(n_bytes), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


FORKING = """
import json, os, resource, sys
from iad_policy.cli import app
from iad_policy.models.litellm import _litellm
_litellm()
for line in sys.stdin:
    arguments, environment, output, n_bytes = json.loads(line)
    process = os.fork()
    if not process:
        os.environ.update(environment)
        os.dup2(os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 1)
        os.dup2(1, 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, -1))
        app(arguments)
    print(process, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class Forks:
    """Starts commands as processes of their own, one after another, from one that has imported litellm."""

    def __init__(self, parent: "subprocess.Popen[bytes]") -> None:
        self._parent = parent

    def start(
        self, arguments: tuple[object, ...], environment: Mapping[str, str], output: Path, n_bytes: int = -1
    ) -> int:
        """Return the process's id. What it says goes to a file; its files can't grow beyond a size."""
        assert self._parent.stdin is not None
        asked = [[*map(str, arguments)], environment, str(output), n_bytes]
        self._parent.stdin.write(f"{json.dumps(asked)}\n".encode())
        return self._said()

    def has_ended(self) -> bool:
        return bool(select.select([self._parent.stdout], [], [], 0)[0])

    def status(self) -> int:
        """Wait for the process's end, and return its exit status."""
        return self._said()

    def _said(self) -> int:
        assert self._parent.stdout is not None
        return int(self._parent.stdout.readline())


@contextmanager
def forking() -> Iterator[Forks]:
    """Start the process that the others are forked from."""
    command = [sys.executable, "-c", FORKING]
    with subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        try:
            yield Forks(parent)
        finally:
            parent.kill()

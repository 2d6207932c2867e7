"""Runs `iad`: in the test's process, as a new one takes seconds to start, or in one on a full disk."""

import subprocess
import sys
import warnings
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

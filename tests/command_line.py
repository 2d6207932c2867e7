"""Runs `iad` in the test's process, as a new one takes seconds to start."""

import warnings
from typing import Any

from typer.testing import CliRunner

from iad_policy.cli import app


def iad(*arguments: object, stdin: str | None = None, env: dict[str, str] | None = None) -> Any:
    """Return what a command printed and its exit status. Warnings are printed, as in a process of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        return CliRunner().invoke(app, [str(one) for one in arguments], input=stdin, env=env)

"""Types of outcomes: success, the end of the episode, and each class of failure."""

from collections.abc import Mapping
from typing import Any

from iad_policy.types import AWAITING

SUCCESS, END, INVALID = "success", "end", "invalid"


def type_of(info: Mapping[str, Any], done: bool) -> str:
    """Return an outcome's type by its public info: `success`, `end`, `invalid`, or the name of a failure class.

    That name is the code of the first finding with severity `error`, or `timed out`, or `exit` with a shell's code.
    """
    if info.get("invalid_action"):
        return INVALID
    facts: Mapping[str, Any] = info.get("facts") or {}
    for finding in facts.get("findings", ()):
        if finding["severity"] == "error":
            return str(finding["code"])
    if facts.get("timed_out"):
        return "timed out"
    if facts.get("exit_code"):
        return f"exit {facts['exit_code']}"
    return END if done and info.get("stop_reason") != AWAITING else SUCCESS


def is_failure(kind: str) -> bool:
    """Return whether a type is a failure."""
    return kind not in (SUCCESS, END)

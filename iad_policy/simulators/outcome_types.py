"""What kind of outcome an action had: success is one type, the episode's end another, each class of failure its own."""

from collections.abc import Mapping
from typing import Any

SUCCESS, END, INVALID = "success", "end", "invalid"


def type_of(info: Mapping[str, Any], done: bool) -> str:
    """Return an outcome's type by its public info: `success`, `end`, `invalid`, or a failure's own name.

    A failure's name is the code of the first finding that is an error, `timed out`, or `exit` with a shell's code.
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
    return END if done else SUCCESS


def is_failure(kind: str) -> bool:
    """Say whether a type is one of failure."""
    return kind not in (SUCCESS, END)

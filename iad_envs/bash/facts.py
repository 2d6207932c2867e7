"""Builds the observation after a command, and its facts without gold."""

import stat
from collections.abc import Mapping
from typing import Any

from iad_envs.bash.sandbox import CommandResult
from iad_envs.bash.start_state import Ran

SUBMIT = "submit"
"""The action that ends an episode. All others are commands."""

NOTHING: Mapping[str, Any] = {
    "exit_code": 0,
    "timed_out": False,
    "truncated": False,
    "killed_by": "",
    "created": (),
    "changed": (),
    "deleted": (),
    "n_created": 0,
    "n_changed": 0,
    "n_deleted": 0,
    "destructive": (),
    "background_ended": 0,
    "arrived_as": "",
    "complaint": "",
    "missing_tools": (),
}
"""Facts before the first command."""


def facts_of(ran: Ran, command: str) -> dict[str, Any]:
    """Return the facts of a command.

    `created`, `changed` and `deleted` list at most 100 paths each, and their counts include all. `destructive` lists
    how the command destroyed earlier content: `deletes`, `empties` or `overwrites` files, or `restricts` permissions.
    `arrived_as` is the command as received, if quoting changed it.
    """
    if ran.result is None:
        return {"exit_code": 2}  # that of a syntax error
    paths: dict[str, list[str]] = {"created": [], "changed": [], "deleted": []}
    destructive = set()
    for change in ran.changes:
        kind = {"added": "created", "deleted": "deleted"}.get(change.kind, "changed")
        # File names need not be valid UTF-8, and the facts have to be text that can be encoded.
        paths[kind].append(change.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
        if change.kind == "deleted":
            destructive.add("deletes")
        elif change.kind == "modified":
            destructive.add("empties" if change.size == 0 and stat.S_ISREG(change.mode) else "overwrites")
        elif change.kind == "mode" and stat.S_IMODE(change.was_mode) & ~stat.S_IMODE(change.mode):
            destructive.add("restricts")
    return {
        "exit_code": ran.result.exit_code,
        "timed_out": ran.result.timed_out,
        "truncated": ran.result.truncated,
        "killed_by": ran.result.killed_by,
        **{kind: tuple(found[:100]) for kind, found in paths.items()},
        **{f"n_{kind}": len(found) for kind, found in paths.items()},
        "destructive": tuple(sorted(destructive)),
        "background_ended": ran.ended,
        "arrived_as": "" if ran.line == command.strip() else ran.line,
    }


def complaint_about(result: CommandResult) -> str:
    """Return why an executed command is an invalid action (missing program or shell syntax error), or ""."""
    if result.exit_code == 127:
        return "expected commands that exist here, got one that was not found; see its message"
    if result.exit_code == 2 and "syntax error" in result.output:
        return "expected a command line that bash can read, got a syntax error; see its message"
    return ""


def observation_of(result: CommandResult, facts: Mapping[str, Any]) -> str:
    """Return the observation after a command: its output, and a last line that says how it ended."""
    notes = [f"exit code {result.exit_code}"]
    if result.timed_out:
        notes.append(f"timed out: ended after {result.wall_s:.0f} s")
    elif result.killed_by:
        notes.append(f"killed: {result.killed_by}")
    if result.truncated:
        notes.append("output truncated in the middle")
    if facts["background_ended"]:
        notes.append(f"{facts['background_ended']} background jobs ended")
    if facts["arrived_as"]:
        notes.append(f"ran as: {facts['arrived_as']}")
    output = result.output if not result.output or result.output.endswith("\n") else f"{result.output}\n"
    return f"{output}[{'; '.join(notes)}]"

"""Hand-made states of the shell: an instruction, and what each command printed and changed."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from iad_envs.bash.facts import NOTHING
from iad_envs.core import IADEnv
from iad_policy.types import Candidate, PublicInfo, State, Turn


class Ran(NamedTuple):
    """A command, what it printed, and its other facts."""

    command: str
    output: str = ""
    facts: Mapping[str, Any] = MappingProxyType({})
    cwd: str = "/"


def ran(command: str, output: str = "", *, cwd: str = "/", **facts: Any) -> Ran:
    """Return a command with its outcome. Paths in `created`, `changed` and `deleted` are counted."""
    counts = {f"n_{kind}": len(facts.get(kind, ())) for kind in ("created", "changed", "deleted")}
    return Ran(command, output, {**counts, **facts}, cwd)


def state(instruction: str, *, output: str = "", submitted: bool = False, cwd: str = "/", **facts: Any) -> State:
    """Return a state without history."""
    info = {
        "instruction": instruction,
        "invalid_action": bool(facts.get("complaint")),
        "page": {"output": output, "cwd": cwd, "submitted": submitted},
        "facts": {**NOTHING, **facts},
    }
    return State("", PublicInfo(info, IADEnv.GOLD_INFO))


def episode(instruction: str, *commands: Ran, steps_left: float = math.inf) -> State:
    """Return the state after some commands."""
    now = State("", state(instruction).info, steps_left=steps_left + len(commands))
    for one in commands:
        then = state(instruction, output=one.output, cwd=one.cwd, **one.facts)
        history = (*now.history, Turn("", one.command, now.info))
        now = State("", then.info, history=history, steps_left=now.steps_left - 1)
    return now


def candidate(instruction: str, *commands: Ran, steps_left: float = math.inf) -> Candidate:
    """Return the last command as a candidate, after the others."""
    preview = episode(instruction, *commands, steps_left=steps_left)
    return Candidate(commands[-1].command, preview=preview)


def submission(instruction: str) -> Candidate:
    """Return the candidate that submits."""
    return Candidate("submit", preview=state(instruction, submitted=True), is_terminal=True)

"""Commands in numbers, for models that read no text: what the agent proposes, and how it fits the instruction."""

import re
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from iad_envs.bash.facts import SUBMIT
from iad_envs.bash.policy import command_findings
from iad_envs.bash.policy.agent import BashAgent, plans_for
from iad_envs.bash.policy.effects import Done
from iad_envs.bash.policy.finding import Checks
from iad_envs.bash.policy.findings import CHECKS
from iad_envs.bash.policy.reading import read_instruction
from iad_policy.trained.proposed import ProposedActions
from iad_policy.types import State

N_SKILLS = 48
"""Pairs of what is asked for and a program share so many places."""
_PROGRAM = re.compile(r"(?:^|[|;&(]|-exec\s|xargs\s(?:-\S+\s)*)\s*([a-z][\w-]*)")
_FLAG = re.compile(r"(?<=\s)-{1,2}[A-Za-z][\w-]*")
"""Programs and options of a command."""
COMMAND = ("fit", "wrong parts", "pipes", "length")
SUBMITTING = ("submit", "submit:empty", "submit:first", "submit:late")
LAST_STEP = 10
UNSEEN: Mapping[str, Any] = {
    "exit_code": 0,
    **{f"n_{kind}": 0 for kind in ("created", "changed", "deleted")},
    **dict.fromkeys(("created", "changed", "deleted"), ()),
}
"""Facts of a command that was not run."""


class ShellFeatures(ProposedActions):
    """Features of shell commands.

    - `fit`, `wrong parts`: how well the agent's pattern fits the instruction's words, and in how many parts it differs
      from the pattern's usual form. `pipes`, `length`: of the command.
    - a feature for each check of the proxy verifier that needs no output, such as a path of the instruction that the
      command leaves out.
    - `submit`: with what the last command gave: whether that is nothing, or there was none; with the checks of
      its command and its output.
    - `skill n`: the kind of answer that is asked for together with a program or an option of the command.
    """

    def __init__(self) -> None:
        checks = [f"command:{name}" for name in command_findings.CHECKS]
        submits = [f"submit:{name}" for name in CHECKS]
        skills = [f"skill {place}" for place in range(N_SKILLS)]
        super().__init__(BashAgent(), [*COMMAND, *SUBMITTING, *checks, *submits, *skills], "shell")

    def described(self, state: State, action: str) -> Mapping[str, float]:
        """Return the features of a command, or of submitting."""
        return self._submitting(state) if action.strip() == SUBMIT else self._command(state, action)

    def _command(self, state: State, command: str) -> dict[str, float]:
        instruction = read_instruction(state.info["instruction"])
        plan = next((one for one in plans_for(instruction) if one.command == command), None)
        found = {
            "fit": (plan.fit if plan else 0.0) / 4,
            "wrong parts": float(len(plan.wrong_parts)) / 2 if plan else 0.0,
            "pipes": command.count("|") / 2,
            "length": len(command) / 100,
        }
        before = Done.until(state)
        unseen = {"facts": UNSEEN, "page": {**state.info["page"], "output": ""}}
        done = Done(instruction, (*before.commands, command), (*before.infos, unseen))
        found |= _degrees("command", command_findings.CHECKS, done)
        for word in {*_PROGRAM.findall(command), *_FLAG.findall(command)}:
            asked = f"{instruction.asked.answer} {instruction.asked.verb} {word}"
            found[f"skill {crc32(asked.encode(errors='surrogatepass')) % N_SKILLS}"] = 1.0
        return found

    def _submitting(self, state: State) -> dict[str, float]:
        done = Done.until(state)
        if not done.commands:
            return {"submit": 1.0, "submit:first": 1.0}
        return {
            "submit": 1.0,
            "submit:empty": float(not done.output.strip() and not done.touched),
            "submit:late": len(done.commands) / LAST_STEP,
            **_degrees("submit", CHECKS, done),
        }


def _degrees(kind: str, checks: Checks, done: Done) -> dict[str, float]:
    findings = ((name, check(done)) for name, check in checks.items())
    return {f"{kind}:{name}": finding.degree for name, finding in findings if finding is not None}

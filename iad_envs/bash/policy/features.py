"""Commands in numbers, for models that read no text: what the agent proposes, and how it fits the instruction."""

import re
from collections.abc import Mapping
from zlib import crc32

from iad_envs.bash.facts import NOTHING, SUBMIT
from iad_envs.bash.policy.agent import BashAgent, plans_for
from iad_envs.bash.policy.effects import MAX_READ, Done
from iad_envs.bash.policy.findings import COMMAND_FINDINGS, FINDINGS, about_commands, findings_of
from iad_envs.bash.policy.instruction import read_instruction
from iad_policy.trained.proposed import ProposedActions
from iad_policy.types import State

N_SKILLS = 48
"""Pairs of what is asked for and a program share so many places."""


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
        commands = ["fit", "wrong parts", "pipes", "length"]
        submitting = ["submit", "submit:empty", "submit:first", "submit:late"]
        checks = [f"command:{name}" for name in COMMAND_FINDINGS]
        submits = [f"submit:{name}" for name in FINDINGS]
        skills = [f"skill {place}" for place in range(N_SKILLS)]
        super().__init__(BashAgent(), [*commands, *submitting, *checks, *submits, *skills], "shell")

    def described(self, state: State, action: str) -> Mapping[str, float]:
        """Return the features of a command, or of submitting."""
        before = Done.until(state)
        if action.strip() == SUBMIT:
            if not before.commands:
                return {"submit": 1.0, "submit:first": 1.0}
            return {
                "submit": 1.0,
                "submit:empty": float(not before.output.strip() and not before.touched),
                "submit:late": len(before.commands) / 10,
                **{f"submit:{name}": finding.degree for name, finding in findings_of(before).items()},
            }
        instruction = read_instruction(state.info["instruction"])
        plan = next((one for one in plans_for(instruction) if one.command == action), None)
        unseen = {"facts": NOTHING, "page": {**state.info["page"], "output": ""}}
        done = Done(instruction, (*before.commands, action), (*before.infos, unseen))
        found = {
            "fit": (plan.fit if plan else 0.0) / 4,
            "wrong parts": float(len(plan.wrong_parts)) / 2 if plan else 0.0,
            "pipes": action.count("|") / 2,
            "length": len(action) / 100,
            **{f"command:{name}": finding.degree for name, finding in about_commands(done)},
        }
        programs = re.findall(r"(?:^|[|;&(]|-exec\s|xargs\s(?:-\S+\s)*)\s*([a-z][\w-]*)", action[:MAX_READ])
        options = re.findall(r"(?<=\s)-{1,2}[A-Za-z][\w-]*", action)
        for word in {*programs, *options}:
            asked = f"{instruction.asked.answer} {instruction.asked.verb} {word}"
            found[f"skill {crc32(asked.encode(errors='surrogatepass')) % N_SKILLS}"] = 1.0
        return found

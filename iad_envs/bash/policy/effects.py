"""What an episode in the shell has done so far: its commands, the last output, and all changes of files together."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from iad_envs.bash.facts import SUBMIT
from iad_envs.bash.policy.instruction import ShellInstruction, read_instruction
from iad_policy.types import State

MAX_READ = 4000
"""Characters of commands that are read for findings, as some patterns take quadratic time."""


@dataclass(frozen=True)
class Done:
    """What was done so far, and what was asked for.

    Attributes:
        instruction: The instruction.
        commands: Commands in order.
        infos: The environment's info after each command.
    """

    instruction: ShellInstruction
    commands: tuple[str, ...]
    infos: tuple[Mapping[str, Any], ...]

    @classmethod
    def until(cls, state: State) -> "Done":
        """Return what was done until a state."""
        commands = [str(turn.action) for turn in state.history if str(turn.action).strip() != SUBMIT]
        infos = [*(turn.info for turn in state.history[1:]), state.info]
        return cls(read_instruction(state.info["instruction"]), tuple(commands), tuple(infos[: len(commands)]))

    @property
    def command(self) -> str:
        """The last command."""
        return self.commands[-1]

    @property
    def facts(self) -> Mapping[str, Any]:
        """Facts of the last command."""
        facts: Mapping[str, Any] = self.infos[-1]["facts"]
        return facts

    @property
    def output(self) -> str:
        """Output of the last command."""
        return self.outputs[-1]

    @cached_property
    def outputs(self) -> Sequence[str]:
        """Outputs of the commands in order."""
        return [str(info["page"]["output"]) for info in self.infos]

    @cached_property
    def lines(self) -> Sequence[str]:
        """Lines of the last output that are not blank, without programs' error messages."""
        lines = (line.strip() for line in self.output.splitlines())
        message = r"(?i)[a-z]\w*: .*(?:no such file|cannot|denied|is a directory|unexpected end|not permitted)"
        return [line for line in lines if line and not re.match(message, line)]

    @cached_property
    def created(self) -> frozenset[str]:
        """Files and folders that were not there at the start."""
        return self._remaining("created", undone_by="deleted")

    @cached_property
    def deleted(self) -> frozenset[str]:
        """Files and folders that were there at the start and are gone."""
        return self._remaining("deleted", undone_by="created")

    @cached_property
    def changed(self) -> frozenset[str]:
        """Files and folders that were changed and are still there."""
        changed = frozenset[str]().union(*(info["facts"]["changed"] for info in self.infos))
        return changed - self.deleted - self.created

    @property
    def touched(self) -> frozenset[str]:
        """Everything that is not as it was at the start."""
        return self.created | self.deleted | self.changed

    @property
    def has_moved(self) -> bool:
        """Whether the working directory is another than at the start."""
        return bool(self.infos[-1]["page"]["cwd"] != "/")

    @property
    def is_repetition(self) -> bool:
        """Whether the last command is an earlier one with the same output and no effect."""
        earlier = zip(self.commands[:-1], self.outputs[:-1], strict=True)
        seen = any(command.strip() == self.command.strip() and output == self.output for command, output in earlier)
        return seen and not has_effect(self.facts)

    @cached_property
    def working(self) -> str:
        """The commands that led to the result, all that changed something and the last: the end that is read."""
        pairs = zip(self.commands, self.infos, strict=True)
        effective = [command for command, info in pairs if has_effect(info["facts"])]
        return "\n".join(dict.fromkeys([*effective, self.command]))[-MAX_READ:]

    def _remaining(self, kind: str, *, undone_by: str) -> frozenset[str]:
        """Return the paths of one kind of change that no later change undid."""
        remaining: set[str] = set()
        ahead: set[str] = set()  # undone before it was done: deleted and created again, or the reverse
        for info in self.infos:
            for path in info["facts"][undone_by]:
                (remaining.discard if path in remaining else ahead.add)(path)
            for path in info["facts"][kind]:
                (ahead.discard if path in ahead else remaining.add)(path)
        return frozenset(remaining)


def has_effect(facts: Mapping[str, Any]) -> bool:
    """Whether a command created, changed or deleted files."""
    return bool(facts["n_created"] or facts["n_changed"] or facts["n_deleted"])


def error_line(output: str) -> str:
    """Return the first line that has the words of an error, or "".

    Folders that may not be read are no error: a search of a whole file system meets some.
    """
    error = (
        r"(?i)no such file|cannot |not found|invalid|usage:|try '|is a directory|not a directory"
        r"|missing (?:argument|operand)|unknown (?:predicate|option)|unrecognized|illegal|unexpected|syntax error"
        r"|paths must precede|omitting directory|are the same file|^bash: line \d+: "
    )
    return next((line for line in output.splitlines() if re.search(error, line)), "")

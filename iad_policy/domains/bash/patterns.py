"""The command patterns of the rule-based agent, and the commands that they give for an instruction.

The blanks of a pattern are filled from the instruction. A pattern whose blanks can't be filled is left out.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, product
from pathlib import Path
from string import Formatter
from typing import NamedTuple

from iad_policy.domains.bash.reading import ShellInstruction

MAX_PLANS_PER_PATTERN = 64


class Pattern(NamedTuple):
    """A kind of command.

    Attributes:
        name: Name of the pattern, for thoughts.
        calls: Words of an instruction that call for it.
        clashes: Words of an instruction that speak against it.
        parts: Alternatives for each part of the command. Parts are joined without blanks.
    """

    name: str
    calls: frozenset[str]
    clashes: frozenset[str]
    parts: Sequence[Sequence[str]]


class Plan(NamedTuple):
    """A command, and how it was built.

    Attributes:
        command: The shell command.
        pattern: Name of its pattern.
        fit: How well the pattern's words fit the instruction. Larger is better.
        choices: Index of the alternative of each part.
        odds: For each part with alternatives, whether a wrong one was chosen, and the number of alternatives.
    """

    command: str
    pattern: str
    fit: float
    choices: tuple[int, ...]
    odds: tuple[tuple[bool, int], ...]

    @property
    def wrong_parts(self) -> Sequence[int]:
        """The parts with a wrong alternative."""
        return [place for place, choice in enumerate(self.choices) if choice]

    def is_near(self, other: "Plan") -> bool:
        """Return whether it has the same pattern with exactly one part changed."""
        if self.pattern != other.pattern or len(self.choices) != len(other.choices):
            return False
        return sum(own != its for own, its in zip(self.choices, other.choices, strict=True)) == 1


@lru_cache(maxsize=1)
def patterns() -> Sequence[Pattern]:
    """Return the patterns in `patterns.toml`."""
    tables = tomllib.loads(Path(__file__).with_name("patterns.toml").read_text(encoding="utf-8"))
    return [
        Pattern(name, frozenset(table["calls"].split()), frozenset(table.get("clashes", "").split()), table["parts"])
        for name, table in tables.items()
    ]


@lru_cache(maxsize=1024)
def plans_for(instruction: ShellInstruction) -> Sequence[Plan]:
    """Return every command that the patterns give for an instruction, each once."""
    blanks = _blanks(instruction)
    plans: dict[str, Plan] = {}
    for pattern in patterns():
        fit = len(instruction.words & pattern.calls) - 2.0 * len(instruction.words & pattern.clashes)
        for plan in islice(_plans_of(pattern, blanks, fit), MAX_PLANS_PER_PATTERN):
            plans.setdefault(plan.command, plan)
    return tuple(plans.values())


def _plans_of(pattern: Pattern, blanks: Mapping[str, str], fit: float) -> Iterator[Plan]:
    for choices in product(*(range(len(part)) for part in pattern.parts)):
        text = "".join(part[choice] for part, choice in zip(pattern.parts, choices, strict=True))
        if {name for _, name, _, _ in Formatter().parse(text) if name} <= blanks.keys():
            pairs = zip(pattern.parts, choices, strict=True)
            odds = tuple((choice > 0, len(part)) for part, choice in pairs if len(part) > 1)
            yield Plan(text.format(**blanks), pattern.name, fit, choices, odds)


def _blanks(instruction: ShellInstruction) -> dict[str, str]:
    """Return the values for blanks in the instruction. They are assigned by the order of the words only."""
    files = [path for path in instruction.paths if "." in path.rpartition("/")[2]]
    folders = [path for path in instruction.paths if path not in files]
    found = {
        "dir": folders[:1],
        "file": files[:1],
        "folder": folders[-1:],
        "new": _new_folder(instruction, folders),
        "olddir": [folder for folder in folders if folder not in _new_folder(instruction, folders)][:1],
        "target": [path for path in files[::-1] if "create" in instruction.words][-1:] or files[1:2],
        "ext": instruction.endings[:1],
        "word": instruction.quoted[:1],
        "other": instruction.quoted[1:2],
        "name": instruction.quoted[:1],
        "n": instruction.numbers[:1],
        "date": [instruction.date] if instruction.date else [],
    }
    return {name: values[0] for name, values in found.items() if values}


def _new_folder(instruction: ShellInstruction, folders: Sequence[str]) -> Sequence[str]:
    """Return the folder to create: the first if the sentence begins with creating it, else the last."""
    return folders[:1] if instruction.words & {"create", "make"} else folders[-1:]

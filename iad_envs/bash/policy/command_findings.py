"""Findings about the commands: what the instruction names or calls for and they lack, and known mistakes."""

import re
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from iad_envs.bash.policy.effects import Done
from iad_envs.bash.policy.finding import N_NAMED, Checks, ShellFinding, share

DEFAULT_LINES = "10"
"""Number of lines that `head` and `tail` print unless told otherwise."""
SHORT_WORD = 3
"""Length up to which a word counts only where it stands alone: a short one is a part of many others."""
ENOUGH = 2
"""Number of missing things from which a command is surely not the right one."""
_PATH = re.compile(r"(?<![\w.*}~-])/(?!\d+\b)[\w.+-]+(?:/[\w.+-]+)*")
_SED_SCRIPT = re.compile(r"'s[/,|#].*?'")
_SYSTEM_PLACES = ("/dev", "/bin", "/usr/bin", "/tmp", "/proc", "/etc")
_ADDS_UP = re.compile(r"\bwc\b(?!.*(?:grep -v|head -n -1|\$2 ?!=|NR ?-|sed '\$d')).*\|\s*awk\b.*\+=")
_SEVERAL_FILES = re.compile(r"\{\}\s*\\?\+|\bxargs\b|\*")
_TOTAL = re.compile(r"^\s*\d+ total$", re.MULTILINE)
_LOOSE_OR = re.compile(
    r"\bfind\b.*-name.*\s-o(?:r)?\s.*\s-(?:exec|execdir|delete|print0|printf|type|size|mtime|newer)\b"
)
_PARENTHESIS = re.compile(r"\\\(|'\('")
_LOOK = re.compile(r"\s*(?:ls|cat|pwd|find|tree)(?:\s+-[la]+)?(?:\s+[\w./~*][\w./~*-]*)*\s*")
_SEQUENCE = re.compile(r"\s*(?:\|\|?|&&|;)\s*")


class CommandRequirement(NamedTuple):
    """Something that words of an instruction ask of a command.

    Attributes:
        says: Finds the words in the instruction.
        has: Finds what fulfils it in the command.
        need: Names it.
    """

    says: re.Pattern[str]
    has: re.Pattern[str]
    need: str


@lru_cache(maxsize=1)
def requirements() -> Sequence[CommandRequirement]:
    """Return the requirements in `requirements.toml`."""
    tables = tomllib.loads(Path(__file__).with_name("requirements.toml").read_text(encoding="utf-8"))
    return [
        CommandRequirement(re.compile(table["says"]), re.compile(table["has"]), table["need"])
        for table in tables.values()
    ]


def _unused(done: Done) -> ShellFinding | None:
    """Find names and numbers of the instruction that no command uses."""
    instruction = done.instruction
    names = [*instruction.paths, *(text for text in instruction.quoted if text not in instruction.paths)]
    uses = [(text, _uses(text, done)) for text in names]
    uses += [(f".{ending}", _has_word(ending, done.working)) for ending in instruction.endings]
    uses += [(number, _has_number(number, done.working)) for number in instruction.numbers if number != "0"]
    missing = [text for text, is_used in uses if not is_used]
    return share(missing, (text for text, _ in uses), "the task names {}, the command does not")


def _unnamed(done: Done) -> ShellFinding | None:
    """Find paths in the last command that neither the instruction nor an earlier output names."""
    instruction = done.instruction
    if not instruction.paths and not any(text.startswith("/") for text in instruction.quoted):
        return None
    known = [instruction.text, *(output.lower() for output in done.outputs[:-1])]
    paths = dict.fromkeys(_PATH.findall(_SED_SCRIPT.sub(" ", done.command)))
    own = [path for path in paths if not path.startswith(_SYSTEM_PLACES)]
    strange = [path for path in own if not any(path.rpartition("/")[2].lower() in text for text in known)]
    return share(strange, own, "the task does not name {}")


def _lacks(done: Done) -> ShellFinding | None:
    """Find things that the instruction's words call for and the commands lack."""
    called_for = [one for one in requirements() if one.says.search(done.instruction.plain)]
    missing = [one.need for one in called_for if not one.has.search(done.working)]
    if not missing:
        return None
    text = f"the task asks for {'; '.join(missing[:N_NAMED])}: the command has none"
    return ShellFinding(min(len(missing) / ENOUGH, 1.0), text)


def _adds_up_totals(done: Done) -> ShellFinding | None:
    if not _ADDS_UP.search(done.command) or not _SEVERAL_FILES.search(done.command):
        return None
    # For a single file wc prints no total.
    has_seen_total = any(map(_TOTAL.search, done.outputs))
    text = "wc prints a total after several files, which this adds up as well"
    return ShellFinding(1.0 if has_seen_total else 0.5, text)


def _loose_or(done: Done) -> ShellFinding | None:
    if not _LOOSE_OR.search(done.working) or _PARENTHESIS.search(done.working):
        return None
    return ShellFinding(1.0, "without parentheses, what follows -o belongs to the last alternative only")


def _only_looks(done: Done) -> ShellFinding | None:
    steps = [step for step in _SEQUENCE.split(done.command) if step.strip() and not step.startswith("cd ")]
    if not steps or not all(map(_LOOK.fullmatch, steps)):
        return None
    return ShellFinding(1.0, "it shows what is there, without a choice or a change")


def _uses(text: str, done: Done) -> bool:
    wanted = text.strip(" /").lower()
    last = wanted.rpartition("/")[2].lstrip("*.")
    if wanted in done.working.lower() and (len(wanted) > SHORT_WORD or _has_word(wanted, done.working)):
        return True
    if text.startswith("/"):  # by a relative path
        return done.has_moved and bool(last) and any(last in command.lower() for command in done.commands)
    return bool(last) and _has_word(last, done.working)  # "*.txt" in other words


def _has_word(word: str, command: str) -> bool:
    return re.search(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])", command, re.IGNORECASE) is not None


def _has_number(number: str, command: str) -> bool:
    if number == DEFAULT_LINES and re.search(r"\b(?:head|tail)\b(?!\s+-)", command):
        return True
    # Counting from 0, "+5" for "from line 5", and 2000 for 2 KB are other ways to say a number.
    forms = [number, str(int(number) - 1), str(int(number) + 1)] if len(number) < SHORT_WORD else [number]
    return any(re.search(rf"(?<!\d){form}(?!\d)|(?<!\d){form}(?=0{{3}})", command) for form in forms)


CHECKS: Checks = {
    "unused": _unused,
    "unnamed": _unnamed,
    "lacks": _lacks,
    "adds_up_totals": _adds_up_totals,
    "loose_or": _loose_or,
    "only_looks": _only_looks,
}
